"""Look again at the series whose points changed; no writer waits for a detector.

The series are read, looked at outside any transaction, and written only where their points are
still the same; one that changed meanwhile is looked at in the next round.
"""

import sqlalchemy as sa

from barograph.store.clock import now
from barograph.store.schema import series
from barograph.store.stale import claim, longest, touch
from barograph.store.store import Store
from barograph.triage.candidates import Course, Look, Plan, Refreshed, courses, stored, write

CHUNK = 200  # series in one transaction: short enough that an ingest hardly waits


def refresh(store: Store, look: Look, limit: int | None = None) -> Refreshed:
    """Bring the candidates of touched series up to date, `limit` series at most."""
    total = Refreshed()
    while limit is None or total.series < limit:
        room = CHUNK if limit is None else min(CHUNK, limit - total.series)
        done, seen = _chunk(store, look, room)
        total += done
        if not seen or not done.series:
            break
    return total


def recompute(store: Store, look: Look) -> Refreshed:
    """Bring the candidates of all series up to date."""
    store.write(lambda connection: touch(connection, connection.scalars(sa.select(series.c.id))))
    return refresh(store, look)


def _chunk(store: Store, look: Look, room: int) -> tuple[Refreshed, int]:
    """Refresh some series; return what was done, and how many were waiting for it."""
    at = now()
    with store.read() as connection:
        versions = longest(connection, room)
        read: list[Course] = courses(connection, list(versions))
        known = stored(connection, list(versions))
    plans, probabilities = look(read, known, at)

    def work(connection: sa.Connection) -> Refreshed:
        kept: list[Plan] = []
        scores: list[float | None] = []
        told = iter(probabilities)
        same = claim(connection, versions)
        for one in plans:
            mine = [next(told) for _ in one.fresh]
            if one.course.series in same:
                kept.append(one)
                scores += mine
        model = look.model
        number = None if model is None else store.model(connection, look.version, model.threshold)
        return write(connection, kept, scores, look, number, at)

    return (store.write(work) if plans else Refreshed()), len(versions)
