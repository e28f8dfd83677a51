"""Whether results still come: what fell silent, came late, waits or was rejected."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from barograph.runtime.errors import StoreError
from barograph.server.store import Store, arrivals, candidate_records
from barograph.server.store.arrivals import (
    LateSeries,
    Rejection,
    SeriesCounts,
    SilentSource,
    WaitingSuspect,
)
from barograph.server.store.audit import now

LOG = logging.getLogger("barograph.server.web")
SHOWN = 100  # rows of each list
DAYS = 7  # that rejections are counted over


@dataclass(frozen=True)
class DataHealth:
    """The health of the data at one moment.

    Attributes:
        now: The moment, in milliseconds since 1970.
        counts: How many series there are, and what is wrong with how many.
        pipelines: Pipelines that fell silent as a whole.
        series: Silent series of pipelines that still send others.
        late: Series with results that came after those of later commits.
        suspects: Newest results that wait for a rerun.
        rejected: Reasons of rejected results of the last days.
        waiting: Number of series whose change points are out of date.
        lag: Milliseconds since the oldest of them changed.
    """

    now: int
    counts: SeriesCounts
    pipelines: tuple[SilentSource, ...]
    series: tuple[SilentSource, ...]
    late: tuple[LateSeries, ...]
    suspects: tuple[WaitingSuspect, ...]
    rejected: tuple[Rejection, ...]
    waiting: int
    lag: int


def data_health(connection: sa.Connection) -> DataHealth:
    """Return the health of the data.

    Args:
        connection: From `Store.read`.
    """
    timestamp = now()
    waiting, since = candidate_records.stale_lag(connection)
    return DataHealth(
        timestamp,
        arrivals.counts(connection, timestamp),
        tuple(arrivals.silent_pipelines(connection, timestamp, SHOWN)),
        tuple(arrivals.silent_series(connection, timestamp, SHOWN)),
        tuple(arrivals.late_series(connection, SHOWN)),
        tuple(arrivals.waiting_suspects(connection, SHOWN)),
        tuple(arrivals.recent_rejections(connection, timestamp - (DAYS - 1) * arrivals.DAY)),
        waiting,
        0 if since is None else max(0, timestamp - since),
    )


def note_rejections(store: Store, reasons: Mapping[str, int]) -> None:
    """Count rejected results by reason; a failure of the store is logged."""
    try:
        store.write(lambda connection: arrivals.note_rejections(connection, reasons))
    except StoreError as error:
        LOG.warning("rejected results could not be counted: %s", error)
