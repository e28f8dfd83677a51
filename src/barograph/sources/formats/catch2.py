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
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.nodes import Node, each, lines_of

ROOT = re.compile(r"<(Catch2TestRun|Catch)[\s>]")
COLUMNS = re.compile(r"^benchmark name +samples +iterations +est", re.MULTILINE)
RULE = re.compile(r"-{20,}|={20,}|\.{20,}")
# The last columns of the first line of a benchmark: samples, iterations, duration.
COUNTS = re.compile(r"\d+ +\d+ +[\d.]+ (?:ns|us|ms|s|m)")
TIMES = re.compile(r"\s+([\d.e+-]+) (ns|us|ms|s)(?:\s+[\d.e+-]+ (?:ns|us|ms|s)){2}\s*")
DEEPEST = 200  # nested elements


def matches(file: InputFile) -> bool:
    """Whether the head has the root of the XML reporter, or the head of a table."""
    is_xml = file.head.lstrip().startswith("<")
    return bool((ROOT if is_xml else COLUMNS).search(file.head))


def read(file: InputFile) -> Items:
    """Yield the mean of each benchmark."""
    is_xml = file.text().lstrip().startswith("<")
    yield from each(file, _xml(file) if is_xml else _console(file), _results)


def _results(benchmark: Node) -> Iterator[Result]:
    """Read the path, the name, the mean and its unit; without a unit, the mean is a failure."""
    (path, name, mean, unit), where = benchmark.value, benchmark.where
    if not unit:
        raise FieldError(where, mean, "the benchmark failed")
    series = SeriesId("", "", "/".join(path), Node(name or None, where).text(), "mean")
    yield Result(series, numeric(mean, where), unit, LOWER)


def _xml(file: InputFile) -> list[Node]:
    """Return the benchmarks of an XML file.

    Raises:
        DataError: The XML is not well-formed, too deep, or declares entities.
    """
    around: list[tuple[str, str]] = []  # the open elements, with their names
    benchmarks: list[Node] = []
    parser = expat.ParserCreate("utf-8")

    def refuse(*_declaration: object) -> None:
        line = parser.CurrentLineNumber
        raise DataError(f"{file.name}: line {line}: declarations are not allowed")

    def start(tag: str, attributes: dict[str, str]) -> None:
        where = f"line {parser.CurrentLineNumber}"
        if len(around) >= DEEPEST:
            raise DataError(f"{file.name}: {where}: nested too deeply")
        if around and around[-1][0] == "BenchmarkResults" and tag in ("mean", "failed"):
            path = [name for kind, name in around if kind in ("TestCase", "Section")]
            mean = (attributes.get("value", ""), "ns")
            failure = (attributes.get("message"), "")
            benchmark = (path, around[-1][1], *(failure if tag == "failed" else mean))
            benchmarks.append(Node(benchmark, where))
        around.append((tag, attributes.get("name", "")))

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: around.pop()
    parser.EntityDeclHandler = parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(file.text().lstrip().encode(), True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise DataError(f"{file.name}: line {error.lineno}: {reason}") from None
    return benchmarks


def _console(file: InputFile) -> Iterator[Node]:
    """Read the tables of the console reporter.

    A test case is announced by its name between two rules; below its table's head each benchmark
    has three lines: name and counts, mean with its bounds, standard deviation with its bounds.
    """
    path: list[str] = []
    block: list[str] = []  # the lines since the last rule, empty line or benchmark
    name: str | None = None  # of the benchmark whose mean comes next
    for entry in lines_of(file):
        line, times = entry.value.strip(), TIMES.fullmatch(entry.value)
        fields = entry.value.rstrip().rsplit(maxsplit=4)
        if RULE.fullmatch(line):
            if entry.value.startswith("-") and block and not COLUMNS.match(block[0]):
                path = block
            block, name = [], None
        elif COUNTS.fullmatch(" ".join(fields[-4:])):
            name, block = " ".join([*block, *(part.strip() for part in fields[:-4])]), []
        elif times:
            if name is not None:
                yield Node((path, name, times[1], times[2]), entry.where)
                block, name = [], None
        elif line:
            block.append(line)
        else:
            block = []


TITLE = "Catch2: ./benchmarks --reporter xml --out FILE, or its console output"
FORMAT = Format("catch2", TITLE, "run", matches, read)
