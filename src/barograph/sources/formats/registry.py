"""From what the user typed to files, and the format of each.

The module of a format is imported when a file has to be recognised. Formats that are recognised by
a clear mark come first, `tables` comes last: it reads whatever looks like rows and columns.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.formats.base import UTF_16, Format, InputFile, ReadOptions
from barograph.sources.formats.content import (
    content_of,
    download,
    is_url,
    shown_url,
    with_json_format,
)

# Modules of this package that hold a `FORMAT`, or one of another name, in the order of recognition.
# A module is imported only for what its inputs can be: folders, JSON, or texts that hold the mark.
# A mark is a pattern that is searched in the head of a text, or bytes that may be anywhere in it.
MODULES: dict[str, tuple[str, str | bytes | None]] = {
    "folder": ("folder", None),
    "asv": ("folder json", None),
    "github_action": ("json", r"window\.BENCHMARK_DATA"),
    "otava": ("folder", r"\btests\s*:"),
    "otava.GRAPHITE": ("json", None),
    "perfherder.LOG": ("json", b"PERFHERDER_DATA:"),
    "perfherder": ("folder json", None),
    "metric_records.NYRKIO": ("json", None),
    "skia": ("folder json", None),
    "tcpd": ("folder json", None),
    "metric_records.CODESPEED": ("json", None),
    "metric_records": ("json", None),
    "pytest_benchmark": ("json", None),
    "google_benchmark": ("json", None),
    "hyperfine": ("json", None),
    "jmh": ("json", None),
    "benchmarkdotnet": ("json", "Method"),
    "k6": ("json", None),
    "vitest": ("json", None),
    "catch2": ("", "<Catch|benchmark name "),
    "rust": ("folder json", r"time: +\["),
    "rust.CARGO": ("", " bench: "),
    "go_bench": ("json", r"Benchmark\S*[ \t]+\d"),
    "locust": ("json", "Request Count"),
    "github_action.CUSTOM": ("json", None),
    "bencher": ("json", None),
    "tables": ("json", ""),
}
SHOWN_KEYS = 6
STDIN = "-"
# Files of a folder that hold no results: hidden ones, and those for people.
ASIDE = re.compile(
    r"\..*|.*\.(md|rst)|(readme|license|licence|copying|notice|changelog)(\.txt)?",
    re.IGNORECASE | re.DOTALL,
)
NUMBER = re.compile(r"(\d+)", re.ASCII)
# Tools whose output is not read: a mark in it, and the option that writes what is read.
OUTPUTS = (
    ("Google Benchmark", r"^Benchmark +Time +CPU |^name,iterations,real_time,cpu_time",
     "JSON with --benchmark_out=FILE --benchmark_out_format=json"),
    ("JMH", r"^Benchmark .*Mode +Cnt +Score ", "JSON with -rf json -rff FILE"),
    ("pytest-benchmark", r"^-+ benchmark.*: \d+ tests -+$", "JSON with --benchmark-json=FILE"),
    ("BenchmarkDotNet", r"^BenchmarkDotNet v?\d", "JSON with --exporters json"),
    ("fio", r"^fio-\d|\"fio version\"", ""),
    ("wrk", r"^Running \d+\w+ test @ ", ""),
    ("vegeta", r"^Requests +\[total, rate|^{\"latencies\":", ""),
    ("pgbench", r"^pgbench \(|^transaction type: ", ""),
    ("Catch2's JSON reporter", r"\"catch2-version\"\s*:",
     "XML with --reporter xml, as its JSON has no benchmarks"),
)  # fmt: skip
CONVERTED = "write its numbers to a CSV file with the columns test,measurement,value,unit"
NEEDED = (
    "`barograph formats` lists what can be read, --kind NAME names the format; a table needs a "
    "column of values, which --map COLUMN=value names"
)


def formats() -> Iterator[Format]:
    """Yield all formats, in the order of recognition.

    Example:
        >>> [format_.name for format_ in formats()][-1]
        'tables'
    """
    yield from map(_format, MODULES)


def _format(place: str) -> Format:
    module, _, name = place.partition(".")
    found = import_module(f"barograph.sources.formats.{module}")
    form: Format = getattr(found, name or "FORMAT")
    return form


def named(name: str) -> Format:
    """Return a format by its name.

    Raises:
        ConfigError: There is no such format.
    """
    found = next((form for form in formats() if form.name == name), None)
    if found is None:
        raise ConfigError(f"--kind {name}: no such format; `barograph formats` lists all")
    return found


def opened(
    locations: Sequence[str | Path], options: ReadOptions
) -> Iterator[tuple[InputFile, Format]]:
    """Open and recognise one file after the other.

    Args:
        locations: Paths, patterns such as `runs/*.json`, folders, URLs, or `-` for the standard
            input. A folder that is no format of its own stands for the files in it.
        options: The format and the limits.

    Raises:
        DataError: A file is missing, too large or of no known format.
    """
    names = [str(location) for location in locations]
    for name in sorted(names, key=_numbers) if differ_in_numbers(names) else names:
        path = Path(name)
        if is_url(name):
            content = download(with_json_format(name))
            yield _with_format(InputFile(shown_url(name), None, content, options))
        elif path.is_dir():
            yield from _folder(path, options)
        elif name == STDIN or path.exists() or not glob.has_magic(name):
            yield _opened(None if name == STDIN else path, options)
        else:
            found = sorted(glob.glob(name, recursive=True), key=_numbers)  # noqa: PTH207
            if not found:
                raise DataError(f"{name}: no file matches this pattern")
            yield from opened(found, options)


def _opened(path: Path | None, options: ReadOptions) -> tuple[InputFile, Format]:
    name = str(path or STDIN)
    return _with_format(InputFile(name, path, content_of(path, name, options), options))


def _with_format(file: InputFile) -> tuple[InputFile, Format]:
    return file, named(file.options.kind) if file.options.kind else recognise(file)


def _folder(path: Path, options: ReadOptions) -> Iterator[tuple[InputFile, Format]]:
    """Yield a folder of a known format as such, or else the files in it."""
    folder = InputFile(str(path), path, None, options)
    form = named(options.kind) if options.kind else _recognised(folder)
    if form is not None and form.matches(folder):
        yield folder, form
        return
    files = [file for file in path.iterdir() if file.is_file() and not ASIDE.fullmatch(file.name)]
    if not files:
        raise DataError(f"{path}: the folder holds no result files")
    for file in sorted(files, key=lambda file: _numbers(file.name)):
        yield _opened(file, options)


def differ_in_numbers(names: Sequence[str]) -> bool:
    """Return whether several names differ only in their numbers; such files are sorted by them.

    Example:
        >>> differ_in_numbers(["run-2.json", "run-10.json"])
        True
    """
    return len(names) > 1 and len({NUMBER.sub("", name) for name in names}) == 1


def _numbers(name: str) -> list[Any]:
    """Return the texts of a name and the numbers between them, which sort it by value."""
    return [int(part) if k % 2 else part for k, part in enumerate(NUMBER.split(name))]


def may_be(file: InputFile, module: str) -> bool:
    """Return whether the module of a format has to look at an input, by its kind and the mark."""
    kinds, mark = MODULES[module]
    if file.folder or file.is_json:
        return ("folder" if file.folder else "json") in kinds
    if isinstance(mark, bytes):
        return mark in (file.content or b"")
    return mark is not None and re.search(mark, file.head) is not None


def _recognised(file: InputFile) -> Format | None:
    """Return the first format that a file matches, or None."""
    possible = (_format(module) for module in MODULES if may_be(file, module))
    return next((form for form in possible if form.matches(file)), None)


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
    form = _recognised(file)
    if form is not None:
        return form
    if file.fault is not None:
        raise file.fault
    text = (file.head or (file.content or b"")[:4_000].decode("utf-8", "replace")).lstrip()
    for tool, mark, option in OUTPUTS:
        if re.search(mark, text, re.MULTILINE):
            prints = f"the text that {tool} prints; let it write {option}"
            made = f"the output of {tool}; {CONVERTED}"
            raise DataError(f"{file.name}: {prints if option else made}")
    raise DataError(f"{file.name}: of no known format: {_looks(file, text)}; {NEEDED}")


def _looks(file: InputFile, text: str) -> str:
    """Return what a file of no known format looks like."""
    start = (file.content or b"")[:4_000]
    if not start.strip():
        return "the file is empty"
    if b"\0" in start and start[:2] not in UTF_16:
        return "binary data"
    if file.is_json:
        document = file.json()
        if not isinstance(document, dict):
            return "a JSON array"
        keys = ", ".join(name[:40] for name in [*document][:SHOWN_KEYS])
        return f"JSON with the keys {keys or '(none)'}{', ...' * (len(document) > SHOWN_KEYS)}"
    first = next(iter(text.lstrip("\ufeff \t\r\n").splitlines()), "")
    return f"text that begins {first[:60]!r}"
