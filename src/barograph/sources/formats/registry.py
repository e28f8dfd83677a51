"""The formats in the order of recognition, and which of them a file is.

The module of a format is imported when a file has to be recognised. Formats that are recognised by
a clear mark come first, `tables` comes last: it reads whatever looks like rows and columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from barograph.errors import ConfigError, DataError
from barograph.sources.formats.base import Format, Sample
from barograph.sources.formats.outline import outline
from barograph.sources.formats.unknown import described

# Modules of this package that hold a `FORMAT`, in the order of recognition.
MODULES = (
    "folder",
    "asv",
    "github_action",
    "otava",
    "graphite",
    "perfherder_log",
    "perfherder",
    "nyrkio",
    "skia",
    "tcpd",
    "codespeed",
    "metric_records",
    "pytest_benchmark",
    "google_benchmark",
    "hyperfine",
    "jmh",
    "benchmarkdotnet",
    "k6",
    "vitest",
    "catch2",
    "criterion",
    "cargo_bench",
    "go_bench",
    "locust",
    "custom_benchmark",
    "bencher",
    "tables",
)
# Those that are JSON only and never a folder; for other files they need not be imported.
JSON_ONLY = {
    *("graphite", "nyrkio", "codespeed", "metric_records", "pytest_benchmark", "google_benchmark"),
    *("hyperfine", "jmh", "k6", "vitest", "custom_benchmark", "bencher"),
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


def recognised(sample: Sample) -> Format | None:
    """Return the first format that a file matches, or None."""
    modules = [name for name in MODULES if name not in JSON_ONLY or outline(sample)]
    return next((format_ for format_ in map(_format, modules) if format_.matches(sample)), None)


def recognise(sample: Sample, name: str) -> Format:
    r"""Return the first format that a file matches.

    Args:
        sample: The file.
        name: What the error calls it.

    Raises:
        DataError: No format matches; the message says what the file looks like.

    Example:
        >>> recognise(Sample(None, b"commit,value\na1,5\n"), "-").name
        'tables'
    """
    form = recognised(sample)
    if form is not None:
        return form
    looks, hint = described(sample)
    raise DataError(f"{name}: {looks}; {hint}")
