"""The state of the board in a few numbers, and how fast a person decides."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import sqlalchemy as sa

from barograph.server.store import arrivals as arriving
from barograph.server.store.audit import now
from barograph.server.store.schema import arrivals, verdict_batches
from barograph.server.triage.queue import open_groups

BATCHES = 60  # latest verdicts of a person that the pace is from
SINCE = 30 * 86_400_000  # milliseconds; older ones do not count
BREAK = 5 * 60_000  # a longer time between two verdicts is a break
LEAST = 10  # times between verdicts, below which there is no pace


@dataclass(frozen=True)
class BoardOverview:
    """What every page of the board shows.

    Attributes:
        groups: The number of groups in the queue.
        change_points: The number of change points in them.
        silent: The number of series that fell silent.
        suspects: The number of series whose newest result waits for a rerun.
        last_result: When the newest result was measured, in milliseconds; None without any.
        seconds_left: How long the queue takes at the pace of the person; None if that is unknown.
    """

    groups: int
    change_points: int
    silent: int
    suspects: int
    last_result: int | None
    seconds_left: float | None


def overview(connection: sa.Connection, who: str) -> BoardOverview:
    """Return the state of the board for a person.

    Args:
        connection: From `Store.read`.
        who: The name of the person.
    """
    timestamp = now()
    page, counts = open_groups(connection, limit=0), arriving.counts(connection, timestamp)
    last = connection.scalar(sa.select(sa.func.max(arrivals.c.last)))
    left = seconds_left(connection, who, page.total, timestamp)
    return BoardOverview(page.total, page.members, counts.silent, counts.suspects, last, left)


def seconds_left(
    connection: sa.Connection, who: str, groups: int, timestamp: int | None = None
) -> float | None:
    """Return how long groups take at the pace of a person's latest verdicts; None if unknown."""
    v, timestamp = verdict_batches.c, now() if timestamp is None else timestamp
    latest = sa.select(v.time).where(v.who == who, v.time >= timestamp - SINCE)
    times = list(connection.scalars(latest.order_by(v.id.desc()).limit(BATCHES)))
    gaps = [later - earlier for later, earlier in pairwise(times) if later - earlier <= BREAK]
    return groups * fmean(gaps) / 1000 if len(gaps) >= LEAST else None
