"""Catch2: the XML reporter, and the console of a program with benchmarks.

The XML is read as a stream, with bounded depth and without entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

from barograph.results.fields import FieldError
from barograph.results.series import SeriesId
from barograph.results.units import LOWER
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.records import each, lines_of
from barograph.sources.report import Skip

ROOT = re.compile(r"<(Catch2TestRun|Catch)[\s>]")
COLUMNS = re.compile(r"^benchmark name +samples +iterations +est", re.MULTILINE)
RULE = re.compile(r"-{20,}|={20,}|\.{20,}")
COUNTS = re.compile(r"\d+ +\d+ +[\d.]+ (?:ns|us|ms|s|m)")  # samples, iterations, duration
TIMES = re.compile(r"\s+([\d.e+-]+) (ns|us|ms|s)(?:\s+[\d.e+-]+ (?:ns|us|ms|s)){2}\s*")
DEEPEST = 200  # nested elements


def matches(file: InputFile) -> bool:
    """Whether the head has the root of the XML reporter, or the head of a table."""
    head = file.head
    start = head.lstrip()[:1]
    return bool(ROOT.search(head) if start == "<" else COLUMNS.search(head))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the mean of each benchmark."""
    is_xml = file.text().lstrip().startswith("<")
    yield from each(file, _Reader(file).benchmarks() if is_xml else _console(file), _results)


def _results(benchmark: Node) -> Iterator[Result]:
    """Read the path, the name, the mean and its unit; without a unit, the mean is a failure."""
    (path, name, mean, unit), where = benchmark.value, benchmark.where
    if not unit:
        raise FieldError(where, mean, "the benchmark failed")
    series = SeriesId("", "", "/".join(path), Node(name or None, where).text(), "mean")
    yield Result(series, numeric(mean, where), unit, LOWER)


class _Reader:
    """Collects the benchmarks of an XML file."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._open: list[tuple[str, str]] = []  # the elements around, with their names
        self._benchmarks: list[Node] = []
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _tag: self._open.pop()
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartDoctypeDeclHandler = self._refuse

    def benchmarks(self) -> list[Node]:
        """Parse the file, and return its benchmarks.

        Raises:
            DataError: The XML is not well-formed, too deep, or declares entities.
        """
        try:
            self._parser.Parse(self._file.text().lstrip().encode(), True)
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            raise DataError(f"{self._file.name}: line {error.lineno}: {reason}") from None
        return self._benchmarks

    def _refuse(self, *_declaration: object) -> None:
        line = self._parser.CurrentLineNumber
        raise DataError(f"{self._file.name}: line {line}: declarations are not allowed")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        where = f"line {self._parser.CurrentLineNumber}"
        if len(self._open) >= DEEPEST:
            raise DataError(f"{self._file.name}: {where}: nested too deeply")
        if self._open and self._open[-1][0] == "BenchmarkResults" and tag in ("mean", "failed"):
            path = [name for kind, name in self._open if kind in ("TestCase", "Section")]
            mean = (attributes.get("value", ""), "ns")
            failure = (attributes.get("message"), "")
            benchmark = (path, self._open[-1][1], *(failure if tag == "failed" else mean))
            self._benchmarks.append(Node(benchmark, where))
        self._open.append((tag, attributes.get("name", "")))


def _console(file: InputFile) -> Iterator[Node]:
    """Read the tables of the console reporter.

    A test case is announced by its name between two rules; below its table's head each benchmark
    has three lines: name and counts, mean with its bounds, standard deviation with its bounds.
    """
    path: list[str] = []
    block: list[str] = []  # the lines since the last rule
    name: str | None = None  # of the benchmark whose mean comes next
    for entry in lines_of(file):
        line = entry.value
        times = TIMES.fullmatch(line)
        if RULE.fullmatch(line.strip()):
            if line.startswith("-") and block and not COLUMNS.match(block[0]):
                path = block[:]
            block, name = [], None
        elif times and name is not None:
            yield Node((path, name, times[1], times[2]), entry.where)
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
