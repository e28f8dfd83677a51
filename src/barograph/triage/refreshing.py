"""Look again at the series whose points changed; no writer waits for a detector.

The series are read, looked at outside any transaction, and written only where their points are
still the same; one that changed meanwhile is looked at in the next round.
"""

import time

import sqlalchemy as sa

from barograph.triage.candidates import Course, Look, Plan, Refreshed, courses, stored, write
from barograph.triage.clock import now
from barograph.triage.insertion import Insertion
from barograph.triage.schema import series, touched
from barograph.triage.store import Store

CHUNK = 200  # series in one transaction: short enough that an ingest hardly waits
TOUCH = Insertion(touched, ("series", "version"), replace=("version",))


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

    def touch(connection: sa.Connection) -> None:
        version = time.time_ns()
        numbers = connection.scalars(sa.select(series.c.id)).all()
        TOUCH.into(connection, [(number, version) for number in numbers])

    store.write(touch)
    return refresh(store, look)


def waiting(connection: sa.Connection) -> int:
    """How many series wait for a look."""
    return connection.execute(sa.select(sa.func.count()).select_from(touched)).scalar_one()


def waiting_projects(connection: sa.Connection) -> set[str]:
    """The projects that have series waiting for a look."""
    some = series.c.id.in_(sa.select(touched.c.series))
    return set(connection.scalars(sa.select(series.c.project).where(some).distinct()))


def _chunk(store: Store, look: Look, room: int) -> tuple[Refreshed, int]:
    """Refresh some series; return what was done, and how many were waiting for it."""
    at = now()
    with store.read() as connection:
        versions = _versions(connection, room)
        read: list[Course] = courses(connection, list(versions))
        known = stored(connection, list(versions))
    plans, probabilities = look(read, known, at)

    def work(connection: sa.Connection) -> Refreshed:
        kept: list[Plan] = []
        scores: list[float | None] = []
        told = iter(probabilities)
        for one in plans:
            mine = [next(told) for _ in one.fresh]
            if _claimed(connection, one.course.series, versions[one.course.series]):
                kept.append(one)
                scores += mine
        model = look.model
        number = None if model is None else store.model(connection, look.version, model.threshold)
        return write(connection, kept, scores, look, number, at)

    return (store.write(work) if plans else Refreshed()), len(versions)


def _versions(connection: sa.Connection, room: int) -> dict[int, int]:
    """The series that wait longest, each with the version of its points."""
    t = touched.c
    query = sa.select(t.series, t.version).order_by(t.version, t.series).limit(room)
    return dict(connection.execute(query).all())


def _claimed(connection: sa.Connection, number: int, version: int) -> bool:
    """Whether the points of a series are still those that were read; it waits no longer then."""
    t = touched.c
    same = sa.and_(t.series == number, t.version == version)
    return bool(connection.execute(sa.delete(touched).where(same)).rowcount)
