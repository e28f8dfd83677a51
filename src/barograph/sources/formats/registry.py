"""The formats in the order of recognition, and which of them a file is.

The module of a format is imported when a file has to be recognised. Formats that are recognised by
a clear mark come first, `tables` comes last: it reads whatever looks like rows and columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.formats.base import Format, InputFile
from barograph.sources.formats.unknown import described

ANY = "folder json text"
# Modules of this package that hold a `FORMAT`, in the order of recognition, and what their inputs
# can be: a module need not be imported for other inputs.
MODULES = {
    "folder": "folder",
    "asv": "folder json",
    "github_action": ANY,
    "otava": ANY,
    "graphite": "json",
    "perfherder_log": ANY,
    "perfherder": "folder json",
    "nyrkio": "json",
    "skia": "folder json",
    "tcpd": "folder json",
    "codespeed": "json",
    "metric_records": "json",
    "pytest_benchmark": "json",
    "google_benchmark": "json",
    "hyperfine": "json",
    "jmh": "json",
    "benchmarkdotnet": ANY,
    "k6": "json",
    "vitest": "json",
    "catch2": ANY,
    "criterion": ANY,
    "cargo_bench": ANY,
    "go_bench": ANY,
    "locust": ANY,
    "custom_benchmark": "json",
    "bencher": "json",
    "tables": ANY,
}


def formats() -> Iterator[Format]:
    """Yield all formats, in the order of recognition.

    Example:
        >>> [format_.name for format_ in formats()][-1]
        'tables'
    """
    yield from map(_format, MODULES)


def _format(module: str) -> Format:
    form: Format = import_module(f"barograph.sources.formats.{module}").FORMAT
    return form


def named(name: str) -> Format:
    """Return a format by its name.

    Raises:
        ConfigError: There is no such format.
    """
    for format_ in formats():
        if format_.name == name:
            return format_
    raise ConfigError(f"--kind {name}: no such format; `barograph formats` lists all")


def recognised(file: InputFile) -> Format | None:
    """Return the first format that a file matches, or None."""
    kind = kind_of(file)
    modules = [name for name, kinds in MODULES.items() if kind in kinds]
    return next((format_ for format_ in map(_format, modules) if format_.matches(file)), None)


def kind_of(file: InputFile) -> str:
    """Return what an input is: `folder`, `json` or `text`."""
    if file.folder:
        return "folder"
    return "json" if file.is_json else "text"


def recognise(file: InputFile) -> Format:
    r"""Return the first format that a file matches.

    Args:
        file: The file.

    Raises:
        DataError: No format matches; the message says what the file looks like.

    Example:
        >>> recognise(InputFile("-", None, b"commit,value\na1,5\n")).name
        'tables'
    """
    form = recognised(file)
    if form is not None:
        return form
    if file.fault is not None:
        raise file.fault
    looks, hint = described(file)
    raise DataError(f"{file.name}: {looks}; {hint}")
