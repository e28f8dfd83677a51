"""The results folder of airspeed velocity (asv), versions 1 and 2, or single files of it.

benchmarks.json               names of parameters, units, types, versions
<machine>/machine.json
<machine>/<hash>-<env>.json   the results of one commit in one environment
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from barograph.results.series import Direction, SeriesId
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.content import inner_file
from barograph.sources.formats.nodes import Node, has_places

MACHINE = {"arch", "cpu", "machine", "num_cpu", "os", "ram"}  # the keys of machine.json
NOT_RESULTS = ("machine.json", "benchmarks.json")
FOLDERS = (".", "results", ".asv/results")  # where a project keeps its results
KINDS = ("timeraw", "time", "peakmem", "mem", "track")  # prefixes of the names of benchmarks
# The types in benchmarks.json that are not named as the prefixes.
TYPES = {"memory": "mem", "peakmemory": "peakmem", "timeraw": "time"}
COSTS = ("time", "mem", "peakmem")  # the unit of a tracked value says its direction
_is_file = has_places(
    {"/commit_hash", "/params", "/requirements"},
    {"/result_columns", "/commit_hash"},
    {f"/{key}" for key in MACHINE},
)


def matches(file: InputFile) -> bool:
    """Whether a path is a results folder, or a file is a result of one commit or a machine.json."""
    return _root(file.folder) is not None if file.folder else _is_file(file)


def _root(folder: Path) -> Path | None:
    """Return the results folder: this folder, or the usual places in it."""
    places = (folder / name for name in FOLDERS)
    return next((place for place in places if any(place.glob("*/machine.json"))), None)


def read(file: InputFile) -> Items:
    """Yield the results of all machines, environments and commits, in the order of the paths."""
    if not file.folder:
        run = Node(file.json())
        if not run.mapping().keys() >= MACHINE:  # machine.json, which lies next to the results
            above = file.path.resolve().parent.parent if file.path is not None else None
            yield from _results(file, run, _benchmarks(file, above) if above else {})
        return
    root = _root(file.folder)
    if root is None:
        raise DataError(f"{file.name}: no folder of a machine with machine.json")
    benchmarks = _benchmarks(file, root)
    for path in sorted(root.glob("*/*.json")):
        if path.name in NOT_RESULTS or not path.with_name("machine.json").is_file():
            continue
        name = path.relative_to(root).as_posix()
        try:
            run = Node(inner_file(file, path, name).json(), f"{name}: ")
        except DataError as error:
            yield Node(str(error), name).skip(file, "file cannot be read")
        else:
            yield from _results(file, run, benchmarks)


def _benchmarks(file: InputFile, root: Path) -> dict[str, Any]:
    """Return the benchmarks by name; without the file, the results speak for themselves."""
    path = root / "benchmarks.json"
    if not path.is_file():
        return {}
    data = inner_file(file, path, f"{file.name}: {path.name}").json()
    return Node(data, path.name).mapping()


def _results(file: InputFile, run: Node, benchmarks: Mapping[str, Any]) -> Items:
    """Yield the results of one file, and what failed."""
    commit, time, variant = run["commit_hash"].text(), run["date"].time(), _variant(run)
    cpu = run.get("params", {})["cpu"].cpu()
    columns = run["result_columns"]  # version 1 has none: its rows have keys
    names = None if columns.value is None else [name.text() for name in columns.entries()]
    for name, row in run["results"].items():
        cells, stated = _cells(row, names), benchmarks.get(name)
        about = Node(stated if isinstance(stated, dict) else {}, "benchmarks.json: ")
        versions = cells["version"].value, about["version"].value
        if None not in versions and versions[0] != versions[1]:
            yield Node(versions[0], row.where).skip(file, "another version of the benchmark")
            continue
        values = cells["result"].value
        if values is None:  # all failed
            yield Node(None, row.where).skip(file, "failed or was skipped")
            continue
        kind, unit = _kind(name, about["type"].value), about["unit"].optional_text()
        direction = Direction.LOWER_IS_BETTER if kind in COSTS else Direction.UNKNOWN
        listed = Node(values if isinstance(values, list) else [values], row.where)
        arguments = _combinations(cells.get("params", []), about["param_names"])
        for args, value in zip(arguments, listed.entries(), strict=False):
            if value.value is None:  # null: failed; NaN, which is decoded as null, too: skipped
                yield value.skip(file, "failed or was skipped")
                continue
            series = SeriesId("", variant, "", name, kind, args)
            yield Result(*(series, value.number(), unit, direction, None, commit, time), cpu=cpu)


def _variant(run: Node) -> str:
    """Return "machine/environment"; old files name the environment by its Python only."""
    machine = run.get("params", {})["machine"].optional_text()
    old = "" if run["python"].value is None else "py" + run["python"].label()
    return "/".join(filter(None, (machine, run["env_name"].optional_text() or old)))


def _cells(row: Node, columns: list[str] | None) -> Node:
    """Return a row by the names of its columns; missing trailing columns are left out."""
    if columns is not None:
        return Node(dict(zip(columns, row.array(), strict=False)), row.where)
    return row if isinstance(row.value, dict) else Node({"result": row.value}, row.where)


def _combinations(params: Node, names: Node) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield the arguments of each combination of the parameters."""
    levels = [_levels(values) for values in params.entries()]
    titles = [f"param{i + 1}" for i in range(len(levels))]
    if levels and isinstance(names.value, list) and len(names.value) == len(levels):
        titles = [title.text() for title in names.entries()]
    for combination in product(*levels):
        yield tuple(zip(titles, combination, strict=True))


def _levels(values: Node) -> list[str]:
    """Return the values of a parameter as text, without quotes if all stay different."""
    shown = [value.label() for value in values.entries()]
    plain = [v[1:-1] if len(v) > 1 and v[0] == v[-1] and v[0] in "'\"" else v for v in shown]
    return plain if len(set(plain)) == len(set(shown)) else shown


def _kind(name: str, stated: object) -> str:
    """Return what a benchmark measures: time, mem, peakmem or track; empty if unknown."""
    prefix = name.rpartition(".")[2].partition("_")[0]
    kind = stated if isinstance(stated, str) else prefix if prefix in KINDS else ""
    return TYPES.get(kind, kind)


TITLE = "airspeed velocity (asv): the results folder, or one of its result files"
FORMAT = Format("asv", TITLE, "history", matches, read)
