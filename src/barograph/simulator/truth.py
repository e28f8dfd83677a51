"""Tables of what happened in simulated series and what people marked; not used for training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from barograph.runtime.files import whole
from barograph.simulator.people import Crowd
from barograph.simulator.triage import TriagedCandidate
from barograph.simulator.world import SimulatedSeries

# `series` is the 0-based number of the series' document in the dump, `index` that of a point.
TRUTH_SCHEMA = pa.schema(
    [
        ("series", pa.int32()),
        ("index", pa.int32()),
        ("order", pa.int64()),
        ("kind", pa.string()),  # step, regressed, reverted, slow
        ("shift", pa.float64()),  # of the logarithm of the level
        ("chance", pa.float64()),  # the mean probability that a person marks it
    ]
)
MARKS_SCHEMA = pa.schema(
    [("series", pa.int32()), ("person", pa.int32()), ("index", pa.int32()), ("order", pa.int64())]
)
VOTES_SCHEMA = pa.schema(
    [
        ("series", pa.int32()),
        ("index", pa.int32()),
        ("order", pa.int64()),
        ("votes", pa.int32()),
        ("people", pa.int32()),
        ("verdict", pa.string()),
        ("mistaken", pa.bool_()),
    ]
)
SCHEMAS = {"truth": TRUTH_SCHEMA, "marks": MARKS_SCHEMA, "votes": VOTES_SCHEMA}
GROUP = 50_000
Row = tuple[object, ...]
RowsByTable = Mapping[str, list[Row]]


def rows_of(
    number: int, series: SimulatedSeries, crowd: Crowd, candidates: Sequence[TriagedCandidate]
) -> RowsByTable:
    """Return the rows of one series by table; `number` is its number in the dump."""
    orders = series.orders.tolist()
    return {
        "truth": [
            (number, event.index, orders[event.index], event.kind, event.shift, chance)
            for event, chance in zip(series.events, crowd.chances.tolist(), strict=True)
        ],
        "marks": [
            (number, person, index, orders[index])
            for person, marks in enumerate(crowd.marks)
            for index in marks.tolist()
        ],
        "votes": [
            (
                number,
                triaged.index,
                orders[triaged.index],
                triaged.votes,
                len(crowd.marks),
                triaged.verdict.value,
                triaged.mistaken,
            )
            for triaged in candidates
        ],
    }


@contextmanager
def truth_writer(folder: Path) -> Iterator[Callable[[RowsByTable], None]]:
    """Yield a function that adds rows to truth.parquet, marks.parquet and votes.parquet."""
    waiting: dict[str, list[Row]] = {name: [] for name in SCHEMAS}

    def add(rows: RowsByTable, least: int = GROUP) -> None:
        for name, added in rows.items():
            waiting[name].extend(added)
            if len(waiting[name]) >= least:
                writers[name].write_table(_table(waiting[name], SCHEMAS[name]))
                waiting[name] = []

    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(
                pq.ParquetWriter(stack.enter_context(whole(folder / f"{name}.parquet")), schema)
            )
            for name, schema in SCHEMAS.items()
        }
        yield add
        add({name: [] for name in SCHEMAS}, least=0)


def _table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
