"""The history begins again at a step by a factor of three that lasted."""

from statistics import median

import numpy as np
import pytest

from barograph.detection.online.views import (
    AWAY,
    FACTOR,
    LASTING,
    SETTLED,
    compared,
    compared_from,
    kept_from,
    starts_of,
)
from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Floats


def begins(values: list[float], place: int) -> bool:
    """The definition, for one place of a history that has enough results after it."""
    since = values[place : place + SETTLED]
    level = median(since)
    noise = MAD_TO_SD * median(abs(value - level) for value in since)

    def is_other(value: float) -> bool:
        low, high = sorted([abs(value), abs(level)])
        return low <= high / FACTOR and abs(value - level) > AWAY * noise

    before = values[max(place - LASTING, 0) : place]
    return all(map(is_other, before)) and not is_other(values[place])


def start_of(values: list[float]) -> int:
    places = range(1, len(values) - SETTLED + 1)
    return max((place for place in places if begins(values, place)), default=0)


def leaping(seed: int, length: int = 240) -> Floats:
    """Return levels of many sizes and signs, zero and pulses among them, and some noise."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice([1, 3, 5, 6, 25, 40, 60], 20)
    levels = np.repeat(rng.choice([0.0, 1.0, -2.0, 12.0, 30.0, -50.0, 400.0], 20), lengths)
    values: Floats = levels + rng.choice([0.0, 0.1, 3.0]) * rng.standard_normal(levels.size)
    return values[:length]


@pytest.mark.parametrize("seed", range(30))
def test_starts_equal_the_definition(seed: int) -> None:
    values = leaping(seed)
    expected = [start_of(values[:end].tolist()) for end in range(values.size + 1)]
    assert starts_of(values).tolist() == expected


def test_random_histories_begin_again() -> None:
    assert sum(starts_of(leaping(seed))[-1] > 0 for seed in range(30)) >= 15


@pytest.mark.parametrize("history", [64, 500])
def test_batch_has_the_starts_of_each_series(history: int) -> None:
    every = [leaping(seed) for seed in range(12)]
    kept, newest, expected, begin = [], [], [], 0
    for k, values in enumerate(every):
        for place in range(min(30 * k, values.size - 1), values.size):
            kept.append(begin + kept_from(place, history))
            newest.append(begin + place)
            expected.append(int(starts_of(values[kept_from(place, history) : place])[-1]))
        begin += values.size
    actual = compared_from(np.concatenate(every), np.array(kept), np.array(newest))
    assert (actual - kept).tolist() == expected
    assert any(expected)


@pytest.mark.parametrize(
    ("values", "start"),
    [
        ([50.0] * 30 + [5.0] * 20, 0),  # too few results of the new level
        ([50.0] * 30 + [5.0] * 21, 30),
        ([5.0] * 30 + [50.0] * 21, 30),
        ([5.0] * 30 + [150.0] * 5 + [5.0] * 21, 35),
        ([5.0] * 30 + [150.0] * 4 + [5.0] * 21, 0),  # a spike
        ([150.0] + [5.0] * 21, 1),  # the history begins with it
        ([15.0] * 30 + [5.0] * 21, 30),
        ([5.0] * 30 + [15.0] * 21, 30),
        ([12.0] * 30 + [5.0] * 40, 0),  # a factor of 2.4
        ([-50.0] * 30 + [5.0] * 21, 30),
        ([50.0] * 30 + [0.0] * 21, 30),
        ([0.0] * 60, 0),
        ([5.0], 0),
        ([], 0),
    ],
)
def test_place_that_begins_the_history(values: list[float], start: int) -> None:
    assert starts_of(np.array(values))[-1] == start
    assert compared(np.array(values)).tolist() == values[start:]


def test_noise_around_zero_never_begins_the_history() -> None:
    rng = np.random.default_rng(0)
    for values in rng.standard_normal((200, 300)):
        assert not starts_of(values).any()


def test_huge_values_raise_no_warning() -> None:
    values = np.concatenate([np.tile([-1e308, 1.5e308], 20), np.full(30, 1e-308), np.zeros(30)])
    assert starts_of(values)[[70, 100]].tolist() == [40, 70]
