"""pytest-benchmark: the JSON of `--benchmark-json` and of its storage folder.

The environment is named as the plugin's own storage folder names it: two versions of Python are
two series, two machines are not, since hosted runners have another name in each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.formats.access import array, at, label, mapping, number, text, time_ms
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import each, indexed
from barograph.sources.formats.outline import outline


class _Run(NamedTuple):
    """What all benchmarks of a file have in common."""

    project: str
    variant: str
    commit: str
    branch: str
    time: int


def matches(sample: Sample) -> bool:
    """Whether the head has the keys that the plugin writes first."""
    keys = outline(sample)
    return {"/machine_info", "/benchmarks"} <= keys


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median of each benchmark."""
    document = mapping(file.json(), "")
    run = _run(document)
    entries = indexed(array(document.get("benchmarks"), "benchmarks"), "benchmarks")
    yield from each(file, entries, lambda entry, where: _results(entry, where, run))


def _run(document: dict[str, Any]) -> _Run:
    commit = mapping(document.get("commit_info") or {}, "commit_info")
    machine = mapping(document.get("machine_info") or {}, "machine_info")
    return _Run(
        project=_known(commit.get("project"), "commit_info.project"),
        variant=_environment(machine),
        commit=_known(commit.get("id"), "commit_info.id"),
        branch=_known(commit.get("branch"), "commit_info.branch"),
        time=time_ms(commit.get("time") or document.get("datetime"), "commit_info.time"),
    )


def _known(value: object, where: str) -> str:
    """Return a text; the plugin writes "(unknown)" or None where it found nothing."""
    if value is None:
        return ""
    found = text(value, where)
    return "" if found.startswith(("(unknown", "unversioned", "(detached")) else found


def _environment(machine: dict[str, Any]) -> str:
    """Return system, interpreter and version, such as "Linux-CPython-3.12"."""
    names = ("system", "python_implementation", "python_version")
    parts = [label(machine.get(name) or "", at("machine_info", name)) for name in names]
    parts[2] = ".".join(parts[2].split(".")[:2])
    return "-".join(part for part in parts if part)


def _results(entry: object, where: str, run: _Run) -> Iterator[Result]:
    benchmark = mapping(entry, where)
    stats = mapping(benchmark.get("stats"), at(where, "stats"))
    task, test = _identity(benchmark, where)
    args = _arguments(benchmark, where)
    place = at(where, "stats.median")
    yield Result(
        SeriesId(run.project, run.variant, task, test, "median", args),
        number(stats.get("median"), place),
        place,
        unit="s",
        direction=Direction.LOWER_IS_BETTER,
        commit=run.commit,
        time=run.time,
        branch=run.branch,
    )


def _identity(benchmark: dict[str, Any], where: str) -> tuple[str, str]:
    """Return the file, and the name of the test without its parameters."""
    name = benchmark.get("fullname") or benchmark.get("name")
    task, _, test = text(name, at(where, "fullname")).rpartition("::")
    identifier = benchmark.get("param")
    if isinstance(identifier, str) and benchmark.get("params"):
        test = test.removesuffix(f"[{identifier}]")
    return task, test


def _arguments(benchmark: dict[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters; an object that has no text of its own is named by the test's id."""
    params = mapping(benchmark.get("params") or {}, at(where, "params"))
    simple = all(isinstance(value, (str, int, float)) for value in params.values())
    if params and not simple:
        return (("param", label(benchmark.get("param"), at(where, "param"))),)
    place = at(where, "params")
    pairs = ((text(name, place), label(value, at(place, name))) for name, value in params.items())
    return tuple(sorted(pairs))


FORMAT = Format(
    "pytest-benchmark", "pytest-benchmark: pytest --benchmark-json=FILE", "run", matches, read
)
