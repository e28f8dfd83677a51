"""The formats in the order of recognition, and which of them a file is.

The module of a format is imported when a file has to be recognised. Formats that are recognised by
a clear mark come first, `tables` comes last: it reads whatever looks like rows and columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module

from barograph.errors import ConfigError, DataError
from barograph.sources.formats.base import UTF_16, Format, Sample
from barograph.sources.formats.outline import outline

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
SHOWN_KEYS = 6
# Tools whose output is not read: a mark in it, and the option that writes JSON that is read.
OUTPUTS = (
    ("Google Benchmark", r"^Benchmark +Time +CPU |^name,iterations,real_time,cpu_time",
     "--benchmark_out=FILE --benchmark_out_format=json"),
    ("JMH", r"^Benchmark .*Mode +Cnt +Score ", "-rf json -rff FILE"),
    ("pytest-benchmark", r"^-+ benchmark.*: \d+ tests -+$", "--benchmark-json=FILE"),
    ("BenchmarkDotNet", r"^BenchmarkDotNet v?\d", "--exporters json"),
    ("fio", r"^fio-\d|\"fio version\"", ""),
    ("wrk", r"^Running \d+\w+ test @ ", ""),
    ("vegeta", r"^Requests +\[total, rate|^{\"latencies\":", ""),
    ("pgbench", r"^pgbench \(|^transaction type: ", ""),
)  # fmt: skip
CONVERTED = "write its numbers to a CSV file with the columns test,measurement,value,unit"
NEEDED = (
    "a table needs a column of values: name it with --value-columns COLUMN or --map COLUMN=value"
)


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


def described(sample: Sample) -> tuple[str, str]:
    """Return what an unknown file looks like, and what would help."""
    formats_hint = "`barograph formats` lists what can be read; --kind NAME names the format"
    if sample.folder:
        return "a folder of no known format", formats_hint
    head = sample.head
    if not head.strip():
        return "the file is empty", "it must hold results"
    if b"\0" in head and head[:2] not in UTF_16:
        return "binary data of no known format", formats_hint
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    for tool, mark, option in OUTPUTS:
        if re.search(mark, text, re.MULTILINE):
            hint = f"let it write JSON with {option}" if option else CONVERTED
            return f"the text that {tool} prints" if option else f"the output of {tool}", hint
    if text[:1] == "{":
        keys = list(dict.fromkeys(re.findall(r'"((?:[^"\\]|\\.){1,40})"\s*:', text)))
        shown = ", ".join(keys[:SHOWN_KEYS]) + (", ..." if len(keys) > SHOWN_KEYS else "")
        return f"JSON of no known format, with the keys {shown or '(none)'}", formats_hint
    if text[:1] == "[":
        return "a JSON array of no known format", formats_hint
    line = text.splitlines()[0][:60] if text else ""
    return f"text of no known format, which begins {line!r}", NEEDED
