"""The smallest change that the detector finds in a series, and the runs that halve it."""

from functools import cache

import numpy as np
import pytest

from barograph.detection.online import Answer, OnlineJudge, PendingSeries, make_judge
from barograph.detection.online.decision import ANSWERS
from barograph.detection.online.noise import FOLLOWING, Noise, measure_noise
from barograph.models import OnlineModels
from barograph.results.series import Floats

COUNT, LENGTH = 40, 200
QUIET = ANSWERS.index(Answer.QUIET)


@cache
def judge() -> OnlineJudge:
    return make_judge(OnlineModels.default())


def histories(seed: int, noise: float, count: int = COUNT, length: int = LENGTH) -> list[Floats]:
    rng = np.random.default_rng(seed)
    return [100.0 + noise * rng.standard_normal(length) for _ in range(count)]


def measured(values: list[Floats]) -> list[Noise]:
    return [noise for noise in measure_noise(judge(), values) if noise is not None]


def test_a_step_of_the_smallest_size_is_found_in_nine_of_ten_cases() -> None:
    series = histories(1, 2.0)
    rng = np.random.default_rng(2)
    noise = measured(series)
    for following, name in zip(FOLLOWING, ("smallest_0", "smallest_2", "smallest_5"), strict=True):
        shares = []
        for share in (0.5, 1.0):  # of the smallest change
            pending = []
            for k, found in enumerate(noise * 3):
                step = share * getattr(found, name) * (1 if k % 2 else -1)
                after = 100.0 + step + 2.0 * rng.standard_normal(following + 1)
                pending.append(PendingSeries(np.append(series[k % COUNT], after), LENGTH))
            answers = judge().judge(pending).answer.reshape(-1, following + 1)
            shares.append(float((answers != QUIET).any(axis=1).mean()))
        assert shares[0] < 0.5
        assert 0.8 <= shares[1] <= 0.98


def test_a_noisier_series_has_larger_smallest_changes() -> None:
    medians = []
    for size in (2.0, 4.0):
        found = measured(histories(3, size, 10))
        rows = [(n.scatter, n.smallest_0, n.smallest_2, n.smallest_5) for n in found]
        medians.append(np.median(np.array(rows, dtype=np.float64), axis=0))
    assert medians[1] / medians[0] == pytest.approx(2.0, rel=0.15)
    assert (np.diff(medians[0][1:]) < 0).all()
    assert medians[0][0] == pytest.approx(2.0, rel=0.1)


def test_only_the_current_level_counts() -> None:
    [plain] = measured([histories(4, 1.0, 1)[0]])
    before = np.random.default_rng(5).normal(500.0, 50.0, 100)
    [stepped] = measured([np.append(before, histories(4, 1.0, 1)[0])])
    assert (stepped.level, stepped.scatter) == (plain.level, plain.scatter)
    assert stepped.results == LENGTH


def test_a_few_outliers_do_not_count() -> None:
    values = histories(6, 1.0, 1)[0]
    [plain] = measured([values])
    spiky = values.copy()
    spiky[20::40] = 1e9
    [found] = measured([spiky])
    assert found.scatter == pytest.approx(plain.scatter, rel=0.1)


def test_a_short_level_is_not_measured_and_one_without_scatter_is() -> None:
    short, empty, zero, constant = np.arange(11.0), np.empty(0), np.zeros(50), np.full(50, 7.0)
    found = measure_noise(judge(), [short, empty, zero, constant])
    assert found[:3] == [None] * 3
    assert found[3] is not None
    assert (found[3].scatter, found[3].percent(found[3].level)) == (0.0, 100.0)
    assert found[3].smallest_5 is not None
    assert measure_noise(judge(), []) == []


@pytest.mark.parametrize(
    ("between", "low", "high"), [(0.0, 7, 10), (0.3, 9, 25), (1.0, None, None)]
)
def test_runs_that_halve_the_scatter_follow_from_the_runs_of_a_commit(
    between: float, low: int | None, high: int | None
) -> None:
    rng = np.random.default_rng(7)
    runs = rng.normal(100.0, 1.0, (400, 2)) + rng.normal(0.0, between, (400, 1))
    [noise] = measure_noise(judge(), [np.median(runs, axis=1)], [dict(enumerate(runs))])
    assert noise is not None
    assert noise.runs == 2
    assert noise.share_of_runs == pytest.approx(0.5 / (0.5 + between**2), abs=0.15)
    if low is None or high is None:
        assert noise.halving_runs is None
    else:
        assert noise.halving_runs is not None
        assert low <= noise.halving_runs <= high


def test_runs_count_as_independent_if_no_commit_has_several() -> None:
    [alone] = measured(histories(8, 1.0, 1))
    assert (alone.runs, alone.share_of_runs, alone.halving_runs) == (1, None, 4)
