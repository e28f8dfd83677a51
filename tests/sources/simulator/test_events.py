"""Changes become shifts of a series, and slow paths become events."""

import numpy as np

from barograph.simulator.projects import CommitChange, Event, path_of, slow_events, steps

ORDERS = np.array([10, 12, 13, 17, 20, 21, 22, 30], dtype=np.int64)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def change(
    order: int, undone: int | None = None, size: float = 0.1, better: int = 1
) -> CommitChange:
    return CommitChange(order, undone, relative=True, size=size, better=better)


def test_change_shows_at_the_next_run() -> None:
    (event,) = steps([change(14)], ORDERS, 0.01, 1, rng())
    assert (event.index, event.kind) == (3, "step")


def test_change_outside_the_series_has_no_event() -> None:
    assert steps([change(9), change(10), change(31)], ORDERS, 0.01, 1, rng()) == []
    assert steps([change(23, undone=29)], ORDERS, 0.01, 1, rng()) == []


def test_revert_undoes_the_whole_shift() -> None:
    events = steps([change(12, undone=20)], ORDERS, 0.01, 1, rng())
    assert [(e.index, e.kind) for e in events] == [(1, "regressed"), (4, "reverted")]
    path = path_of(events, ORDERS.size)
    assert np.all(path[1:4] == path[1])
    assert path[1] != 0.0
    assert path[0] == path[4] == path[-1] == 0.0


def test_improvement_follows_the_direction() -> None:
    (up,) = steps([change(14)], ORDERS, 0.01, 1, rng())
    (down,) = steps([change(14)], ORDERS, 0.01, -1, rng())
    assert up.shift > 0 > down.shift


def test_amounts_vary_around_the_common_size() -> None:
    draws = rng()
    amounts = [steps([change(14)], ORDERS, 0.01, 1, draws)[0].shift for _ in range(500)]
    assert np.std(np.log(amounts)) > 0.3
    assert 0.09 < np.median(amounts) < 0.11


def test_change_is_at_most_a_factor_of_five() -> None:
    draws = rng()
    shifts = [steps([change(14, size=50.0)], ORDERS, 0.01, 1, draws)[0].shift for _ in range(500)]
    assert max(shifts) == 1.6
    assert 0.7 < np.median(shifts) < 0.9


def test_slow_shift_is_placed_at_its_sharpest_change() -> None:
    path = np.concatenate((np.zeros(40), np.full(60, 3.0)))
    assert slow_events(path, 1.0) == [Event(40, 3.0, "slow")]


def test_small_slow_shifts_and_short_series_have_no_event() -> None:
    path = np.concatenate((np.zeros(40), np.full(60, 0.9)))
    assert slow_events(path, 1.0) == []
    assert slow_events(path[30:50], 0.1) == []


def test_slow_shifts_keep_their_distance() -> None:
    path = 3.0 * np.sin(np.arange(400) / 15.0) + np.arange(400) / 30.0
    places = [event.index for event in slow_events(path, 1.0)]
    assert len(places) > 5
    # Twelve apart, and each may move four to its sharpest change.
    assert min(np.diff(places)) >= 12 - 2 * 4
