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
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.nodes import Node, each, has_places

matches = has_places({"/machine_info", "/benchmarks"})  # which the plugin writes first
NOTHING = ("(unknown", "unversioned", "(detached")  # what the plugin writes if it found nothing


def read(file: InputFile) -> Items:
    """Yield the median of each benchmark."""
    document = Node(file.json())
    commit, machine = document.get("commit_info", {}), document.get("machine_info", {})
    parts = [commit[key].optional_text() for key in ("project", "id", "branch")]
    project, revision, branch = ("" if part.startswith(NOTHING) else part for part in parts)
    names = ("system", "python_implementation", "python_version")
    system, implementation, version = (machine.get(name, "").label() for name in names)
    # Such as "Linux-CPython-3.12".
    variant = "-".join(filter(None, [system, implementation, ".".join(version.split(".")[:2])]))
    written = commit["time"] if commit["time"].value else document["datetime"]
    series = SeriesId(project, variant, "", "", "median")
    cpu = machine["cpu"].cpu()
    common = Result(series, 0.0, "s", LOWER, None, revision, written.time(), "", branch, cpu)
    yield from each(file, document["benchmarks"].entries(), partial(_results, common))


def _results(common: Result, benchmark: Node) -> Iterator[Result]:
    """Read a benchmark, named by its file and the name of the test without its parameters."""
    median, params = benchmark["stats"]["median"], benchmark.get("params", {})
    name = benchmark.get("fullname", benchmark.value.get("name"))
    task, _, test = name.text().rpartition("::")
    identifier = benchmark["param"]
    if isinstance(identifier.value, str) and params.value:
        test = test.removesuffix(f"[{identifier.value}]")
    # An object that has no text of its own is named by the test's id.
    is_plain = all(isinstance(value, (str, int, float)) for value in params.mapping().values())
    args = params.arguments() if is_plain else (("param", identifier.label()),)
    series = replace(common.series, task=task, test=test, args=args)
    yield common._replace(series=series, value=median.number())


TITLE = "pytest-benchmark: pytest --benchmark-json=FILE"
FORMAT = Format("pytest-benchmark", TITLE, "run", matches, read)
