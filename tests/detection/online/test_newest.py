"""How far the newest result departs from what is usual, and what reruns settle."""

import math
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.detection.online import newest
from barograph.detection.online.newest import (
    COMPARED,
    FEWEST,
    RECENT,
    SUSPECT,
    Departure,
    departure,
    departures,
    settle,
)
from barograph.results.series import Floats
from tests.detection.online.models import noise


def units_beyond(last: list[float], value: float) -> float:
    level = median(last)
    unit = max(1.4826 * median(abs(v - level) for v in last), newest.LEAST_NOISE * abs(level))
    steps = [b - a for a, b in zip(sorted(last), sorted(last)[1:], strict=False) if b > a]
    if len(last) < COMPARED and steps:
        unit = max(unit, min(steps) / 2)
    distance = max(value - max(last), min(last) - value, 0.0)
    return min(distance / unit, newest.FARTHEST) if unit else newest.FARTHEST * (distance > 0)


def plain(before: list[float], value: float) -> Departure:
    """The rule as one would write it on paper."""
    last = before[-COMPARED:]
    known = len(last)
    if known < FEWEST or min(last) <= value <= max(last):
        return Departure(0.0, median(last) if last else math.nan, known, 0, 0, 0.0)
    beyond, went_recently = units_beyond(last, value), units_beyond(last[-RECENT:], value)
    candidates = range(newest.SETTLED, len(before) - 3)
    as_far, alike = 0, 0.0
    for k in candidates:
        last = before[max(k - RECENT, 0) : k]
        went = units_beyond(last, before[k])
        if went == 0.0:
            continue
        after, level = median(before[k + 1 : k + 4]), median(last)
        if (after - level) / (before[k] - level) < 0.5:
            as_far += went >= went_recently
            alike += min((went / went_recently) ** 2, 1.0)
    z = np.log(np.array(newest.BEYOND) + 0.25)
    logs = np.log(newest.SHARES)
    slope = (logs[-1] - logs[-2]) / (z[-1] - z[-2])
    here = math.log(beyond + 0.25)
    log_share = np.interp(here, z, logs) + slope * max(here - z[-1], 0.0)
    share = min(math.exp(log_share) * (COMPARED + 1) / (known + 1), 1.0)
    rate = (alike + newest.OTHERS * share) / (len(candidates) + newest.OTHERS) / newest.OVERCOUNT
    last = before[-COMPARED:]
    level, distance = median(last), max(value - max(last), min(last) - value)
    part = min(max(distance / abs(level), newest.LEAST_SIZE), newest.MOST_SIZE)
    surprise = newest.BY_SIZE * math.log(part / newest.USUAL_SIZE) - math.log(rate)
    return Departure(beyond, level, known, len(candidates), as_far, max(surprise, 0.0))


def spiky(size: int, seed: int, digits: int = 9) -> Floats:
    """Noise with spikes, and with steps that stay."""
    random = np.random.default_rng(seed)
    values = 100.0 + random.standard_t(3, size=size) + 3.0 * (random.random(size).cumsum() // 60)
    values[random.random(size) < 0.03] *= 1.2
    rounded: Floats = values.round(digits)
    return rounded


@pytest.mark.parametrize("size", [4, 5, 8, 12, 13, 30, 81, 300])
@pytest.mark.parametrize("digits", [9, 0])
def test_departure_equals_the_rule_on_paper(size: int, digits: int) -> None:
    departed = 0
    for seed in range(10):
        before = spiky(size, seed, digits)
        for value in (100.0, before.max() + 0.5, before.max() * 1.1, before.min() / 2, 1e5):
            actual, expected = departure(before, value), plain(before.tolist(), value)
            assert actual == pytest.approx(expected, rel=1e-9, nan_ok=True)
            departed += actual.surprise > 0.0
    assert departed > 20 or size < FEWEST


def test_departures_equal_each_departure_to_the_bit() -> None:
    values = np.concatenate([spiky(150, 1), spiky(400, 2)])
    rows = np.arange(values.size)
    first = np.where(rows < 150, 0, np.maximum(rows - 300, 150))
    alone = [departure(values[a:b], values[b]).surprise for a, b in zip(first, rows, strict=True)]
    assert departures(values, first, rows)[1].tolist() == alone
    assert any(alone)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(FEWEST, 320),
    digits=st.sampled_from([9, 1, 0]),
    jumps=st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=6),
    sign=st.sampled_from([-1.0, 1.0]),
)
def test_score_never_falls_as_the_jump_grows(
    seed: int, size: int, digits: int, jumps: list[float], sign: float
) -> None:
    before = spiky(size, seed, digits)
    edge = before.max() if sign > 0 else before.min()
    scores = [departure(before, edge + sign * jump).surprise for jump in sorted(jumps)]
    assert scores == sorted(scores)


def test_score_of_the_larger_part_of_the_level_is_higher() -> None:
    before = noise(200, 3)
    low, high = (departure(b, float(b.max()) + 12.0) for b in (before - 80.0, before - 40.0))
    assert low.beyond == pytest.approx(high.beyond)
    assert low.surprise == pytest.approx(high.surprise + newest.BY_SIZE * math.log(3.0), abs=0.01)


def test_score_does_not_depend_on_the_unit() -> None:
    before = spiky(200, 3)
    value = float(before.max()) + 2.0
    assert departure(1024.0 * before, 1024.0 * value) == departure(before, value)._replace(
        level=1024.0 * departure(before, value).level
    )


@pytest.mark.parametrize("level", [0.0, 7.0, -7.0, 1e300])
def test_score_is_finite_after_constant_values(level: float) -> None:
    departed = departure(np.full(100, level), level + max(abs(level), 1.0))
    assert SUSPECT < departed.surprise < 30.0


def test_excursions_that_came_back_lower_the_score_and_steps_do_not() -> None:
    calm = noise(500, 5)
    spikes, step = calm.copy(), calm.copy()
    spikes[[60, 150, 195, 240, 330, 415]] += 60.0
    step[100:300] += 30.0
    value = float(calm.max()) + 25.0
    assert departure(spikes, value).as_far == 6
    assert departure(spikes, value).surprise < SUSPECT < departure(calm, value).surprise
    assert departure(step, value + 30.0).as_far == 0


def test_each_spike_counts_although_the_one_before_widened_a_longer_range() -> None:
    values = noise(450, 5)
    values[60:361:60] += 30.0
    assert departure(values, 125.0).as_far == 6


def test_quiet_points_reach_a_score_as_often_as_it_says() -> None:
    random = np.random.default_rng(11)
    scores = []
    for _ in range(120):  # some series have bursts of spikes
        values = 100.0 + random.standard_normal(500)
        bursts = np.flatnonzero(random.random(500) < random.choice([0.0, 0.002, 0.01]))
        places = np.unique(bursts[:, None] + random.integers(0, 80, (bursts.size, 3)))
        places = places[places < 500]
        values[places] += random.lognormal(2.5, 0.3, places.size)
        scores.append(departures(values, np.zeros(400, dtype=np.int64), np.arange(100, 500)))
    surprise = np.concatenate([surprise for _, surprise in scores])
    for score in (4.0, 5.0, SUSPECT):
        assert 0.5 < (surprise >= score).mean() / math.exp(-score) < 1.2


@pytest.mark.parametrize(
    ("departed", "text"),
    [
        (Departure(3.14, 9.0, 80, 300, 0, 6.0), "none of 300 earlier results went as far"),
        (Departure(3.14, 9.0, 80, 300, 2, 5.0), "3.1 noise units beyond the last 80 results; 2 of"),
        (Departure(3.14, 9.0, 12, 0, 0, 4.0), "3.1 noise units beyond the last 12 results"),
        (Departure(0.0, 9.0, 80, 0, 0, 0.0), "within the range of the last 80 results"),
        (Departure(0.0, 9.0, 4, 0, 0, 0.0), "only 4 earlier results: at least 5 are needed"),
    ],
)
def test_departure_explains_itself(departed: Departure, text: str) -> None:
    assert str(departed).startswith(text) or text in str(departed)


CALM = noise(200, 7)
LEVEL = float(np.median(CALM[-COMPARED:]))


@pytest.mark.parametrize(
    ("runs", "value", "is_step"),
    [
        ([LEVEL], LEVEL, False),
        ([LEVEL + 20.0], LEVEL + 20.0, False),
        ([LEVEL, LEVEL + 1.0], LEVEL + 0.5, False),  # nothing departed: the median of all runs
        ([LEVEL, LEVEL + 20.0], LEVEL + 10.0, False),  # the reruns are no suspects
        ([LEVEL, LEVEL + 1.0, LEVEL + 20.0], LEVEL + 1.0, False),
        ([LEVEL + 20.0, LEVEL + 19.0], LEVEL + 19.0, True),
        ([LEVEL + 20.0, LEVEL + 10.5], LEVEL + 10.5, True),
        ([LEVEL + 20.0, LEVEL + 9.5], LEVEL + 9.5, False),
        ([LEVEL + 20.0, LEVEL], LEVEL, False),  # a spike: without the run that was the suspect
        ([LEVEL + 20.0, LEVEL - 20.0], LEVEL - 20.0, False),
        ([LEVEL - 20.0, LEVEL - 19.0], LEVEL - 19.0, True),
        ([LEVEL + 20.0, LEVEL, LEVEL + 19.0, LEVEL + 21.0], LEVEL + 19.0, True),
        ([LEVEL + 20.0, LEVEL + 22.0, LEVEL, LEVEL + 1.0], LEVEL + 1.0, False),
    ],
)
def test_runs_settle(runs: list[float], value: float, *, is_step: bool) -> None:
    settled = settle(CALM, np.array(runs))
    assert settled.value == pytest.approx(value)
    assert settled.is_step == is_step


@pytest.mark.parametrize(
    ("way", "advised"),
    [((1.0,), 1), ((1.0, 0.1), 0), ((1.0, 0.4), 2), ((1.0, 0.9), 0), ((1.0, 0.4, 0.4), 0)],
)
def test_one_rerun_is_advised_and_two_more_if_it_lies_in_between(
    way: tuple[float, ...], advised: int
) -> None:
    assert settle(CALM, LEVEL + 20.0 * np.array(way)).advised == advised


def test_no_rerun_is_advised_after_runs_that_never_departed() -> None:
    assert settle(CALM, np.array([LEVEL, LEVEL + 0.5])).advised == 0
