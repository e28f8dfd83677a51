"""How a stage starts: what goes wrong on purpose is told in one line, without a traceback."""

import sys
from collections.abc import Callable

from barograph.errors import BarographError


def run(main: Callable[[], None]) -> None:
    """Run a stage; exit with 1 and the message where it raises one of our errors.

    So do the errors of the system: a full disk or a folder that may not be written to is no
    fault of the code, and its message names the file.
    """
    try:
        main()
    except (BarographError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
