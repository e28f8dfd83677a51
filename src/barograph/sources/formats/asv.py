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

from barograph.errors import DataError
from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.formats.base import (
    Format,
    InputFile,
    ResultBatch,
    Sample,
    decode_json,
)
from barograph.sources.formats.batches import RecordBatches, finite_numbers
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.nodes import array, at, label, mapping, optional_text, skipped, text
from barograph.sources.formats.numbers import number
from barograph.sources.formats.outline import outline

NOT_RESULTS = ("machine.json", "benchmarks.json")
FOLDERS = (".", "results", ".asv/results")  # where a project keeps its results
KINDS = ("timeraw", "time", "peakmem", "mem", "track")  # prefixes of the names of benchmarks
# The types in benchmarks.json that are not named as the prefixes.
TYPES = {"memory": "mem", "peakmemory": "peakmem", "timeraw": "time"}
Arguments = tuple[tuple[str, str], ...]


def matches(sample: Sample) -> bool:
    """Whether a path is a results folder, or a file is a result of one commit."""
    if sample.path is not None and sample.is_folder:
        return _root(sample.path) is not None
    places = outline(sample)
    return {"/commit_hash", "/params", "/requirements"} <= places or (
        "/result_columns" in places and "/commit_hash" in places
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
        above = file.path.resolve().parent.parent if file.path is not None else None
        benchmarks = _benchmarks(file, above / "benchmarks.json") if above else {}
        single = _Reader(file, benchmarks)
        yield from single.results(file.json(), "")
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
                data = decode_json(path.read_bytes(), name)
            except (DataError, OSError) as error:
                yield skipped(file, name, str(error), "file cannot be read")
                continue
            yield from reader.results(data, f"{name}: ")
            if reader.batches.is_full:
                yield reader.batches.take()
    yield reader.batches.take()


def _benchmarks(file: InputFile, path: Path) -> dict[str, Any]:
    """Return the benchmarks by name; without the file, the results speak for themselves."""
    try:
        data = decode_json(path.read_bytes(), f"{file.name}: {path.name}")
    except OSError:
        return {}
    return mapping(data, path.name)


@dataclass
class _Reader:
    """Reads the files of one folder, and keeps the identities."""

    file: InputFile
    benchmarks: Mapping[str, Any]
    kinds: dict[tuple[str, str, bytes, int], list[int]] = field(default_factory=dict)
    batches: RecordBatches = field(default_factory=RecordBatches)

    def results(self, data: object, prefix: str) -> Iterator[Skip]:
        """Take the results of one file, and yield what failed; `prefix` names it in messages."""
        run = mapping(data, f"{prefix}results")
        commit = text(run.get("commit_hash"), f"{prefix}commit_hash")
        time = time_ms(run.get("date"), f"{prefix}date")
        variant = _variant(run, prefix)
        columns = _columns(run, prefix)
        for name, row in mapping(run.get("results"), f"{prefix}results").items():
            where = at(f"{prefix}results", name)
            cells = _cells(row, columns, where)
            about = self._about(name, cells.get("version"))
            if about is None:
                yield skipped(
                    self.file, where, cells["version"], "another version of the benchmark"
                )
                continue
            values = cells.get("result")
            params = array(cells.get("params") or [], f"{where}.params")
            if values is None:  # all failed
                yield skipped(self.file, where, None, "failed or was skipped")
                continue
            values = values if isinstance(values, list) else [values]
            kinds = self._kinds(variant, text(name, where), params, len(values), about, where)
            numbers = finite_numbers(values) if len(kinds) == len(values) else None
            if numbers is not None:
                self.batches.kinds.extend(kinds)
                self.batches.values.extend(numbers.tolist())
                continue
            for index, (kind, value) in enumerate(zip(kinds, values, strict=False)):
                place = f"{where}[{index}]"
                if value is None:  # null: failed; NaN, which is decoded as null, too: skipped
                    yield skipped(self.file, place, value, "failed or was skipped")
                    continue
                self.batches.values.append(number(value, place))
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
        self,
        variant: str,
        name: str,
        params: list[Any],
        count: int,
        about: Mapping[str, Any],
        where: str,
    ) -> list[int]:
        """Return the kind of each combination of parameters, at most `count`."""
        key = (variant, name, msgspec.json.encode(params) if params else b"", count)
        kinds = self.kinds.get(key)
        if kinds is None:
            names = about.get("param_names")
            names = names if isinstance(names, list) and len(names) == len(params) else []
            measurement, direction = _kind(name, about), _direction(name, about)
            unit = optional_text(about.get("unit"), "benchmarks.json: unit")
            kinds = self.kinds[key] = [
                self.batches.kind(
                    SeriesId("", variant, "", name, measurement, args), direction, unit
                )
                for args in _combinations(params, names, count, f"{where}.params")
            ]
        return kinds


def _variant(run: Mapping[str, Any], prefix: str) -> str:
    """Return "machine/environment"; old files name the environment by its Python only."""
    params = mapping(run.get("params") or {}, f"{prefix}params")
    machine = optional_text(params.get("machine"), f"{prefix}params.machine")
    environment = optional_text(run.get("env_name"), f"{prefix}env_name")
    if not environment and run.get("python") is not None:
        environment = "py" + label(run["python"], f"{prefix}python")
    return "/".join(part for part in (machine, environment) if part)


def _columns(run: Mapping[str, Any], prefix: str) -> list[str] | None:
    """Return the names of the columns of a row; None for version 1, whose rows have keys."""
    columns = run.get("result_columns")
    if columns is None:
        return None
    where = f"{prefix}result_columns"
    return [text(name, at(where, i)) for i, name in enumerate(array(columns, where))]


def _cells(row: object, columns: list[str] | None, where: str) -> dict[str, Any]:
    """Return a row by the names of its columns; missing trailing columns are left out."""
    if columns is not None:
        return dict(zip(columns, array(row, where), strict=False))
    return row if isinstance(row, dict) else {"result": row}


def _combinations(
    params: list[Any], names: list[Any], count: int, where: str
) -> Iterator[Arguments]:
    """Yield the arguments of the first `count` combinations of the parameters."""
    levels = [_levels(values, f"{where}[{i}]") for i, values in enumerate(params)]
    titles = [
        text(names[i], "benchmarks.json: param_names") if names else f"param{i + 1}"
        for i in range(len(params))
    ]
    for _number, combination in zip(range(count), product(*levels), strict=False):
        yield tuple(zip(titles, combination, strict=True))


def _levels(values: object, where: str) -> list[str]:
    """Return the values of a parameter as text, without quotes if all stay different."""
    shown = [label(value, f"{where}[{i}]") for i, value in enumerate(array(values, where))]
    plain = [v[1:-1] if len(v) > 1 and v[0] == v[-1] and v[0] in "'\"" else v for v in shown]
    return plain if len(set(plain)) == len(set(shown)) else shown


def _kind(name: str, about: Mapping[str, Any]) -> str:
    """Return what a benchmark measures: time, mem, peakmem or track; empty if unknown."""
    kind = about.get("type")
    if not isinstance(kind, str):
        function = name.rpartition(".")[2]
        kind = next((prefix for prefix in KINDS if function.startswith(f"{prefix}_")), "")
    return TYPES.get(kind, kind)


def _direction(name: str, about: Mapping[str, Any]) -> Direction:
    """Return which way is better: times and sizes are better low, tracked values by their unit."""
    measured = _kind(name, about) in ("time", "mem", "peakmem")
    return Direction.LOWER_IS_BETTER if measured else Direction.UNKNOWN


TITLE = "airspeed velocity (asv): the results folder, or one of its result files"
FORMAT = Format("asv", TITLE, "history", matches, read)
