"""The detector comparison on a data set: its series to inject changes into, and its verdicts."""

import numpy as np
import pandas as pd

from barograph.history import History
from barograph.series import UNKNOWN_TIME, Floats, Verdict
from barograph.studies.detector_benchmark.cases import default_detectors
from barograph.studies.detector_benchmark.injection import Segment
from barograph.studies.detector_benchmark.tables import BenchmarkSize, injection_tables
from barograph.studies.detector_benchmark.verdict_hits import TriagedSeries, by_verdict


def history_tables(history: History, size: BenchmarkSize, triaged: int) -> dict[str, pd.DataFrame]:
    """Return every table of the comparison for one data set.

    Args:
        history: The data set.
        size: The size of the comparison.
        triaged: The largest number of triaged series whose verdicts are used.
    """
    detectors = default_detectors()
    tables = injection_tables(segments(history, size.seed), detectors, size)
    verdicts = by_verdict(triaged_series(history, triaged, size.seed), detectors, seed=size.seed)
    return {**tables, "verdicts": verdicts}


def segments(history: History, seed: int) -> list[Segment]:
    """Return all series, in an order that depends on the seed."""
    order = np.random.default_rng(seed).permutation(len(history))
    return [Segment(str(k), history.values_of(k), _times(history, k)) for k in order.tolist()]


def triaged_series(history: History, limit: int, seed: int) -> list[TriagedSeries]:
    """Return at most `limit` series with a decided candidate, with all their verdicts."""
    verdicts: dict[int, dict[int, Verdict]] = {}
    table = history.candidates
    columns = table.series, table.index, table.verdict
    for series, index, verdict in zip(*(column.tolist() for column in columns), strict=True):
        verdicts.setdefault(series, {})[index] = Verdict(verdict)
    decided = [k for k, by_index in verdicts.items() if any(v.is_final for v in by_index.values())]
    order = np.random.default_rng(seed).permutation(sorted(decided))[:limit]
    return [TriagedSeries(str(k), history.values_of(k), verdicts[k]) for k in order.tolist()]


def _times(history: History, number: int) -> Floats | None:
    times = history.times[history.offsets[number] : history.offsets[number + 1]]
    return None if (times == UNKNOWN_TIME).any() else times / 1000.0
