"""Whether results still come: what fell silent, came late, waits or was rejected."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from barograph.runtime.errors import StoreError
from barograph.server.store import Store, arrivals, rejections, stale
from barograph.server.store.arrivals import LateSeries, SeriesCounts, SilentSource, WaitingSuspect
from barograph.server.store.audit import now
from barograph.server.store.rejections import Rejection

LOG = logging.getLogger("barograph.server.web")
SHOWN = 100  # rows of each list
DAYS = 7  # that rejections are counted over
FLUSH = 5.0  # seconds that rejections wait in memory
KEPT = 1000  # different reasons in memory


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
    waiting, since = stale.lag(connection)
    return DataHealth(
        timestamp,
        arrivals.counts(connection, timestamp),
        tuple(arrivals.silent_pipelines(connection, timestamp, SHOWN)),
        tuple(arrivals.silent_series(connection, timestamp, SHOWN)),
        tuple(arrivals.late_series(connection, SHOWN)),
        tuple(arrivals.waiting_suspects(connection, SHOWN)),
        tuple(rejections.recent(connection, timestamp - (DAYS - 1) * rejections.DAY)),
        waiting,
        0 if since is None else max(0, timestamp - since),
    )


class RejectionCounter:
    """Counts rejected results in memory, and writes the counts a few seconds later."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._timer: threading.Timer | None = None

    def add(self, reasons: Mapping[str, int]) -> None:
        """Count rejected results by reason; return at once."""
        with self._lock:
            for reason, count in reasons.items():
                known = reason in self._counts or len(self._counts) < KEPT
                self._counts[reason if known else rejections.OTHER] += count
            if self._timer is None and self._counts:
                self._timer = threading.Timer(FLUSH, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write what was counted; after a failure of the store it is written later."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
        if not counts:
            return
        try:
            self._store.write(lambda connection: rejections.note(connection, counts))
        except StoreError as error:
            LOG.warning("rejected results could not be counted: %s", error)
            self.add(counts)
