"""The Parquet tables of a history: the columns `series`, `points` and `candidates`, and the runs.

The column `series` of the points and the candidates is a row number of the series table. Points
are sorted by series and order. `index` is the 0-based index of a point in its series. An export of
a store also has a column `run` of the points, and a table of all results of the commits with
several. data/README.md describes every column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from barograph.results.candidates import Candidates
from barograph.results.repeats import Repeats
from barograph.results.series import LABELS, UNKNOWN_TIME, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError
from barograph.runtime.files import published

DATE = pa.timestamp("ms", tz="UTC")
SERIES_SCHEMA = pa.schema(
    [
        ("project", pa.string()),
        ("variant", pa.string()),
        ("task", pa.string()),
        ("test", pa.string()),
        ("measurement", pa.string()),
        ("args", pa.string()),  # a JSON object with sorted keys, "{}" if empty
        ("direction", pa.int8()),
        ("unit", pa.string()),
    ]
)
POINTS_SCHEMA = pa.schema(
    [
        ("series", pa.int32()),
        ("order", pa.int64()),
        ("commit", pa.string()),
        ("time", DATE),
        ("value", pa.float64()),
        ("runs", pa.int32()),
        ("spread", pa.float64()),
        ("results", pa.string()),  # a JSON object of the value of each run by its name
    ]
)
# Tables of points may lack these columns: then every point has one run without a name. Those of
# series may lack the unit, which is null where unknown.
RUN_COLUMNS = ("runs", "spread", "results")
OPTIONAL = {"points": RUN_COLUMNS, "series": ("unit",)}
CANDIDATES_SCHEMA = pa.schema(
    [
        ("series", pa.int32()),
        ("index", pa.int32()),
        ("order", pa.int64()),
        ("commit", pa.string()),
        ("verdict", pa.string()),
        ("calculated_on", DATE),
        ("triaged_on", DATE),
        ("algorithm", pa.string()),
    ]
)
# Additional columns of an exported store: whether the latest search found the candidate, its number
# in the order of discovery, and its energy statistic.
SEARCHED = (("present", pa.bool_()), ("discovery", pa.int32()), ("q", pa.float64()))
FOUND_SCHEMA = pa.schema([*CANDIDATES_SCHEMA, *SEARCHED])
SCHEMAS = {"series": SERIES_SCHEMA, "points": POINTS_SCHEMA, "candidates": CANDIDATES_SCHEMA}
# Of the points and the runs of an exported store.
RUNS_SCHEMA = pa.schema(
    [*(field for field in POINTS_SCHEMA if field.name not in RUN_COLUMNS), ("run", pa.string())]
)
RUNS = "runs.parquet"  # all results of the commits with several
TABLES = [f"{name}.parquet" for name in SCHEMAS]
CHUNK = 50_000  # JSON texts decoded at a time


@contextmanager
def table_writer(folder: Path, name: str) -> Iterator[Callable[[Sequence[pa.Array]], None]]:
    """Create one of the three tables, and yield a function that adds a row group to it."""
    schema = SCHEMAS[name]
    # Texts repeat: a commit measures many series. For numbers a dictionary only costs time.
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    path = folder / f"{name}.parquet"
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=texts) as writer:
        yield lambda columns: writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def read_columns(folder: str | Path) -> dict[str, Any]:
    """Return the fields of a `History` from the tables of a folder, which must fit together.

    Raises:
        DataError: A table is missing or damaged, or they do not fit together.
    """
    series = read_table(folder, "series")
    points = read_table(folder, "points")
    columns = _point_fields(points, 0, series.num_rows)
    owners = points.column("series").to_numpy()
    if owners.size and (np.any(np.diff(owners) < 0) or columns["offsets"][-1] != owners.size):
        raise DataError(
            f"{folder}/points.parquet: column series must be sorted and below the "
            f"{series.num_rows} rows of series.parquet"
        )
    times = columns["times"]
    names = pq.read_schema(Path(folder) / "points.parquet").names
    repeats = _stored_runs(folder, points, times) if "run" in names else _runs(points, times)
    units = [unit or "" for unit in series.column("unit").to_pylist()]
    identities = series.drop(["direction", "unit"]).to_pylist()
    return columns | {
        "ids": [SeriesId.from_row(row) for row in identities],
        "directions": _numbers(series.column("direction"), 0),
        "candidates": _with_search(folder, candidates_of(read_table(folder, "candidates"))),
        "repeats": None if repeats.is_single else repeats,
        "units": units if any(units) else (),
    }


def read_group(folder: Path, number: int, first: int, count: int) -> dict[str, Any]:
    """Return the fields of a `History` that are in a row group of the points.

    Args:
        folder: Where the table is.
        number: The number of the row group.
        first: The number of its first series.
        count: The number of its series.
    """
    names = ["series", "order", "value", "commit", "time"]
    points = pq.ParquetFile(folder / "points.parquet").read_row_group(number, columns=names)
    return _point_fields(points, first, count)


def _point_fields(points: pa.Table, first: int, count: int) -> dict[str, Any]:
    """Return the fields of a `History` that every point has."""
    numbers = np.arange(first, first + count + 1)
    return {
        "offsets": np.searchsorted(points.column("series").to_numpy(), numbers).astype(np.int64),
        "orders": points.column("order").to_numpy(),
        "values": points.column("value").to_numpy(),
        "commits": texts_of(points.column("commit")),
        "times": _numbers(points.column("time"), UNKNOWN_TIME),
    }


def write_columns(columns: Mapping[str, Any], folder: str | Path) -> None:
    """Write the three tables into a folder, all or none.

    Args:
        columns: The fields of a `History` by name.
        folder: Where to write.
    """
    tables = {
        "series": series_columns(columns["ids"], columns["directions"], columns["units"]),
        "points": point_columns(columns),
        "candidates": candidate_columns(columns["candidates"]),
    }
    with published(folder, TABLES) as draft:
        for name, arrays in tables.items():
            with table_writer(draft, name) as write:
                write(arrays)


def read_table(folder: str | Path, name: str) -> pa.Table:
    """Read one of the three tables; its columns must be those of its schema."""
    path = Path(folder) / f"{name}.parquet"
    if not path.is_file():
        raise DataError(f"{path}: no such file; expected one of the tables {sorted(SCHEMAS)}")
    try:
        table = pq.read_table(path)
    except pa.ArrowException as error:
        raise DataError(f"{path}: not a readable Parquet file: {error}") from error
    schema = SCHEMAS[name]
    missing = [field.name for field in schema if field.name not in table.column_names]
    for column in [column for column in missing if column in OPTIONAL.get(name, ())]:
        missing.remove(column)
        table = table.append_column(column, pa.nulls(table.num_rows, schema.field(column).type))
    if missing:
        raise DataError(f"{path}: misses the columns {missing}; has {table.column_names}")
    try:
        return table.select(schema.names).cast(schema)
    except pa.ArrowException as error:
        raise DataError(f"{path}: {error}; expected the columns {schema.names}") from error


def candidates_of(table: pa.Table) -> Candidates:
    """Return the candidates of the table of that name."""
    return Candidates(
        series=_numbers(table.column("series"), -1),
        index=_numbers(table.column("index"), -1),
        verdict=np.array(table.column("verdict").to_pylist(), dtype=np.str_),
        calculated_on=_numbers(table.column("calculated_on"), UNKNOWN_TIME),
        triaged_on=_numbers(table.column("triaged_on"), UNKNOWN_TIME),
        orders=table.column("order").to_numpy(),
        commits=texts_of(table.column("commit")),
        algorithms=texts_of(table.column("algorithm")),
    )


def _with_search(folder: str | Path, candidates: Candidates) -> Candidates:
    """Return the candidates with what the latest search of an exported store said of them."""
    path = Path(folder) / "candidates.parquet"
    names = [name for name, _ in SEARCHED]
    if not set(names) <= set(pq.read_schema(path).names):
        return candidates
    table = pq.read_table(path, columns=names)
    try:
        present, discovery, q = (table.column(name).cast(kind) for name, kind in SEARCHED)
    except pa.ArrowException as error:
        raise DataError(f"{path}: {error}") from error
    return replace(
        candidates,
        present=present.fill_null(True).to_numpy(),
        discovery=_numbers(discovery, -1),
        q=q.fill_null(np.nan).to_numpy(),
    )


def series_columns(
    ids: Sequence[SeriesId], directions: Sequence[int] | Ints, units: Sequence[str]
) -> list[pa.Array]:
    """Return the columns of the series table; no units are those of series without any."""
    labels = [[getattr(identity, label) for identity in ids] for label in LABELS]
    texts = [*labels, [identity.args_json for identity in ids]]
    known = pa.array([unit or None for unit in units or [""] * len(ids)], pa.string())
    return [
        *(pa.array(column, pa.string()) for column in texts),
        pa.array(directions, pa.int8()),
        known,
    ]


def point_columns(columns: Mapping[str, Any], first: int = 0) -> list[pa.Array]:
    """Return the columns of the points table.

    Args:
        columns: The fields of a `History` by name.
        first: The number of its first series.
    """
    sizes = np.diff(columns["offsets"])
    repeats = columns["repeats"] or Repeats.single(columns["values"].size)
    return [
        pa.array(np.repeat(np.arange(first, first + sizes.size, dtype=np.int32), sizes)),
        pa.array(columns["orders"]),
        column_of(columns["commits"]),
        dates(columns["times"]),
        pa.array(columns["values"]),
        *run_columns(repeats),
    ]


def candidate_columns(candidates: Candidates, first: int = 0) -> list[pa.Array]:
    """Return the columns of the candidates table.

    Args:
        candidates: The candidates.
        first: What is added to the numbers of their series.
    """
    return [
        pa.array(candidates.series + first, pa.int32()),
        pa.array(candidates.index, pa.int32()),
        pa.array(candidates.orders),
        column_of(candidates.commits),
        pa.array(candidates.verdict.tolist(), pa.string()),
        dates(candidates.calculated_on),
        dates(candidates.triaged_on),
        column_of(candidates.algorithms),
    ]


def run_columns(repeats: Repeats) -> list[pa.Array]:
    """Return the columns `runs`, `spread` and `results` of the points table."""
    spreads = pa.array(repeats.spreads, mask=np.isnan(repeats.spreads))
    return [pa.array(repeats.counts, pa.int32()), spreads, _as_json(repeats)]


def _as_json(repeats: Repeats) -> pa.Array:
    """Return the runs of each point as a JSON object, null where it lists none."""
    keys = pa.array([json.dumps(name) for name in repeats.names.names], pa.string())
    items = pc.binary_join_element_wise(
        keys.take(pa.array(repeats.names.codes)),
        pa.array(repeats.values).cast(pa.string()),
        ": ",
    )
    none = pa.array(np.diff(repeats.offsets) == 0)
    lists = pa.ListArray.from_arrays(pa.array(repeats.offsets, pa.int32()), items, mask=none)
    return pc.binary_join_element_wise("{", pc.binary_join(lists, ", "), "}", "")


def texts_of(column: pa.Array | pa.ChunkedArray) -> Texts:
    """Return a column of strings; null becomes the empty text."""
    chunks = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    encoded = chunks.dictionary_encode().unify_dictionaries()
    if not encoded.num_chunks:
        return Texts.unknown(0)
    names = encoded.chunk(0).dictionary.to_pylist()
    codes = [
        chunk.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        for chunk in encoded.chunks
    ]
    return Texts(np.concatenate(codes).astype(np.int32), [*names, ""])


def column_of(texts: Texts) -> pa.Array:
    """Return texts as a column of strings, null where empty."""
    names = pa.array([name or None for name in texts.names], pa.string())
    return names.take(pa.array(texts.codes))


def dates(milliseconds: Ints) -> pa.Array:
    """Return milliseconds as a column of timestamps, null where unknown."""
    return pa.array(milliseconds, DATE, mask=milliseconds == UNKNOWN_TIME)


def _numbers(column: pa.ChunkedArray, missing: int) -> Ints:
    numbers: Ints = column.cast(pa.int64()).fill_null(missing).to_numpy()
    return numbers


def _runs(points: pa.Table, times: Ints) -> Repeats:
    """Return the runs in the columns of the points; each has the time of its point."""
    results = points.column("results")
    spreads = points.column("spread").to_numpy()
    rows = np.flatnonzero(results.is_valid().to_numpy())
    texts = results.drop_null()
    all_runs = []
    for start in range(0, len(texts), CHUNK):
        listed = ",".join(texts.slice(start, CHUNK).to_pylist())
        all_runs += msgspec.json.decode(f"[{listed}]", type=list[dict[str, float]])
    lengths = np.zeros(times.size, dtype=np.int64)
    lengths[rows] = [len(runs) for runs in all_runs]
    return Repeats(
        counts=_numbers(points.column("runs"), 1),
        spreads=np.where(np.isfinite(spreads), spreads, np.nan),
        offsets=np.append(0, np.cumsum(lengths)),
        names=Texts.from_strings(chain.from_iterable(all_runs)),
        values=np.fromiter(chain.from_iterable(run.values() for run in all_runs), np.float64),
        times=np.repeat(times, lengths),
    )


def _stored_runs(folder: str | Path, points: pa.Table, times: Ints) -> Repeats:
    """Return the runs of an exported store: all of commits with several, else the one named."""
    first = texts_of(pq.read_table(Path(folder) / "points.parquet", columns=["run"]).column("run"))
    path = Path(folder) / RUNS
    if not path.is_file():
        raise DataError(f"{path}: no such file; points.parquet needs it")
    try:
        runs = pq.read_table(path).cast(RUNS_SCHEMA)
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"{path}: not a readable Parquet file: {error}") from error
    rows = _rows_of(points, runs)
    counts = np.bincount(rows, minlength=times.size)
    alone = np.flatnonzero(first.known() & (counts == 0))
    owners = np.concatenate([rows, alone])
    order = np.argsort(owners, kind="stable")
    names = Texts.concatenate([texts_of(runs.column("run")), first.take(alone)])
    values = np.concatenate([runs.column("value"), points.column("value").to_numpy()[alone]])
    measured = np.concatenate([_numbers(runs.column("time"), UNKNOWN_TIME), times[alone]])
    listed = counts + (np.bincount(alone, minlength=times.size))
    return Repeats(
        counts=np.maximum(counts, 1),
        spreads=np.full(times.size, np.nan),
        offsets=np.append(0, np.cumsum(listed)),
        names=names.take(order),
        values=values[order],
        times=measured[order],
    )


def _rows_of(points: pa.Table, runs: pa.Table) -> npt.NDArray[np.int64]:
    """Return the row of the point of each run, by series and order.

    Raises:
        DataError: A run is of no point.
    """
    sizes = points.num_rows, runs.num_rows
    orders = [table.column("order").to_numpy() for table in (points, runs)]
    ranks = np.unique(np.concatenate(orders), return_inverse=True)[1]
    owners = np.concatenate([table.column("series").to_numpy() for table in (points, runs)])
    keys = owners.astype(np.int64) * sum(sizes) + ranks
    rows: npt.NDArray[np.int64] = np.searchsorted(keys[: sizes[0]], keys[sizes[0] :])
    matches = np.append(keys[: sizes[0]], -1)[rows] == keys[sizes[0] :]
    if not matches.all():
        row = int(np.argmin(matches))
        raise DataError(f"{RUNS}: row {row} is of order {orders[1][row]}, which has no point")
    return rows
