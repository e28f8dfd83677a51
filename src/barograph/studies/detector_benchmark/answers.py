"""What every detector, and one person against the rest, says of every case."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.detection.base import Detector
from barograph.evaluation.metrics import Interval
from barograph.studies.detector_benchmark.cases import Case, Points
from barograph.studies.detector_benchmark.detectors import ONE_PERSON
from barograph.studies.detector_benchmark.intervals import ratio_interval


class Answer(NamedTuple):
    """What was found, and what there was to find."""

    found: Points
    truth: Points


# One answer of a detector to each case; of people, one a person.
Answers = Mapping[str, Sequence[Sequence[Answer]]]
Measure = Callable[[Answer, Case], tuple[float, float]]  # a numerator and a denominator


def answers(cases: Sequence[Case], detectors: Mapping[str, Detector]) -> Answers:
    """Ask every detector about every case; the people have answered already."""
    asked: dict[str, list[list[Answer]]] = {
        name: [[Answer(case.found_by(detector), case.truth)] for case in cases]
        for name, detector in detectors.items()
    }
    asked[ONE_PERSON] = [[Answer(o.marks, o.rest) for o in case.people] for case in cases]
    return asked


def measured(
    asked: Answers,
    cases: Sequence[Case],
    measures: Mapping[str, Measure],
    by: Sequence[str] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return every measure of every detector with its interval, one row each.

    Args:
        asked: the answers.
        cases: what they were about.
        measures: by their names.
        by: what the table splits the cases by, one word each; their scenarios by default.
        seed: of the bootstrap over series.
    """
    words = [case.scenario for case in cases] if by is None else list(by)
    series = np.unique([case.series for case in cases], return_inverse=True)[1]
    rows = []
    for word in dict.fromkeys(words):
        chosen = [k for k, own in enumerate(words) if own == word]
        for name, given in asked.items():
            for measure, function in measures.items():
                pairs = _pairs(given, cases, chosen, function)
                value = ratio_interval(pairs, series[chosen], seed)
                rows.append((word, name, measure, len(np.unique(series[chosen])), *value))
    columns = ["cases", "detector", "measure", "series", *Interval._fields]
    return pd.DataFrame(rows, columns=columns)


def _pairs(
    given: Sequence[Sequence[Answer]],
    cases: Sequence[Case],
    chosen: Sequence[int],
    measure: Measure,
) -> npt.NDArray[np.float64]:
    """Numerator and denominator of each case, averaged over the answers to it; NaN if none."""
    rows = [
        np.mean([measure(answer, cases[k]) for answer in given[k]], axis=0)
        if given[k]
        else (np.nan, np.nan)
        for k in chosen
    ]
    return np.array(rows, dtype=np.float64)
