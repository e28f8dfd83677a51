"""Many series at once: the same as one by one, whatever the detector and the threads."""

import numpy as np
import pytest
from random_series import random_series

from barograph.detection import EDivisive, Gesd, Hunter, detect_many
from barograph.detection.base import Detector
from barograph.runtime.errors import ConfigError, DataError

SERIES = random_series(40, seed=8)
VALUES = np.concatenate(SERIES)
OFFSETS = np.cumsum([0, *(values.size for values in SERIES)])
DETECTORS: list[Detector] = [
    Hunter(pvalue=0.01),
    EDivisive(permutations=19),
    Gesd(),
]


@pytest.mark.parametrize("detector", DETECTORS, ids=repr)
@pytest.mark.parametrize("workers", [1, 3])
def test_each_series_has_the_change_points_it_has_alone(
    detector: Detector, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Short pieces, so that several threads have work.
    monkeypatch.setattr("barograph.detection.batch.PIECE", 1000)
    together = detect_many(detector, VALUES, OFFSETS, workers=workers)
    assert together == [detector.detect(values) for values in SERIES]


def test_a_series_that_is_not_finite_is_named() -> None:
    values = np.array([1.0, 1.0, 1.0, 9.0, np.inf, 1.0, 1.0])
    with pytest.raises(DataError, match=r"series 1: values\[1\] is inf"):
        detect_many(Hunter(), values, [0, 3, 7])


@pytest.mark.parametrize("offsets", [[], [1, 4], [0, 3], [0, 3, 2, 4], [[0, 4]]])
def test_offsets_must_fit_the_values(offsets: list[int]) -> None:
    with pytest.raises(DataError, match="offset"):
        detect_many(Hunter(), [1.0, 2.0, 3.0, 4.0], offsets)


def test_what_is_no_list_of_numbers_or_no_count_of_threads_is_refused() -> None:
    with pytest.raises(DataError, match="it must be a number"):
        detect_many(Hunter(), ["x"], [0, 1])
    with pytest.raises(ConfigError, match="workers is 0: it must be at least 1"):
        detect_many(Hunter(), [1.0], [0, 1], workers=0)


def test_no_series_have_no_change_points() -> None:
    assert detect_many(Hunter(), [], [0]) == []
