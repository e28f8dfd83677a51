"""Detectors against all people at once, by the measures of the Turing Change Point Dataset."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.detection.base import Detector
from barograph.evaluation.annotators import MARGIN, covering, f1
from barograph.evaluation.metrics import Interval
from barograph.series import Floats
from barograph.studies.detector_benchmark.cases import Case, Points
from barograph.studies.detector_benchmark.detectors import ONE_PERSON
from barograph.studies.detector_benchmark.intervals import ratio_interval

Agreement = Callable[[Points, list[Points], int], float]  # of points, with people, over a length

MEASURES: Mapping[str, Agreement] = {
    "TCPD F1": lambda found, marks, _: f1(found, marks, MARGIN),
    "covering": covering,
}


def by_people(
    cases: Sequence[Case], detectors: Mapping[str, Detector], seed: int = 0
) -> pd.DataFrame:
    """Return TCPD's F1 and covering; one person is judged by the marks of the others."""
    series = np.unique([case.series for case in cases], return_inverse=True)[1]
    answers = {
        name: [case.found_by(detector) for case in cases] for name, detector in detectors.items()
    }
    rows = []
    for measure, agreement in MEASURES.items():
        values = {
            name: np.array(
                [agreement(a, _marks(c), c.size) for a, c in zip(given, cases, strict=True)]
            )
            for name, given in answers.items()
        }
        values[ONE_PERSON] = np.array([_person(case, agreement) for case in cases])
        rows += [(n, measure, *_interval(value, series, seed)) for n, value in values.items()]
    frame = pd.DataFrame(rows, columns=["detector", "measure", *Interval._fields])
    frame.insert(0, "cases", "all")
    return frame


def _marks(case: Case) -> list[Points]:
    return [opinion.marks for opinion in case.people]


def _person(case: Case, agreement: Agreement) -> float:
    marks = _marks(case)
    alone = [agreement(own, marks[:k] + marks[k + 1 :], case.size) for k, own in enumerate(marks)]
    return float(np.mean(alone))


def _interval(values: Floats, series: npt.ArrayLike, seed: int) -> Interval:
    return ratio_interval(np.stack([values, np.ones(values.size)], axis=1), series, seed)
