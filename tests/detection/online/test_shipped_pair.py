"""What the shipped pair makes of clean steps, spikes, pulses and noise."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import AlarmLog, Answer, PendingSeries, make_judge
from barograph.learning.online.learn import TAIL_DRAWS
from barograph.models import OnlineModels
from barograph.results.series import Floats

COUNT, AT, LENGTH = 100, 150, 190
POINTS = 1000


@cache
def models() -> OnlineModels:
    return OnlineModels.default()


def replayed(series: list[Floats]) -> list[AlarmLog]:
    return make_judge(models()).judge([PendingSeries(values, 0) for values in series]).logs


def gaussian(seed: int, *, length: int = LENGTH) -> list[Floats]:
    rng = np.random.default_rng(seed)
    return [100.0 + rng.normal(size=length) for _ in range(COUNT)]


def shifted(seed: int, size: float, last: int | None = None) -> list[Floats]:
    """Noise with the points from AT on, or up to `last`, `size` deviations higher."""
    series = gaussian(seed)
    for values in series:
        values[AT:last] += size
    return series


@pytest.mark.parametrize("size", [5.0, 8.0, 15.0])
def test_clean_step_is_one_alarm_and_one_change_point(size: float) -> None:
    seen = replayed(shifted(1, size))
    after = [sum(place >= AT - 1 for place in item.alarms) for item in seen]
    standing = [[place for place in item.change_points if place >= AT - 1] for item in seen]
    assert sum(count == 1 for count in after) >= 95
    assert sum(len(places) == 1 and abs(places[0] - AT) <= 1 for places in standing) >= 95


@pytest.mark.parametrize("size", [8.0, 15.0, 50.0])
def test_alarm_names_the_commit_of_a_clear_step(size: float) -> None:
    for item in replayed(shifted(11, size)):
        steps = [step for step in item.steps if step.newest >= AT]
        assert {step.index for step in steps} == {AT}
        assert item.change_points[-1:] == [AT]


def test_spike_of_one_point_leaves_no_change_point() -> None:
    for size in (8.0, 20.0):
        seen = replayed(shifted(2, size, AT + 1))
        assert sum(all(p < AT - 5 for p in item.change_points) for item in seen) >= 95


@pytest.mark.parametrize("points", [3, 5, 8, 12])
def test_pulse_leaves_nothing_but_its_begin_and_end(points: int) -> None:
    seen = replayed(shifted(3, 10.0, AT + points))
    kept = both = 0
    for item in seen:
        places = [place for place in item.change_points if place >= AT - 5]
        kept += all(min(abs(p - AT), abs(p - AT - points)) <= 1 for p in places)
        both += len(places) == 2
    assert kept >= 95
    assert both >= 95 or points < 8


@pytest.mark.parametrize(("first", "last"), [(0, 30), (75, 80)])
@pytest.mark.parametrize("factor", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("size", [3.0, 5.0])
def test_former_level_hides_no_later_step(
    first: int, last: int, factor: float, size: float
) -> None:
    plain, series = shifted(12, size), shifted(12, size)
    for values in series:
        values[first:last] *= factor
    found, expected = (
        sum(any(p >= AT for p in item.alarms) for item in replayed(course))
        for course in (series, plain)
    )
    assert found >= expected - 5


def test_suspect_is_not_hidden_by_a_former_level() -> None:
    detector = OnlineDetector(models().newest, models().confirm)
    values = gaussian(13, length=60)[0]
    values[:30] *= 10.0
    detector.update_many(values)
    assert detector.update(150.0).answer is not Answer.QUIET


def independent(rng: np.random.Generator) -> Floats:
    return rng.normal(size=POINTS)


def correlated(rng: np.random.Generator) -> Floats:
    values = rng.normal(size=POINTS)
    for k in range(1, POINTS):
        values[k] += 0.5 * values[k - 1]
    return values


def heavy(rng: np.random.Generator) -> Floats:
    return rng.standard_t(3, size=POINTS)


@pytest.mark.parametrize("noise", [independent, correlated, heavy])
def test_quiet_noise_raises_at_most_three_alarms_per_thousand(
    noise: Callable[[np.random.Generator], Floats],
) -> None:
    rng = np.random.default_rng(4)
    seen = replayed([100.0 + noise(rng) for _ in range(COUNT)])
    alarms = sum(len(item.alarms) for item in seen)
    assert alarms <= 3 * COUNT * POINTS / 1000


@pytest.mark.parametrize("place", [25, 60])
def test_exactly_one_commit_is_red_for_one_change(place: int) -> None:
    values = 100.0 + np.random.default_rng(5).normal(size=place + 30)
    values[place:] += 10.0
    detector = OnlineDetector(models().newest, models().confirm)
    decisions = [detector.update(value) for value in values.tolist()]
    red = [decision for decision in decisions if decision.is_change]
    assert len(red) == 1
    assert abs(red[0].index - place) <= 1
    assert red[0].probability > 0.2
    known = [decision for decision in decisions if decision.known_since is not None]
    assert [decision.newest for decision in known] == list(range(red[0].newest + 1, place + 16))
    assert all(decision.index == decision.known_since for decision in known)
    assert known[-1].index == place


def test_tail_rates_come_from_the_histories_that_the_cards_name() -> None:
    for model in models().members:
        for entry in model.card["tails"].values():
            quiet = math.exp(entry["surprises"][-1]) - 1.0
            drawn = min(model.card["points"], TAIL_DRAWS)
            # The most surprising point is drawn several times where points differ in weight.
            assert 0.2 * drawn < quiet < drawn + 1
