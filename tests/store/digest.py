"""What the store holds, as one number: equal contents give equal digests, on every database.

Numbers that depend on arrival (row ids, and when something was received) play no part.
"""

import hashlib
from collections.abc import Iterable

import sqlalchemy as sa

from barograph.server.store import Store
from barograph.server.store.measurement import DECISION
from barograph.server.store.schema import (
    candidates,
    models,
    points,
    revisions,
    series,
    steps,
    verdicts,
)

STEP = ("order", "kind", "change_order", "from_order", "probability")


def contents(store: Store) -> str:
    """Return the digest of a store, once all decisions are made."""
    store.finish()
    with store.read() as connection:
        return digest(connection)


def digest(connection: sa.Connection) -> str:
    """Return the SHA-256 over series, points, revisions, decisions, candidates and the rest."""
    total = hashlib.sha256()
    for name, query in _questions():
        total.update(f"{name}\n".encode())
        for row in connection.execute(query):
            total.update(_line(row))
    return total.hexdigest()


def _line(row: Iterable[object]) -> bytes:
    fields = (value.hex() if isinstance(value, bytes | float) else repr(value) for value in row)
    return ("\t".join(fields) + "\n").encode("utf-8", "surrogatepass")


def _questions() -> list[tuple[str, sa.Select[tuple[object, ...]]]]:
    identity = series.c.digest
    return [
        ("series", sa.select(identity, series.c.direction, series.c.unit).order_by(identity)),
        ("points", _placed(points, "commit", "time", "value", "settled")),
        ("revisions", _placed(revisions, "value", "time")),
        (
            "decisions",
            _placed(points, *DECISION)
            .add_columns(models.c.version, models.c.threshold)
            .join(models, models.c.id == points.c.model),
        ),
        (
            "steps",
            sa.select(identity, *(steps.c[name] for name in STEP))
            .join(series, series.c.id == steps.c.series)
            .order_by(identity, steps.c.order),
        ),
        (
            "candidates",
            sa.select(identity, *(candidates.c[name] for name in ("order", "commit", "verdict")))
            .join(series, series.c.id == candidates.c.series)
            .where(candidates.c.present)
            .order_by(identity, candidates.c.order),
        ),
        (
            "verdicts",
            sa.select(identity, *(verdicts.c[name] for name in ("verdict", "who", "time", "note")))
            .join(candidates, candidates.c.id == verdicts.c.candidate)
            .join(series, series.c.id == candidates.c.series)
            .order_by(identity, candidates.c.order, verdicts.c.time, verdicts.c.id),
        ),
    ]


def _placed(table: sa.FromClause, *names: str) -> sa.Select[tuple[object, ...]]:
    """All rows of a table that has one per series, order and run, in that order."""
    keys = [series.c.digest, table.c.order, table.c.run]
    columns = [table.c[name] for name in names]
    last = [table.c.value] if table is revisions else []
    return (
        sa.select(*keys, *columns)
        .select_from(table.join(series, series.c.id == table.c.series))
        .order_by(*keys, *last)
    )


def table(store: Store, which: sa.FromClause, *names: str) -> list[tuple[object, ...]]:
    keys = [which.c[name] for name in ("series", "order", "run", "value")]
    with store.read() as connection:
        query = sa.select(*(which.c[name] for name in names)).order_by(*keys)
        return [tuple(row) for row in connection.execute(query)]
