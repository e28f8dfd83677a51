"""Go: the text that `go test -bench` prints, and the metadata lines that benchstat reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from barograph.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import skipped, text, time_ms
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import head_text, lines_of, number_in

HEAD = re.compile(r"^Benchmark\S*[ \t]+\d+[ \t]+[\d.e+]+ [^\s\d]\S*", re.MULTILINE)
SETTING = re.compile(r"([a-z][^\sA-Z:]*):\s*(.*)")
PROCS = re.compile(r"(.+)-(\d{1,4})")  # GOMAXPROCS at the end of a name; absent if it is 1
LOWER = {"ns/op", "B/op", "allocs/op", "sec/op"}
BETTER = {"higher": Direction.HIGHER_IS_BETTER, "lower": Direction.LOWER_IS_BETTER}


def matches(sample: Sample) -> bool:
    """Whether the head holds a line with a result."""
    return bool(HEAD.search(head_text(sample)))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield every unit of every result line; lines of one benchmark (-count) are runs."""
    settings: dict[str, str] = {}
    directions = dict.fromkeys(LOWER, Direction.LOWER_IS_BETTER) | {
        "MB/s": Direction.HIGHER_IS_BETTER
    }
    runs: dict[str, int] = {}
    for where, line in lines_of(file):
        fields = line.split() if line.startswith("Benchmark") else []
        if len(fields) >= 4 and len(fields) % 2 == 0 and fields[1].isdecimal():
            name = f"{settings.get('pkg', '')} {fields[0]}"
            runs[name] = runs.get(name, -1) + 1
            try:
                yield from _results(fields, where, settings, directions, runs[name])
            except FieldError as error:
                yield skipped(file, error.field, error.value, error.reason)
        elif line.startswith("Unit "):
            directions |= _unit(line)
        elif setting := SETTING.fullmatch(line):
            settings[setting[1]] = setting[2].strip()


def _unit(line: str) -> dict[str, Direction]:
    """Return the direction in a line such as "Unit p99-ns better=lower"."""
    _, unit, *options = [*line.split(), ""]
    stated = [option.removeprefix("better=") for option in options if option[:7] == "better="]
    return {unit: BETTER[stated[0]]} if stated and stated[0] in BETTER else {}


def _results(
    fields: list[str],
    where: str,
    settings: dict[str, str],
    directions: dict[str, Direction],
    run: int,
) -> Iterator[Result]:
    test, args = _identity(text(fields[0], where))
    platform = "/".join(settings[name] for name in ("goos", "goarch") if name in settings)
    commit = settings.get("commit", "").partition(" ")[0]
    time = time_ms(settings.get("commit-time"), where) if commit else UNKNOWN_TIME
    for value, unit in zip(fields[2::2], fields[3::2], strict=True):
        series = SeriesId("", platform, settings.get("pkg", ""), test, unit, args)
        yield Result(
            series,
            number_in(value, where),
            where,
            unit,
            directions.get(unit, Direction.UNKNOWN),
            commit=commit,
            time=time,
            run=str(run),
            branch=settings.get("branch", ""),
        )


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


FORMAT = Format("go", "Go: go test -bench . -count 5 > FILE", "run", matches, read)
