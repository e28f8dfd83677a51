"""The Parquet tables of a history: the columns `series`, `points` and `candidates`, and the runs.

The column `series` of the points and the candidates is a row number of the series table. Points
are sorted by series and order. `index` is the 0-based index of a point in its series. An export of
a store also has a column `run` of the points, and a table of all results of the commits with
several. data/README.md describes every column.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barograph.results.candidates import Candidates
from barograph.results.repeats import PointRuns
from barograph.results.series import LABELS, UNKNOWN_TIME, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError
from barograph.runtime.files import published

TEXT, NUMBER, DATE = pa.string(), pa.int32(), pa.timestamp("ms", tz="UTC")
SERIES_SCHEMA = pa.schema({
    **dict.fromkeys(LABELS, TEXT),
    "args": TEXT,  # a JSON object with sorted keys, "{}" if empty
    "direction": pa.int8(), "unit": TEXT,
})  # fmt: skip
POINTS_SCHEMA = pa.schema({
    "series": NUMBER, "order": pa.int64(), "commit": TEXT, "time": DATE, "value": pa.float64(),
    "runs": NUMBER, "spread": pa.float64(),
    "results": TEXT,  # a JSON object of the value of each run by its name
})  # fmt: skip
CANDIDATES_SCHEMA = pa.schema({
    "series": NUMBER, "index": NUMBER, "order": pa.int64(), "commit": TEXT, "verdict": TEXT,
    "calculated_on": DATE, "triaged_on": DATE, "algorithm": TEXT,
})  # fmt: skip
SCHEMAS = {"series": SERIES_SCHEMA, "points": POINTS_SCHEMA, "candidates": CANDIDATES_SCHEMA}
# Columns that a table may lack: then every point has one run without a name, no unit is known, and
# a candidate was found by the latest search.
RUN_COLUMNS = ("runs", "spread", "results")
SEARCHED = {"present": pa.bool_(), "discovery": NUMBER, "q": pa.float64()}
OPTIONAL = ("unit", *RUN_COLUMNS, *SEARCHED)
# Additional columns of an exported store: whether the latest search found the candidate, its number
# in the order of discovery, and its energy statistic.
FOUND_SCHEMA = pa.schema([*CANDIDATES_SCHEMA, *SEARCHED.items()])
# Of the points and the runs of an exported store.
RUNS_SCHEMA = pa.schema([*[*POINTS_SCHEMA][:5], ("run", TEXT)])
RUNS = "runs.parquet"  # all results of the commits with several
ROWS = 1 << 18  # of a row group: a part of the series is read without the others


def read_columns(folder: str | Path) -> dict[str, Any]:
    """Return the fields of a `History` from the tables of a folder, which must fit together.

    Raises:
        DataError: A table is missing or damaged, or they do not fit together.
    """
    series = _read(folder, "series.parquet", SERIES_SCHEMA)
    points = _read(folder, "points.parquet", POINTS_SCHEMA)
    owners = points.column("series").to_numpy()
    offsets = np.searchsorted(owners, np.arange(series.num_rows + 1)).astype(np.int64)
    if owners.size and (np.any(np.diff(owners) < 0) or offsets[-1] != owners.size):
        raise DataError(
            f"{folder}/points.parquet: column series must be sorted and below the "
            f"{series.num_rows} rows of series.parquet"
        )
    is_export = "run" in pq.read_schema(Path(folder) / "points.parquet").names
    runs = _stored_runs(folder) if is_export else _listed_runs(points)
    units = [unit or "" for unit in series.column("unit").to_pylist()]
    return {
        "ids": [SeriesId.from_row(row) for row in series.to_pylist()],
        "directions": _numbers(series.column("direction"), 0),
        "offsets": offsets,
        "orders": points.column("order").to_numpy(),
        "values": points.column("value").to_numpy(),
        "commits": _texts(points.column("commit")),
        "times": _numbers(points.column("time"), UNKNOWN_TIME),
        "candidates": candidates_of(_read(folder, "candidates.parquet", FOUND_SCHEMA)),
        "runs": runs if runs.points.size else None,
        "units": units if any(units) else (),
    }


def write_columns(columns: Mapping[str, Any], folder: str | Path) -> None:
    """Write the three tables into a folder, all or none.

    Args:
        columns: The fields of a `History` by name.
        folder: Where to write.
    """
    ids, candidates = columns["ids"], columns["candidates"]
    sizes = np.diff(columns["offsets"])
    tables: dict[str, list[pa.Array]] = {
        "series": [
            *([getattr(each, name) for each in ids] for name in LABELS),
            [each.args_json for each in ids],
            pa.array(columns["directions"], pa.int8()),
            [unit or None for unit in columns["units"] or [""] * len(ids)],
        ],
        "points": [
            np.repeat(np.arange(sizes.size, dtype=np.int32), sizes),
            columns["orders"],
            _strings(columns["commits"]),
            _dates(columns["times"]),
            columns["values"],
            *_run_columns(columns["runs"], columns["values"].size),
        ],
        "candidates": [
            pa.array(candidates.series, NUMBER),
            pa.array(candidates.index, NUMBER),
            candidates.orders,
            _strings(candidates.commits),
            candidates.verdict.tolist(),
            _dates(candidates.calculated_on),
            _dates(candidates.triaged_on),
            _strings(candidates.algorithms),
        ],
    }
    with published(folder, [f"{name}.parquet" for name in tables]) as draft:
        for name, arrays in tables.items():
            table = pa.table(arrays, SCHEMAS[name])
            path = draft / f"{name}.parquet"
            pq.write_table(table, path, row_group_size=ROWS, compression="zstd")


def _read(folder: str | Path, name: str, schema: pa.Schema) -> pa.Table:
    """Read a table; its columns must be those of its schema."""
    path = Path(folder) / name
    if not path.is_file():
        expected = sorted(f"{table}.parquet" for table in SCHEMAS)
        raise DataError(f"{path}: no such file; expected {', '.join(expected)}")
    try:
        return _fitted(pq.read_table(path), schema)
    except (pa.ArrowException, KeyError) as error:
        names = ", ".join(schema.names)
        raise DataError(f"{path}: not a readable Parquet file with {names}: {error}") from error


def _fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema; optional ones that are missing are null."""
    for field in schema:
        if field.name in OPTIONAL and field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(schema.names).cast(schema)


def candidates_of(table: pa.Table) -> Candidates:
    """Return the candidates of the table of that name."""
    table = _fitted(table, FOUND_SCHEMA)
    return Candidates(
        series=_numbers(table.column("series"), -1),
        index=_numbers(table.column("index"), -1),
        verdict=np.array(table.column("verdict").to_pylist(), dtype=np.str_),
        calculated_on=_numbers(table.column("calculated_on"), UNKNOWN_TIME),
        triaged_on=_numbers(table.column("triaged_on"), UNKNOWN_TIME),
        orders=table.column("order").to_numpy(),
        commits=_texts(table.column("commit")),
        algorithms=_texts(table.column("algorithm")),
        present=table.column("present").fill_null(True).to_numpy(),
        discovery=_numbers(table.column("discovery"), -1),
        q=table.column("q").fill_null(np.nan).to_numpy(),
    )


def _run_columns(runs: PointRuns | None, size: int) -> list[pa.Array]:
    """Return the columns `runs`, `spread` and `results` of the points table."""
    counts, spreads = np.ones(size, dtype=np.int32), np.full(size, np.nan)
    texts: list[str | None] = [None] * size
    if runs is not None:
        points, of_points, spreads_of_points = runs.spreads()
        counts[points], spreads[points] = of_points, spreads_of_points
        names, values = list(runs.names), runs.values.tolist()
        bounds = pairwise([0, *np.cumsum(of_points).tolist()])
        for point, (start, stop) in zip(points.tolist(), bounds, strict=True):
            listed = dict(zip(names[start:stop], values[start:stop], strict=True))
            texts[point] = json.dumps(listed)
    missing = np.isnan(spreads)
    return [pa.array(counts), pa.array(spreads, mask=missing), pa.array(texts, pa.string())]


def _texts(column: pa.ChunkedArray) -> Texts:
    """Return a column of strings; null becomes the empty text."""
    encoded = column.combine_chunks().dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
    return Texts(codes.astype(np.int32), [*names, ""])


def _strings(texts: Texts) -> pa.Array:
    """Return texts as a column of strings, null where empty."""
    names = pa.array([name or None for name in texts.names], pa.string())
    return names.take(pa.array(texts.codes))


def _dates(milliseconds: Ints) -> pa.Array:
    """Return milliseconds as a column of timestamps, null where unknown."""
    return pa.array(milliseconds, DATE, mask=milliseconds == UNKNOWN_TIME)


def _numbers(column: pa.ChunkedArray, missing: int) -> Ints:
    numbers: Ints = column.cast(pa.int64()).fill_null(missing).to_numpy()
    return numbers


def _listed_runs(points: pa.Table) -> PointRuns:
    """Return the runs in the column `results`; each has the time of its point."""
    results = points.column("results")
    rows = np.flatnonzero(results.is_valid().to_numpy())
    decode = msgspec.json.Decoder(dict[str, float]).decode
    runs = [decode(text) for text in results.drop_null().to_pylist()]
    owners = np.repeat(rows, [len(of_point) for of_point in runs])
    return PointRuns(
        owners,
        Texts.from_strings(name for of_point in runs for name in of_point),
        np.fromiter((value for of_point in runs for value in of_point.values()), np.float64),
        _numbers(points.column("time"), UNKNOWN_TIME)[owners],
    )


def _stored_runs(folder: str | Path) -> PointRuns:
    """Return the runs of an exported store: all of commits with several, else the one named.

    Raises:
        DataError: A run is of no point.
    """
    points = _read(folder, "points.parquet", RUNS_SCHEMA)
    runs = _read(folder, RUNS, RUNS_SCHEMA)
    tables = points, runs
    series, orders = (
        np.concatenate([table.column(name).to_numpy() for table in tables]).astype(np.int64)
        for name in ("series", "order")
    )
    keys = series * orders.size + np.unique(orders, return_inverse=True)[1]
    known, wanted = keys[: points.num_rows], keys[points.num_rows :]
    owners = np.searchsorted(known, wanted)
    matches = np.append(known, -1)[owners] == wanted
    if not matches.all():
        row = int(np.argmin(matches))
        order = runs.column("order")[row]
        raise DataError(f"{folder}/{RUNS}: row {row} is of order {order}, which has no point")
    alone = _texts(points.column("run")).known()
    alone[owners] = False
    table = pa.concat_tables([runs, points.filter(alone)])
    owners = np.append(owners, np.flatnonzero(alone))
    return PointRuns(
        owners,
        _texts(table.column("run")),
        table.column("value").to_numpy(),
        _numbers(table.column("time"), UNKNOWN_TIME),
    ).take(np.argsort(owners, kind="stable"))
