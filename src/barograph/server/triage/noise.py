"""The noise of stored series, measured once for each newest result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from barograph.detection.online import Judge
from barograph.detection.online.noise import Noise, measure_noise
from barograph.server.store import reading
from barograph.server.triage.search import newest_results


class KnownNoise:
    """The noise of series, kept until a result arrives or the models change.

    It takes about 10 ms to measure a series. A correction of an older result counts once a new one
    arrives.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Noise | None]] = {}

    def of(
        self, connection: sa.Connection, judge: Judge, numbers: Sequence[int]
    ) -> dict[int, Noise | None]:
        """Return the noise of series by their numbers; None if it cannot be measured."""
        newest = newest_results(connection, numbers).items()
        known = {n: (judge.version, judge.threshold, *result) for n, result in newest}
        missing = [n for n, key in known.items() if self._known.get(n, ("", None))[0] != key]
        series = reading.read_series(connection, missing)
        runs = [*reading.read_runs(connection, series).values()]
        found = measure_noise(judge, [entry.values for entry in series.values()], runs)
        for number, noise in zip(series, found, strict=True):
            self._known[number] = known[number], noise
        return {number: self._known[number][1] for number in known}
