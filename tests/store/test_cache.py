"""Tails in memory, and the same tails read back from blocks and points."""

import random

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from barograph.detection.online import PendingSeries
from barograph.server.store import Measurement, Store, cache, ingest
from barograph.server.store import store as stores
from barograph.server.store.cache import SeriesTail, TailCache, load_tails, needed
from barograph.server.store.schema import blocks as table
from barograph.server.store.schema import points, series
from tests.store.judges import Rule
from tests.store.samples import series as named

COUNT, RULE = 12, Rule(history=20)


@given(st.lists(st.integers(1, 40), max_size=12), st.integers(2, 30))
def test_tail_keeps_the_newest_values_and_the_start(added: list[int], history: int) -> None:
    tail = SeriesTail()
    every: list[float] = []
    for number, count in enumerate(added):
        new = [float(len(every) + k) for k in range(count)]
        every += new
        values = np.concatenate((tail.values, new))
        # The first of the new values is the last change point.
        tail = SeriesTail.of(values, values.size - count, number, len(every), history)
        assert tail.values.tolist() == every[-tail.values.size :]
        assert tail.values.size == needed(len(every), history)
        assert tail.values[tail.start] == max(new[0], tail.values[0])


def test_cache_evicts_the_least_recently_used() -> None:
    cache = TailCache(room=10)
    for number in range(3):
        cache.put(number, SeriesTail(np.zeros(4), 0, 3, 4))
    assert cache.used == 12
    assert cache.use(0)
    cache.trim()
    assert [cache.use(number) for number in range(3)] == [True, False, True]
    assert cache.used == 8
    cache.put(0, SeriesTail(np.zeros(2), 0, 3, 2))
    assert cache.used == 6
    cache.drop(0)
    assert (cache.used, cache.use(0)) == (4, False)


def grown(store: Store, seed: int) -> None:
    """Send points one by one and many at once, some late, some with reruns, and revise some."""
    rng = random.Random(seed)
    for index in range(40):
        some = rng.sample(range(COUNT), rng.choice([1, 3, COUNT]))
        late = rng.random() < 0.1
        orders = [index * 3 - (60 if late else 0) + k for k in range(rng.choice([1, 1, 3]))]
        level = 9.0 * (index // 15)
        store.ingest(
            [
                Measurement(
                    *(named(f"s{number}"), level + rng.gauss(0, 1), order, "", run),
                    time=rng.randrange(9),
                )
                for number in some
                for order in orders
                for run in rng.choice([("",), ("",), ("", "2"), ("2",)])
            ],
            "ann",
        )


def held(connection: sa.Connection, history: int) -> dict[int, SeriesTail]:
    numbers = list(connection.scalars(sa.select(series.c.id)).all())
    return load_tails(connection, [*numbers, 10**6], history)


def comparable(found: dict[int, SeriesTail]) -> dict[int, tuple[object, ...]]:
    return {
        number: (item.values.tolist(), item.start, item.last, item.count)
        for number, item in found.items()
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_tails_from_blocks_equal_tails_from_points(
    store: Store, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "BLOCK_EVERY", 5)
    store.judge = RULE
    history = RULE.history
    grown(store, seed)
    with store.read() as connection:
        kept = comparable(held(connection, history))
        assert len(connection.execute(sa.select(table)).all()) == COUNT
        every = connection.execute(sa.select(points).order_by(points.c.order, points.c.run)).all()
    store.write(lambda connection: connection.execute(sa.delete(table)))
    with store.read() as connection:
        assert comparable(held(connection, history)) == kept
    for number, (values, start, last, count) in kept.items():
        mine = [row for row in every if row.series == number and row.settled is not None]
        assert count == len(mine)
        before = count - needed(count, history)
        assert values == [row.settled for row in mine][before:]
        if mine:
            assert last == mine[-1].order
            judged = RULE.judge([PendingSeries(np.array([row.settled for row in mine]), 0, 0)])
            last_alarm = judged.logs[0].alarms[-1:] or [0]
            assert start == max(0, last_alarm[0] - before)


def test_block_of_a_shorter_history_is_ignored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "BLOCK_EVERY", 5)
    store.judge = RULE
    grown(store, 3)
    with store.read() as connection:
        longer = held(connection, 100)
        assert max(item.values.size for item in longer.values()) > RULE.history
        for value in longer.values():
            assert value.values.size == needed(value.count, 100)


@pytest.mark.parametrize("held_then", [RULE.history, 7])
def test_blocks_of_another_length_give_the_same_tails(
    store: Store, held_then: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "BLOCK_EVERY", 5)
    store.judge = RULE
    grown(store, 5)
    with store.read() as connection:
        expected = comparable(held(connection, RULE.history))
        longer = load_tails(connection, list(expected), 4 * RULE.history)

    def rewrite(connection: sa.Connection) -> None:
        for number, item in longer.items():
            drop = max(0, item.values.size - held_then)
            values = item.values[drop:].astype("<f8").tobytes()
            row = {"order": item.last, "count": item.count, "values": values}
            row["start"] = max(0, item.start - drop)
            connection.execute(sa.update(table).where(table.c.series == number).values(row))

    store.write(rewrite)
    with store.read() as connection:
        assert comparable(held(connection, RULE.history)) == expected


def test_series_take_turns_at_writing_blocks() -> None:
    due = [
        [number for number in range(640) if cache.is_block_due(number, index, index + 1)]
        for index in range(100, 164)
    ]
    assert {len(some) for some in due} == {10}
    assert sorted(number for some in due for number in some) == list(range(640))
    assert cache.is_block_due(0, 0, 500)
    assert not cache.is_block_due(7, 0, 60)


def test_preloaded_series_are_not_read_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "BLOCK_EVERY", 5)
    monkeypatch.setattr(stores, "PRELOAD", 5)
    requested: list[int] = []

    def noted(connection: sa.Connection, wanted: list[int], history: int) -> dict[int, SeriesTail]:
        requested.extend(wanted)
        return load_tails(connection, wanted, history)

    with Store(url, RULE) as store:
        grown(store, 4)
        store.ingest([Measurement(named(f"s{number}"), 3.0, 500) for number in range(COUNT)], "ann")
    monkeypatch.setattr(ingest, "load_tails", noted)
    with Store(url, RULE) as store:
        store.preload()
        assert sorted(requested) == list(range(1, COUNT + 1))
        store.ingest([Measurement(named(f"s{number}"), 3.0, 501) for number in range(COUNT)], "ann")
        assert len(requested) == COUNT
    with Store(url, RULE, room=50) as store:
        store.preload()
        assert len(requested) == COUNT + 5  # ten values each at least: no more fit
