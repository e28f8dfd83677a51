"""Silence, lateness and waiting suspects, learned from when results came."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from barograph.results.series import SeriesId
from barograph.server.store import Measurement, Store, arrivals, candidate_records, life
from barograph.server.store.arrivals import HOUR, PATIENCE, usual_gap
from barograph.server.store.schema import points
from tests.store.judges import Rule
from tests.store.samples import number_of

DAY = 24 * HOUR


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Two pipelines, one of which stopped on day 10 of 30; one series of the other stopped too."""
    path: Path = tmp_path_factory.mktemp("arrivals") / "store.db"
    with Store(str(path), Rule()) as opened:
        sent = []
        for task, test, days in (
            *(("io", "read", 30), ("io", "write", 30), ("io", "seek", 12)),
            *(("cpu", "sort", 10), ("cpu", "hash", 10), ("new", "first", 3)),
        ):
            name = SeriesId("db", "arm", task, test, "")
            sent += [Measurement(name, 100.0, day, f"c{day}", "", day * DAY) for day in range(days)]
        late = sent.pop(20)
        opened.ingest(sent, "test")
        opened.ingest([late], "test")
        with opened.read() as connection:
            numbers = candidate_records.oldest_stale(connection, 100)
            rows = arrivals.observe(connection, numbers)
        opened.write(lambda connection: arrivals.write(connection, rows))
        yield opened


def names(rows: list[arrivals.SilentSource]) -> list[str]:
    return [str(row.name) for row in rows]


def test_silence_is_reported_by_pipeline_and_by_series(store: Store) -> None:
    with store.read() as connection:
        now = 30 * DAY
        assert names(arrivals.silent_pipelines(connection, now, 10)) == ["db / arm / cpu"]
        assert names(arrivals.silent_series(connection, now, 10)) == ["db/arm/io/seek/-"]
        counts = arrivals.counts(connection, now)
    assert (counts.active, counts.watched, counts.silent, counts.late) == (6, 5, 3, 1)


def test_silence_of_a_retired_series_is_not_reported(store: Store) -> None:
    with store.read() as connection:
        seek = number_of(connection, SeriesId("db", "arm", "io", "seek", ""))
    assert seek is not None
    store.write(lambda connection: life.retire(connection, seek, "ann"))
    with store.read() as connection:
        assert names(arrivals.silent_series(connection, 30 * DAY, 10)) == []
        assert arrivals.counts(connection, 30 * DAY).active == 5
    store.write(lambda connection: life.retire(connection, seek, "ann", retired=False))
    with store.read() as connection:
        assert names(arrivals.silent_series(connection, 30 * DAY, 10)) == ["db/arm/io/seek/-"]


def test_silence_begins_after_three_usual_gaps(store: Store) -> None:
    with store.read() as connection:
        end = 9 * DAY + PATIENCE * DAY
        assert names(arrivals.silent_pipelines(connection, end, 10)) == []
        assert names(arrivals.silent_pipelines(connection, end + 1, 10)) == ["db / arm / cpu"]


def test_series_with_few_results_is_never_silent(store: Store) -> None:
    with store.read() as connection:
        actual = arrivals.silent_pipelines(connection, 10_000 * DAY, 10)
    assert "db / arm / new" not in names(actual)


def test_result_after_that_of_a_later_commit_is_late(store: Store) -> None:
    with store.read() as connection:
        [late] = arrivals.late_series(connection, 10)
    assert (str(late.name), late.late, late.order) == ("db/arm/io/read/-", 1, 20)


def test_only_a_suspect_as_the_newest_result_waits(store: Store) -> None:
    suspect = {"answer": arrivals.SUSPECT, "reruns": 2, "settled": 99.0}
    is_second = points.c.series == 2
    with store.read() as connection:
        assert arrivals.waiting_suspects(connection, 10) == []

    def mark(connection: sa.Connection) -> None:
        for order in (5, 29):
            connection.execute(
                sa.update(points).where(is_second, points.c.order == order).values(suspect)
            )
        arrivals.write(connection, arrivals.observe(connection, [2]))

    store.write(mark)
    with store.read() as connection:
        [suspected] = arrivals.waiting_suspects(connection, 10)
    assert (str(suspected.name), suspected.order, suspected.reruns) == ("db/arm/io/write/-", 29, 2)


@pytest.mark.parametrize(
    ("value", "before", "waits"),
    [
        (100.4, [100.0] * 20, False),
        (100.6, [100.0] * 20, True),
        (100.0, [108.0] * 6 + [100.0] * 14, True),  # back at the level before
        (100.0, [], False),
    ],
)
def test_suspect_waits_only_if_it_departs_as_far_as_a_job_counts(
    value: float, before: list[float], waits: bool
) -> None:
    assert arrivals.is_large([value, *before]) == waits


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([0, 10, 20, 30, 40], None),
        ([0, 10, 20, 30, 40, 50], 10),
        ([0, 0, 10, 10, 20, 20, 30, 40], None),
        ([50, 40, 30, 20, 10, 0], 10),
        ([*range(0, 190, 10), 5000, 9000], 10),  # two of twenty gaps are long
        ([0, 1, 2, 3, 100, 200, 300], 100),
    ],
)
def test_usual_gap_is_robust_against_two_long_gaps(times: list[int], expected: int | None) -> None:
    assert usual_gap(times) == expected


def test_rejections_are_counted_by_kind_and_day(store: Store) -> None:
    day = arrivals.DAY

    def work(connection: sa.Connection) -> None:
        arrivals.note_rejections(connection, {"order 5 is 'a'": 2, "order 6 is 'b'": 1}, 10 * day)
        arrivals.note_rejections(connection, {"order 7 is 'c'": 4}, 10 * day + 5)
        arrivals.note_rejections(connection, {"order 8 is 'd'": 1}, 11 * day)

    store.write(work)
    with store.read() as connection:
        [all_days] = arrivals.recent_rejections(connection, 10 * day)
        [today] = arrivals.recent_rejections(connection, 11 * day + 7)
    assert (all_days.reason, all_days.results, today.results) == ("order … is …", 8, 1)


def test_kind_of_a_day_that_is_full_keeps_its_own_row(store: Store) -> None:
    day = 5 * arrivals.DAY
    many = {f"field{'x' * k} is wrong": 1 for k in range(arrivals.KINDS - 1)}
    last = {f"value {number} is bad": 1 for number in range(3)}
    store.write(lambda connection: arrivals.note_rejections(connection, many | last, day))
    with store.read() as connection:
        results = {
            rejection.reason: rejection.results
            for rejection in arrivals.recent_rejections(connection, day)
        }
    assert results["value … is bad"] == 3


def test_rejections_of_many_kinds_share_one_row(store: Store) -> None:
    many = {f"field{'x' * k} is wrong": 1 for k in range(150)}
    store.write(lambda connection: arrivals.note_rejections(connection, many, 20 * arrivals.DAY))
    with store.read() as connection:
        actual = arrivals.recent_rejections(connection, 20 * arrivals.DAY)
    assert len(actual) == arrivals.KINDS + 1
    assert sum(rejection.results for rejection in actual) == 150
    assert actual[0].reason == arrivals.OTHER
