"""All tables of the comparison: on injected changes, and on the verdicts of a data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from barograph.detection.base import Detector
from barograph.learning.limits import Count, Seed
from barograph.results.history import History
from barograph.results.series import UNKNOWN_TIME, Floats, Verdict
from barograph.runtime.errors import NotEnoughDataError
from barograph.studies.detector_benchmark.cases import Case, default_detectors
from barograph.studies.detector_benchmark.injection import (
    SCENARIOS,
    Segment,
    calm_segments,
    injected,
    reverted,
)
from barograph.studies.detector_benchmark.measures import (
    MARGIN,
    MARGINS,
    Detections,
    by_step_size,
    delays,
    f1,
    measured,
    recall,
    run_detectors,
    scores,
)
from barograph.studies.detector_benchmark.repeats import most_disputed, repeated_runs
from barograph.studies.detector_benchmark.verdict_hits import TriagedSeries, by_verdict

ALL = "all"


@dataclass(frozen=True)
class BenchmarkSize:
    """The size of the comparison.

    Attributes:
        segments: The largest number of calm segments that changes are injected into.
        length: The number of points of each segment.
        lengths: The numbers of points in the table of F1 by number of points.
        reverts: The numbers of points that the quickly reverted changes last.
        repeats: The number of series that are run repeatedly.
        runs: The number of runs on each of them.
        seed: Seed of the changes and of the bootstraps.
    """

    segments: Count = 40
    length: Count = 120
    lengths: tuple[Count, ...] = (30, 60, 120, 240)
    reverts: tuple[Count, ...] = (2, 3, 5, 10, 20)
    repeats: Count = 5
    runs: Count = 30
    seed: Seed = 0


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


def injection_tables(
    histories: Sequence[Segment], detectors: Mapping[str, Detector], size: BenchmarkSize
) -> dict[str, pd.DataFrame]:
    """Return the tables of injected changes by name."""
    segments = required_segments(histories, size.length, size.segments)
    cases = list(injected(segments, size.seed))
    detections = run_detectors(cases, detectors)
    single = [case for case in cases if case.scenario == SCENARIOS[0].name]
    disputed = most_disputed(cases, size.repeats, size.runs)
    summary, distribution = repeated_runs(disputed, size.runs)
    return {
        "scores": score_table(detections, cases, size.seed),
        "margins": by_margin(detections, cases, size.seed),
        "points": by_points(histories, detectors, size),
        "sizes": by_step_size(detections, cases, seed=size.seed),
        "delays": delays(single, detectors, seed=size.seed),
        "reverts": by_revert(segments, detectors, size),
        "repeats": summary,
        "distribution": distribution,
    }


def required_segments(histories: Sequence[Segment], length: int, limit: int) -> list[Segment]:
    """Return the calm segments of histories; raise an error if there is none."""
    segments = calm_segments(histories, length, limit)
    if not segments:
        raise NotEnoughDataError(
            f"none of {len(histories)} histories has a calm segment of {length} points "
            "to inject changes into"
        )
    return segments


def score_table(detections: Detections, cases: Sequence[Case], seed: int) -> pd.DataFrame:
    """Return every score by scenario, and over all scenarios."""
    split = measured(detections, cases, scores(), seed=seed)
    together = measured(detections, cases, scores(), [ALL] * len(cases), seed)
    return pd.concat([split, together], ignore_index=True)


def by_margin(detections: Detections, cases: Sequence[Case], seed: int) -> pd.DataFrame:
    """Return F1 by the margin of error (Fleming et al. 2023, Figure 4)."""
    frames = []
    for margin in MARGINS:
        measures = {"F1": partial(f1, margin=margin)}
        frames.append(measured(detections, cases, measures, [str(margin)] * len(cases), seed))
    return pd.concat(frames, ignore_index=True)


def by_points(
    histories: Sequence[Segment], detectors: Mapping[str, Detector], size: BenchmarkSize
) -> pd.DataFrame:
    """Return F1 by the number of points of the series (Fleming et al. 2023, Figure 3)."""
    frames = []
    for length in size.lengths:
        cases = list(injected(calm_segments(histories, length, size.segments), size.seed))
        detections = run_detectors(cases, detectors)
        measures = {"F1": partial(f1, margin=MARGIN)}
        labels = [str(length)] * len(cases)
        frames.append(measured(detections, cases, measures, labels, size.seed))
    return pd.concat(frames, ignore_index=True)


def by_revert(
    segments: Sequence[Segment], detectors: Mapping[str, Detector], size: BenchmarkSize
) -> pd.DataFrame:
    """Return the share of the edges of reverted changes that are found, at most 1 point away.

    With a margin as wide as the excursion, one edge would count for the other.
    """
    cases = list(reverted(segments, size.reverts, size.seed))
    measures = {"recall": partial(recall, margin=1)}
    return measured(run_detectors(cases, detectors), cases, measures, seed=size.seed)


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
