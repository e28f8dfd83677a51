"""All tables of the ground that injected changes give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd

from barograph.detection.base import Detector
from barograph.errors import NotEnoughDataError
from barograph.studies.detector_benchmark.answers import Answers, answers, measured
from barograph.studies.detector_benchmark.calm_segments import Carrier, carriers
from barograph.studies.detector_benchmark.cases import Case
from barograph.studies.detector_benchmark.delay import delays
from barograph.studies.detector_benchmark.injection import SCENARIOS, injected, reverted
from barograph.studies.detector_benchmark.measures import MARGIN, MARGINS, f1, recall, scores
from barograph.studies.detector_benchmark.people import by_people
from barograph.studies.detector_benchmark.repeats import repeated
from barograph.studies.detector_benchmark.sizes import by_size

ALL = "all"


@dataclass(frozen=True)
class Size:
    """How large the ground is.

    Attributes:
        carriers: calm stretches that changes are put into, at most.
        length: points of each.
        lengths: points of the stretches for F1 by number of points.
        reverts: how many points the quickly reverted changes last.
        repeats: series that are run again and again.
        runs: how often.
        seed: of the changes and the bootstraps.
    """

    carriers: int = 40
    length: int = 120
    lengths: tuple[int, ...] = (30, 60, 120, 240)
    reverts: tuple[int, ...] = (2, 3, 5, 10, 20)
    repeats: int = 5
    runs: int = 30
    seed: int = 0


def injection_tables(
    histories: Sequence[Carrier], detectors: Mapping[str, Detector], size: Size
) -> dict[str, pd.DataFrame]:
    """Return every table by name: scores, margins, points, sizes, delays, reverts, and repeats."""
    calm = calm_carriers(histories, size.length, size.carriers)
    cases = list(injected(calm, size.seed))
    asked = answers(cases, detectors)
    single = [case for case in cases if case.scenario == SCENARIOS[0].name]
    table_1, table_2 = repeated(_first(cases, size.repeats), size.runs)
    return {
        "scores": scored(asked, cases, size.seed),
        "margins": by_margin(asked, cases, size.seed),
        "points": by_points(histories, detectors, size),
        "sizes": by_size(asked, cases, seed=size.seed),
        "delays": delays(single, detectors, seed=size.seed),
        "reverts": by_revert(calm, detectors, size),
        "repeats": table_1,
        "distribution": table_2,
    }


def marked_tables(
    cases: Sequence[Case], detectors: Mapping[str, Detector], seed: int
) -> dict[str, pd.DataFrame]:
    """Return the tables of series that people marked.

    "people" holds detectors against all marks; in the others the truth is the majority's, and
    delays are those of the first change of each series.
    """
    asked = answers(cases, detectors)
    changing = [case for case in cases if case.truth]
    return {
        "people": by_people(cases, detectors, seed),
        "scores": scored(asked, cases, seed),
        "margins": by_margin(asked, cases, seed),
        "sizes": by_size(asked, cases, seed=seed),
        "delays": delays(changing, detectors, seed=seed),
    }


def calm_carriers(histories: Sequence[Carrier], length: int, most: int) -> list[Carrier]:
    """Return the carriers, of which there must be one at least."""
    calm = carriers(histories, length, most)
    if not calm:
        raise NotEnoughDataError(
            f"none of {len(histories)} histories has a calm stretch of {length} points "
            "to inject changes into"
        )
    return calm


def scored(asked: Answers, cases: Sequence[Case], seed: int) -> pd.DataFrame:
    """Return every score by scenario, and over all of them."""
    split = measured(asked, cases, scores(), seed=seed)
    together = measured(asked, cases, scores(), [ALL] * len(cases), seed)
    return pd.concat([split, together], ignore_index=True)


def by_margin(asked: Answers, cases: Sequence[Case], seed: int) -> pd.DataFrame:
    """Return F1 by the margin of error (Fleming et al. 2023, Figure 4)."""
    frames = []
    for margin in MARGINS:
        measures = {"F1": partial(f1, margin=margin)}
        frames.append(measured(asked, cases, measures, [str(margin)] * len(cases), seed))
    return pd.concat(frames, ignore_index=True)


def by_points(
    histories: Sequence[Carrier], detectors: Mapping[str, Detector], size: Size
) -> pd.DataFrame:
    """Return F1 by the number of points of the series (Fleming et al. 2023, Figure 3)."""
    frames = []
    for length in size.lengths:
        calm = carriers(histories, length, size.carriers)
        cases = list(injected(calm, size.seed))
        asked = answers(cases, detectors)
        measures = {"F1": partial(f1, margin=MARGIN)}
        frames.append(measured(asked, cases, measures, [str(length)] * len(cases), size.seed))
    return pd.concat(frames, ignore_index=True)


def by_revert(
    calm: Sequence[Carrier], detectors: Mapping[str, Detector], size: Size
) -> pd.DataFrame:
    """Return which share of both edges of a reverted change is found, at most 1 point away.

    A margin as wide as the excursion would count one edge for the other.
    """
    cases = list(reverted(calm, size.reverts, size.seed))
    measures = {"recall": partial(recall, margin=1)}
    return measured(answers(cases, detectors), cases, measures, seed=size.seed)


def _first(cases: Sequence[Case], number: int) -> list[Case]:
    """The cases with the most changes of as many different series as are asked for."""
    last = SCENARIOS[-1].name
    return [case for case in cases if case.scenario == last][:number]
