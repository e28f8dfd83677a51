"""Parts of the suite that need something which the environment of `make setup` does not have.

`python -m tests.parts` prints those that will be skipped.
"""

import shutil
from pathlib import Path

from tests.shared import SHARED

# The shell draws no window, and takes half of the time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Return the path of the browser that the tests drive, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def postgres() -> Path | None:
    """Return the folder of initdb and pg_ctl, or None."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    program = shutil.which("pg_ctl") or (places[-1] if places else None)
    return None if program is None else Path(program).parent


def skipped() -> list[str]:
    """Return a line for each part that will be skipped, with what brings it."""
    parts = (
        (postgres(), "the store on PostgreSQL", "apt-get install postgresql"),
        (chromium(), "the board in a browser", "apt-get install chromium-headless-shell"),
        (
            (SHARED / "data").is_dir(),
            "real histories with people's marks",
            "BAROGRAPH_SHARED=FOLDER; the data are not public",
        ),
    )
    return [f"skipped: {part} ({way})" for is_there, part, way in parts if not is_there]


if __name__ == "__main__":
    print("\n".join(skipped() or ["no part of the tests will be skipped"]))  # noqa: T201
