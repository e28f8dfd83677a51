"""The results folder of airspeed velocity (asv), versions 1 and 2, or single files of it.

benchmarks.json               names of parameters, units, types, versions
<machine>/machine.json
<machine>/<hash>-<env>.json   the results of one commit in one environment
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from barograph.results.series import Direction, SeriesId
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, ResultBatch, Sample
from barograph.sources.formats.batches import RecordBatches, finite_numbers
from barograph.sources.formats.content import inner_file
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.outline import outline
from barograph.sources.report import Skip

MACHINE = {"arch", "cpu", "machine", "num_cpu", "os", "ram"}  # the keys of machine.json
NOT_RESULTS = ("machine.json", "benchmarks.json")
FOLDERS = (".", "results", ".asv/results")  # where a project keeps its results
KINDS = ("timeraw", "time", "peakmem", "mem", "track")  # prefixes of the names of benchmarks
# The types in benchmarks.json that are not named as the prefixes.
TYPES = {"memory": "mem", "peakmemory": "peakmem", "timeraw": "time"}
Arguments = tuple[tuple[str, str], ...]


def matches(sample: Sample) -> bool:
    """Whether a path is a results folder, or a file is a result of one commit or a machine.json."""
    if sample.folder:
        return _root(sample.folder) is not None
    places = outline(sample)
    return (
        {"/commit_hash", "/params", "/requirements"} <= places
        or {"/result_columns", "/commit_hash"} <= places
        or {f"/{key}" for key in MACHINE} <= places
    )


def _root(folder: Path) -> Path | None:
    """Return the results folder: this folder, or the usual places in it."""
    for name in FOLDERS:
        try:
            if next((folder / name).glob("*/machine.json"), None):
                return folder / name
        except OSError:
            continue
    return None


def read(file: InputFile) -> Iterator[ResultBatch | Skip]:
    """Yield the results of all machines, environments and commits, in the order of the paths."""
    if file.content is not None:
        run = Node(file.json())
        if run.mapping().keys() >= MACHINE:
            return  # machine.json, which the folder of a machine has next to the results
        above = file.path.resolve().parent.parent if file.path is not None else None
        benchmarks = _benchmarks(file, above / "benchmarks.json") if above else {}
        single = _Reader(file, benchmarks)
        yield from single.results(run)
        yield single.batches.take()
        return
    root = _root(file.path) if file.path is not None else None
    if root is None:
        raise DataError(f"{file.name}: no folder of a machine with machine.json")
    reader = _Reader(file, _benchmarks(file, root / "benchmarks.json"))
    for machine in sorted(path.parent for path in root.glob("*/machine.json")):
        for path in sorted(machine.glob("*.json")):
            if path.name in NOT_RESULTS:
                continue
            name = path.relative_to(root).as_posix()
            try:
                data = inner_file(file, path, name).json()
            except DataError as error:
                yield Node(str(error), name).skip(file, "file cannot be read")
                continue
            yield from reader.results(Node(data, f"{name}: "))
            if reader.batches.is_full:
                yield reader.batches.take()
    yield reader.batches.take()


def _benchmarks(file: InputFile, path: Path) -> dict[str, Any]:
    """Return the benchmarks by name; without the file, the results speak for themselves."""
    try:
        data = decode_json(path.read_bytes(), f"{file.name}: {path.name}")
    except OSError:
        return {}
    return Node(data, path.name).mapping()


@dataclass
class _Reader:
    """Reads the files of one folder, and keeps the identities."""

    file: InputFile
    benchmarks: Mapping[str, Any]
    kinds: dict[tuple[str, str, bytes, int], list[int]] = field(default_factory=dict)
    batches: RecordBatches = field(default_factory=RecordBatches)

    def results(self, run: Node) -> Iterator[Skip]:
        """Take the results of one file, and yield what failed."""
        commit, time = run["commit_hash"].text(), run["date"].time()
        variant = _variant(run)
        columns = run["result_columns"]  # version 1 has none: its rows have keys
        names = None if columns.value is None else [name.text() for name in columns.entries()]
        for name, row in run["results"].items():
            cells = _cells(row, names)
            about = self._about(name, cells["version"].value)
            if about is None:
                reason = "another version of the benchmark"
                yield Node(cells["version"].value, row.where).skip(self.file, reason)
                continue
            values, params = cells["result"].value, cells.get("params", [])
            params.array()
            if values is None:  # all failed
                yield Node(None, row.where).skip(self.file, "failed or was skipped")
                continue
            values = values if isinstance(values, list) else [values]
            kinds = self._kinds(variant, name, params, len(values), about)
            numbers = finite_numbers(values) if len(kinds) == len(values) else None
            if numbers is not None:
                self.batches.kinds.extend(kinds)
                self.batches.values.extend(numbers.tolist())
                continue
            for kind, value in zip(kinds, Node(values, row.where).entries(), strict=False):
                if value.value is None:  # null: failed; NaN, which is decoded as null, too: skipped
                    yield value.skip(self.file, "failed or was skipped")
                    continue
                self.batches.values.append(value.number())
                self.batches.kinds.append(kind)
        self.batches.end_record(commit, time)

    def _about(self, name: str, version: object) -> dict[str, Any] | None:
        """Return what benchmarks.json says, or None if it describes another version."""
        about = self.benchmarks.get(name)
        if not isinstance(about, dict):
            return {}
        known = about.get("version")
        return None if version is not None and known is not None and version != known else about

    def _kinds(
        self, variant: str, name: str, params: Node, count: int, about: Mapping[str, Any]
    ) -> list[int]:
        """Return the kind of each combination of parameters, at most `count`."""
        key = (variant, name, msgspec.json.encode(params.value) if params.value else b"", count)
        kinds = self.kinds.get(key)
        if kinds is None:
            described = Node(about, "benchmarks.json: ")
            measurement = _kind(name, about)
            is_cost = measurement in ("time", "mem", "peakmem")  # tracked values: by their unit
            direction = Direction.LOWER_IS_BETTER if is_cost else Direction.UNKNOWN
            unit = described["unit"].optional_text()
            kinds = self.kinds[key] = [
                self.batches.kind(
                    SeriesId("", variant, "", name, measurement, args), direction, unit
                )
                for args in _combinations(params, described["param_names"], count)
            ]
        return kinds


def _variant(run: Node) -> str:
    """Return "machine/environment"; old files name the environment by its Python only."""
    machine = run.get("params", {})["machine"].optional_text()
    environment = run["env_name"].optional_text()
    if not environment and run["python"].value is not None:
        environment = "py" + run["python"].label()
    return "/".join(part for part in (machine, environment) if part)


def _cells(row: Node, columns: list[str] | None) -> Node:
    """Return a row by the names of its columns; missing trailing columns are left out."""
    if columns is not None:
        return Node(dict(zip(columns, row.array(), strict=False)), row.where)
    return row if isinstance(row.value, dict) else Node({"result": row.value}, row.where)


def _combinations(params: Node, names: Node, count: int) -> Iterator[Arguments]:
    """Yield the arguments of the first `count` combinations of the parameters."""
    levels = [_levels(values) for values in params.entries()]
    titles = [f"param{i + 1}" for i in range(len(levels))]
    if levels and isinstance(names.value, list) and len(names.value) == len(levels):
        titles = [title.text() for title in names.entries()]
    for _number, combination in zip(range(count), product(*levels), strict=False):
        yield tuple(zip(titles, combination, strict=True))


def _levels(values: Node) -> list[str]:
    """Return the values of a parameter as text, without quotes if all stay different."""
    shown = [value.label() for value in values.entries()]
    plain = [v[1:-1] if len(v) > 1 and v[0] == v[-1] and v[0] in "'\"" else v for v in shown]
    return plain if len(set(plain)) == len(set(shown)) else shown


def _kind(name: str, about: Mapping[str, Any]) -> str:
    """Return what a benchmark measures: time, mem, peakmem or track; empty if unknown."""
    kind = about.get("type")
    if not isinstance(kind, str):
        function = name.rpartition(".")[2]
        kind = next((prefix for prefix in KINDS if function.startswith(f"{prefix}_")), "")
    return TYPES.get(kind, kind)


TITLE = "airspeed velocity (asv): the results folder, or one of its result files"
FORMAT = Format("asv", TITLE, "history", matches, read)
