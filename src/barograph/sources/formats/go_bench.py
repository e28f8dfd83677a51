"""Go: the text that `go test -bench` prints, and the metadata lines that benchstat reads.

With `-json` the text is cut into events, one JSON object a line, often within a result.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.nodes import Node, each, lines_of, records

HEAD = re.compile(r"^Benchmark\S*[ \t]+\d+[ \t]+[\d.e+]+ [^\s\d]\S*", re.MULTILINE)
RESULT = re.compile(r"Benchmark\S*\s+\d+\s")
SETTING = re.compile(r"([a-z][^\sA-Z:]*):\s*(.*)")
EVENT = {"/Action", "/Package", "/Output"}
PROCS = re.compile(r"(.+)-(\d{1,4})")  # GOMAXPROCS at the end of a name; absent if it is 1
UNITS = {**dict.fromkeys(("ns/op", "B/op", "allocs/op", "sec/op"), LOWER), "MB/s": HIGHER}
BETTER = {"better=higher": HIGHER, "better=lower": LOWER}


def matches(file: InputFile) -> bool:
    """Whether the head holds a line with a result, or events of `-json`."""
    return bool(HEAD.search(file.head)) or file.places >= EVENT


def read(file: InputFile) -> Items:
    """Yield every unit of every result line; lines of one benchmark (-count) are runs."""
    for text in _texts(file):
        yield from each(text, _benchmarks(text), _results)


def _texts(file: InputFile) -> list[InputFile]:
    """Return the file, or with `-json` the text of each package in it."""
    if not file.text().lstrip().startswith("{"):
        return [file]
    parts: dict[str, list[str]] = defaultdict(list)
    for event in records(file):
        parts[event["Package"].optional_text()].append(str(event["Output"].value or ""))
    return [
        replace(file, name=f"{file.name}: output of {package}", content="".join(part).encode())
        for package, part in parts.items()
    ]


def _benchmarks(file: InputFile) -> Iterator[Node]:
    """Yield the fields of each result line, the settings above it, and the number of the run."""
    settings: dict[str, str] = {}
    directions, runs = dict(UNITS), Counter[str]()
    for entry in lines_of(file):
        fields = entry.value.split()
        if RESULT.match(entry.value) and len(fields) >= 4 and len(fields) % 2 == 0:
            name = f"{settings.get('pkg', '')} {fields[0]}"
            yield Node((fields, settings, directions, str(runs[name])), entry.where)
            runs[name] += 1
        elif fields[:1] == ["Unit"]:  # such as "Unit p99-ns better=lower"
            for option in BETTER.keys() & fields[2:]:
                directions[fields[1]] = BETTER[option]
        elif setting := SETTING.fullmatch(entry.value):
            settings[setting[1]] = setting[2].strip()


def _results(line: Node) -> Iterator[Result]:
    fields, settings, directions, run = line.value
    where, package = line.where, settings.get("pkg", "")
    test, args = _identity(fields[0])
    platform = "/".join(settings[name] for name in ("goos", "goarch") if name in settings)
    branch, commit = settings.get("branch", ""), settings.get("commit", "").partition(" ")[0]
    time = time_ms(settings.get("commit-time"), where) if commit else UNKNOWN_TIME
    cpu = Node(settings.get("cpu")).cpu()
    for value, unit in zip(fields[2::2], fields[3::2], strict=True):
        series = SeriesId("", platform, package, test, unit, args)
        direction = directions.get(unit, Direction.UNKNOWN)
        measured = numeric(value, where)
        yield Result(series, measured, unit, direction, None, commit, time, run, branch, cpu)


def _identity(name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split "BenchmarkSort/size=8/fast-4" into the test and its arguments."""
    args = {}
    procs = PROCS.fullmatch(name)
    if procs:
        name, args["GOMAXPROCS"] = procs[1], procs[2]
    labels = []
    for part in name.split("/"):
        key, equals, value = part.partition("=")
        if equals and key:
            args[key] = value
        else:
            labels.append(part)
    return "/".join(labels), tuple(args.items())


FORMAT = Format("go", "Go: go test -bench . -count 5 [-json] > FILE", "run", matches, read)
