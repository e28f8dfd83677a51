"""How a stage starts: what goes wrong on purpose is told in one line, without a traceback."""

import sys
from collections.abc import Callable

from barograph.errors import BarographError


def run(main: Callable[[], None]) -> None:
    """Run a stage; exit with 1 and the message where it raises one of our errors."""
    try:
        main()
    except BarographError as error:
        sys.exit(f"{type(error).__name__}: {error}")
