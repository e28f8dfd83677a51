"""pytest-benchmark: the JSON of `--benchmark-json` and of its storage folder.

The environment is named as the plugin's own storage folder names it: two versions of Python are
two series, two machines are not, since hosted runners have another name in each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from barograph.results.series import SeriesId
from barograph.results.units import LOWER
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.nodes import Node, each, has_places
from barograph.sources.report import Skip

matches = has_places({"/machine_info", "/benchmarks"})  # which the plugin writes first


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median of each benchmark."""
    document = Node(file.json())
    commit = document.get("commit_info", {})
    variant = _environment(document.get("machine_info", {}))
    project, revision, branch = (_known(commit[key]) for key in ("project", "id", "branch"))
    written = commit["time"] if commit["time"].value else document["datetime"]
    series = SeriesId(project, variant, "", "", "median")
    common = Result(series, 0.0, "s", LOWER, None, revision, written.time(), "", branch)
    yield from each(file, document["benchmarks"].entries(), partial(_results, common))


def _known(name: Node) -> str:
    """Return a text; the plugin writes "(unknown)" or None where it found nothing."""
    known = "" if name.value is None else name.text()
    return "" if known.startswith(("(unknown", "unversioned", "(detached")) else known


def _environment(machine: Node) -> str:
    """Return system, interpreter and version, such as "Linux-CPython-3.12"."""
    names = ("system", "python_implementation", "python_version")
    parts = [machine.get(name, "").label() for name in names]
    parts[2] = ".".join(parts[2].split(".")[:2])
    return "-".join(part for part in parts if part)


def _results(common: Result, benchmark: Node) -> Iterator[Result]:
    median = benchmark["stats"]["median"]
    params = benchmark.get("params", {})
    task, test = _identity(benchmark, params)
    args = _arguments(benchmark, params)
    series = replace(common.series, task=task, test=test, args=args)
    yield common._replace(series=series, value=median.number())


def _identity(benchmark: Node, params: Node) -> tuple[str, str]:
    """Return the file, and the name of the test without its parameters."""
    name = benchmark.get("fullname", benchmark.value.get("name"))
    task, _, test = name.text().rpartition("::")
    identifier = benchmark.value.get("param")
    if isinstance(identifier, str) and params.value:
        test = test.removesuffix(f"[{identifier}]")
    return task, test


def _arguments(benchmark: Node, params: Node) -> tuple[tuple[str, str], ...]:
    """Return the parameters; an object that has no text of its own is named by the test's id."""
    if all(isinstance(value, (str, int, float)) for value in params.mapping().values()):
        return params.arguments()
    return (("param", benchmark["param"].label()),)


FORMAT = Format(
    "pytest-benchmark", "pytest-benchmark: pytest --benchmark-json=FILE", "run", matches, read
)
