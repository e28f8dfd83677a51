"""Change points that few results follow: reported as new, by the online pair."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from barograph.detection import EDivisive, Hunter, Triaged, detect_many
from barograph.detection.scoring import least_reported
from barograph.models import TriageModel
from barograph.results.series import ChangePoint, Floats

DRAWS = 40
LEVEL = 150  # results before the change
MODEL = TriageModel.default("label_free")
# The reporting rule of the label-free model, without the pair.
FINISHED = Triaged(min_probability=least_reported(MODEL))


def drawn(after: int, *, size: int = LEVEL, seed: int = 0) -> Floats:
    """Return rows of 1 % noise, with some results after the usual ones."""
    noise = np.random.default_rng(seed).standard_normal((DRAWS, size + after))
    return np.asarray(100.0 + noise)


def found(rows: Floats, detector: Triaged | None = None) -> list[list[ChangePoint]]:
    offsets = np.arange(len(rows) + 1) * rows.shape[1]
    return detect_many(detector or Triaged(), rows.ravel(), offsets)


@pytest.mark.parametrize("factor", [1.1, 0.9, 1.4, 0.6, 2.0])
@pytest.mark.parametrize("results", [2, 3, 4, 5])
def test_step_is_new_from_its_second_result_on(factor: float, results: int) -> None:
    rows = drawn(results)
    rows[:, LEVEL:] *= factor
    right = [
        [(point.index, point.is_new) for point in points] == [(LEVEL, True)]
        for points in found(rows)
    ]
    # Two results of a smaller step may be spikes.
    assert sum(right) >= (0.9 if results > 2 or abs(factor - 1.0) > 0.2 else 0.8) * DRAWS


def test_pair_finds_what_the_label_free_model_doubts() -> None:
    rows = drawn(3)
    rows[:, LEVEL:] *= 1.1
    assert sum(map(bool, found(rows, FINISHED))) <= 0.1 * DRAWS
    known = [point.probability for points in found(rows) for point in points]
    assert len(known) >= 0.9 * DRAWS
    assert float(np.median(np.array(known))) > 0.9


@pytest.mark.parametrize("factor", [1.1, 1.4, 2.0, 0.6])
@pytest.mark.parametrize("results", [1, 2, 3, 4, 5])
def test_spike_that_returned_is_no_change(factor: float, results: int) -> None:
    rows = drawn(results + 1)
    rows[:, LEVEL] *= factor
    assert not any(found(rows))


@pytest.mark.parametrize("lasting", [3, 5, 8])
@pytest.mark.parametrize("results", [2, 3, 5])
def test_pulse_near_the_end_keeps_its_ends(lasting: int, results: int) -> None:
    rows = drawn(lasting + results)
    rows[:, LEVEL : LEVEL + lasting] *= 1.4
    ends = {LEVEL, LEVEL + lasting}
    places = [{point.index for point in points} for points in found(rows)]
    assert all(part <= ends for part in places)
    before = [{point.index for point in points} for points in found(rows, FINISHED)]
    assert sum(map(len, places)) >= sum(map(len, before))


def test_change_is_not_new_once_more_than_ten_results_follow() -> None:
    rows = drawn(12)
    rows[:, LEVEL:] *= 1.1
    assert all([point.is_new for point in points] == [False] for points in found(rows))
    assert all([point.is_new for point in points] == [True] for points in found(rows[:, :-1]))


def noise(kind: str, shape: tuple[int, int]) -> Floats:
    rng = np.random.default_rng(4)
    if kind == "heavy":
        return rng.standard_t(3, shape)
    values = rng.standard_normal(shape)
    if kind == "autocorrelated":
        for before, now in pairwise(range(shape[1])):
            values[:, now] += 0.5 * values[:, before]
    return values


@pytest.mark.parametrize("kind", ["gauss", "heavy", "autocorrelated"])
def test_quiet_series_get_no_more_change_points(kind: str) -> None:
    rows = 100.0 + noise(kind, (300, 200))
    assert sum(map(len, found(rows))) <= sum(map(len, found(rows, FINISHED)))


def test_earlier_change_points_are_those_of_the_label_free_model() -> None:
    rows = drawn(3, size=200)
    rows[:, 90:] *= 1.06
    rows[:, 200:] *= 0.8
    for points, others in zip(found(rows), found(rows, FINISHED), strict=True):
        early = [(p.index, p.probability, p.is_new) for p in points if p.index < 190]
        assert early == [(p.index, p.probability, False) for p in others if p.index < 190]
        assert early


def test_series_are_judged_alone_and_together_alike() -> None:
    rows = drawn(4)
    rows[::2, LEVEL:] *= 1.05
    assert found(rows) == [Triaged().detect(row) for row in rows]


def test_long_series_are_judged_by_the_kept_results_at_the_end() -> None:
    rows = drawn(3, size=1400)
    rows[:, :600] *= 3.0
    rows[:, 1400:] *= 1.1
    for points in found(rows[:8]):
        assert [(point.index, point.is_new) for point in points] == [(600, False), (1400, True)]


def test_only_the_default_rule_has_the_pair() -> None:
    row = drawn(3)[0]
    row[LEVEL:] *= 1.1
    other = replace(MODEL, threshold=0.3)
    assert Triaged(model=MODEL).detect(row) == Triaged().detect(row) != []
    assert not Triaged(model=other).detect(row)
    assert not Triaged(min_probability=0.3).detect(row)
    for detector in (EDivisive(), Hunter(pvalue=1e-4)):
        assert not any(point.is_new for point in detector.detect(row))


def test_first_results_are_no_new_change() -> None:
    rows = np.random.default_rng(8).normal(100.0, 1.0, (DRAWS, 7))
    rows[:, 3:] *= 2.0
    assert all(point.index == 3 for points in found(rows) for point in points)
