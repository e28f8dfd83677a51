"""Catch2: the XML reporter, and the console of a program with benchmarks.

The XML is read as a stream, with bounded depth and without entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

from barograph.errors import DataError
from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import skipped, text
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import head_text, lines_of, number_in

ROOT = re.compile(r"<(Catch2TestRun|Catch)[\s>]")
COLUMNS = re.compile(r"^benchmark name +samples +iterations +est", re.MULTILINE)
RULE = re.compile(r"-{20,}|={20,}|\.{20,}")
COUNTS = re.compile(r"\d+ +\d+ +[\d.]+ (?:ns|us|ms|s|m)")  # samples, iterations, duration
TIMES = re.compile(r"\s+([\d.e+-]+) (ns|us|ms|s)(?:\s+[\d.e+-]+ (?:ns|us|ms|s)){2}\s*")
DEEPEST = 200  # nested elements


def matches(sample: Sample) -> bool:
    """Whether the head has the root of the XML reporter, or the head of a table."""
    head = head_text(sample)
    start = head.lstrip()[:1]
    return bool(ROOT.search(head) if start == "<" else COLUMNS.search(head))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the mean of each benchmark."""
    if file.text().lstrip().startswith("<"):
        yield from _Reader(file).results()
    else:
        yield from _console(file)


def _result(path: list[str], name: str, value: float, where: str, unit: str) -> Result:
    series = SeriesId("", "", "/".join(path), name, "mean")
    return Result(series, value, where, unit, Direction.LOWER_IS_BETTER)


class _Reader:
    """Collects the results of an XML file."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._open: list[tuple[str, str]] = []  # the elements around, with their names
        self._found: list[Result | Skip] = []
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _tag: self._open.pop()
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartDoctypeDeclHandler = self._refuse

    def results(self) -> Iterator[Result | Skip]:
        """Parse the file, and yield what was found.

        Raises:
            DataError: The XML is not well-formed, too deep, or declares entities.
        """
        try:
            self._parser.Parse(self._file.text().lstrip().encode(), True)
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            raise DataError(f"{self._file.name}: line {error.lineno}: {reason}") from None
        yield from self._found

    def _refuse(self, *_declaration: object) -> None:
        line = self._parser.CurrentLineNumber
        raise DataError(f"{self._file.name}: line {line}: declarations are not allowed")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        where = f"line {self._parser.CurrentLineNumber}"
        if len(self._open) >= DEEPEST:
            raise DataError(f"{self._file.name}: {where}: nested too deeply")
        if self._open and self._open[-1][0] == "BenchmarkResults" and tag in ("mean", "failed"):
            path = [name for kind, name in self._open if kind in ("TestCase", "Section")]
            try:
                if tag == "failed":
                    raise FieldError(where, attributes.get("message"), "the benchmark failed")
                value = number_in(attributes.get("value", ""), where)
                self._found.append(_result(path, self._open[-1][1], value, where, "ns"))
            except FieldError as error:
                skip = skipped(self._file, error.field, error.value, error.reason)
                self._found.append(skip)
        self._open.append((tag, attributes.get("name", "")))


def _console(file: InputFile) -> Iterator[Result | Skip]:
    """Read the tables of the console reporter.

    A test case is announced by its name between two rules; below its table's head each benchmark
    has three lines: name and counts, mean with its bounds, standard deviation with its bounds.
    """
    path: list[str] = []
    block: list[str] = []  # the lines since the last rule
    name: str | None = None  # of the benchmark whose mean comes next
    for where, line in lines_of(file):
        times = TIMES.fullmatch(line)
        if RULE.fullmatch(line.strip()):
            if line.startswith("-") and block and not COLUMNS.match(block[0]):
                path = block[:]
            block, name = [], None
        elif times and name is not None:
            try:
                label = text(name or None, where)
                yield _result(path, label, number_in(times[1], where), where, times[2])
            except FieldError as error:
                yield skipped(file, error.field, error.value, error.reason)
            block, name = [], None
        elif (named := _named(line)) is not None:
            name, block = " ".join(filter(None, [*block, named])), []
        elif line.strip() and not times:
            block.append(line.strip())
        elif not line.strip():
            block = []


def _named(line: str) -> str | None:
    """Return the name in the first line of a benchmark, "" if lines above hold all of it."""
    fields = line.rstrip().rsplit(maxsplit=4)
    counts = " ".join(fields[-4:])
    if len(fields) < 4 or not COUNTS.fullmatch(counts):
        return None
    return fields[0].strip() if len(fields) == 5 else ""


TITLE = "Catch2: ./benchmarks --reporter xml --out FILE, or its console output"
FORMAT = Format("catch2", TITLE, "run", matches, read)
