"""Agreement of detectors with all people at once, as in the Turing Change Point Dataset."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.detection.base import Detector
from barograph.evaluation.annotators import MARGIN, Marks, covering, f1, person_agreement
from barograph.evaluation.metrics import Interval
from barograph.series import Floats
from barograph.studies.detector_benchmark.cases import ONE_PERSON, Case, Points
from barograph.studies.detector_benchmark.measures import ratio_interval

Agreement = Callable[[Sequence[int], Marks], float]

# By the name of the measure: the agreement of change points with marks on a series of a length.
MEASURES: Mapping[str, Callable[[int], Agreement]] = {
    "TCPD F1": lambda _: partial(f1, margin=MARGIN),
    "covering": lambda length: partial(covering, length=length),
}


def annotator_agreement(
    cases: Sequence[Case], detectors: Mapping[str, Detector], seed: int = 0
) -> pd.DataFrame:
    """Return F1 and covering of each detector; a person is compared with the other people."""
    series = np.unique([case.series for case in cases], return_inverse=True)[1]
    points_by_detector = {
        name: [case.found_by(detector) for case in cases] for name, detector in detectors.items()
    }
    rows = []
    for measure, of_length in MEASURES.items():
        values = {
            name: np.array(
                [of_length(c.size)(p, _marks(c)) for p, c in zip(points, cases, strict=True)]
            )
            for name, points in points_by_detector.items()
        }
        values[ONE_PERSON] = np.array(
            [person_agreement(_marks(case), of_length(case.size)) for case in cases]
        )
        rows += [(n, measure, *_interval(value, series, seed)) for n, value in values.items()]
    frame = pd.DataFrame(rows, columns=["detector", "measure", *Interval._fields])
    frame.insert(0, "cases", "all")
    return frame


def _marks(case: Case) -> list[Points]:
    return [opinion.marks for opinion in case.people]


def _interval(values: Floats, series: npt.ArrayLike, seed: int) -> Interval:
    return ratio_interval(np.stack([values, np.ones(values.size)], axis=1), series, seed)
