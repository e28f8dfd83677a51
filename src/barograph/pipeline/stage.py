"""Run a stage: by itself, or as one of several in a folder of their own."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

import yaml

from barograph.learning.tracking import SWITCH
from barograph.pipeline import report
from barograph.pipeline.params import PARAMS
from barograph.runtime.errors import BarographError, NotEnoughDataError


def run(main: Callable[[], None]) -> None:
    """Run a stage; print expected errors in one line, without a traceback, and exit with 1.

    Expected are our own errors and those of the system, such as a full disk: their message names
    the file.
    """
    try:
        main()
    except (BarographError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


def page_without_verdicts(
    page: Path, metrics: str | None = None
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Decorate a stage that needs verdicts: with too few, it only writes a page that says so.

    Args:
        page: The page.
        metrics: The name of the stage's metrics, if it has some.
    """

    def decorate(main: Callable[[], None]) -> Callable[[], None]:
        @wraps(main)
        def stage() -> None:
            try:
                main()
            except NotEnoughDataError as error:
                report.write_text(page, f"No tables: {error}.\n")
                if metrics is not None:
                    report.write_json(report.FOLDER / f"{metrics}.json", {})

        return stage

    return decorate


@contextmanager
def in_folder(folder: Path, profile: str) -> Iterator[None]:
    """Change to another folder, with a profile of params.yaml of its own and without MLflow."""
    document = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
    document["profile"] = profile
    report.write_text(folder / PARAMS, yaml.safe_dump(document))
    before, switch = Path.cwd(), os.environ.get(SWITCH)
    os.chdir(folder)
    os.environ[SWITCH] = "off"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop(SWITCH)
        if switch is not None:
            os.environ[SWITCH] = switch
