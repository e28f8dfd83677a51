import random
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import pytest
import sqlalchemy as sa

from barograph.detection.online import PendingSeries
from barograph.results.series import Direction, SeriesId
from barograph.runtime.errors import ConfigError, DataError
from barograph.server.store import (
    Limits,
    Measurement,
    PointResult,
    PointStatus,
    Store,
    reading,
)
from barograph.server.store.measurement import CHANGE
from barograph.server.store.schema import points, revisions
from tests.store.digest import contents, table
from tests.store.judges import Rule
from tests.store.samples import history, point, series


def test_ingest_writes_points_and_decisions(store: Store) -> None:
    answer = store.ingest([point(0, 1.5), point(1, 2.5)], "ci")
    assert answer.counts == {"written": 2, "duplicate": 0, "revised": 0, "rejected": 0}
    assert table(store, points, "order", "commit", "value") == [(0, "c0", 1.5), (1, "c1", 2.5)]
    assert [result.is_change for result in answer.points] == [False, False]
    assert answer.model == "rule"


def test_duplicate_writes_nothing_and_returns_the_decision(store: Store) -> None:
    first = store.ingest([point(0, 1.0), point(1, 99.0)], "ci")
    before = contents(store)
    again = store.ingest([point(1, 99.0)], "ci")
    assert again.counts["duplicate"] == 1
    assert again.points[0].decision == first.points[1].decision
    assert again.points[0].is_change
    assert contents(store) == before


def test_other_value_is_kept_and_reported_as_a_revision(store: Store) -> None:
    store.ingest([point(0, 5.0)], "ci")
    answer = store.ingest([point(0, 4.0)], "ci")
    assert answer.counts["revised"] == 1
    assert "5.0" in answer.points[0].reason
    assert table(store, points, "value") == [(5.0,)]
    assert table(store, revisions, "value") == [(4.0,)]
    assert store.ingest([point(0, 4.0)], "ci").counts["duplicate"] == 1


def test_value_measured_later_holds(store: Store) -> None:
    late = point(3, 1.0)._replace(time=2000)
    early = point(3, 7.0)._replace(time=1000)
    store.ingest([late], "ci")
    assert "1.0" in store.ingest([early], "ci").points[0].reason
    assert table(store, points, "value", "time") == [(1.0, 2000)]
    latest = point(3, 3.0)._replace(time=3000)
    assert "3.0" in store.ingest([latest], "ci").points[0].reason
    assert table(store, points, "value", "time") == [(3.0, 3000)]
    assert table(store, revisions, "value") == [(1.0,), (7.0,)]


@pytest.mark.parametrize(
    "sent",
    [
        [(1.0, 1, ""), (1.0, 5, ""), (2.0, 3, "")],  # measured again, after the other value
        [(1.0, 1, ""), (2.0, 2, ""), (1.0, 3, "")],  # corrected, and the correction taken back
        [(1.0, None, ""), (1.0, 4, ""), (2.0, 3, "")],
        [(1.0, 1, ""), (1.0, 1, "c"), (2.0, 2, "")],  # the commit is told later
        [(1.0, 1, ""), (2.0, 2, "c"), (2.0, 3, "c")],
        [(0.0, None, ""), (-0.0, None, "c")],
    ],
)
def test_revisions_do_not_depend_on_the_order_of_arrival(
    new_url: Callable[[], str], sent: list[tuple[float, int | None, str]]
) -> None:
    made = [Measurement(series(), value, 0, commit, "", time) for value, time, commit in sent]
    left = set()
    for order in permutations(made):
        with Store(new_url(), Rule()) as store:
            for row in order:
                store.ingest([row], "ci")
            left.add(contents(store))
        with Store(new_url(), Rule()) as store:
            store.ingest(order, "ci")
            left.add(contents(store))
    assert len(left) == 1


def test_withdrawn_correction_is_a_revision_again(store: Store) -> None:
    for time, value in ((1, 1.0), (2, 2.0), (3, 1.0)):
        [last] = store.ingest([point(0, value)._replace(time=time)], "ci").points
    assert (last.status, last.reason) == (PointStatus.REVISED, "the value 1.0 holds")
    assert table(store, points, "value", "time") == [(1.0, 3)]
    assert table(store, revisions, "value", "time") == [(2.0, 2)]


def test_decisions_equal_those_on_the_whole_series(store: Store) -> None:
    sent = history("ab", 40)
    store.ingest(sent, "ci")
    for number, name in enumerate("ab", 1):
        values = np.array([result.value for result in sent if result.series == series(name)])
        judged = Rule().judge([PendingSeries(values, 0)])
        with store.read() as connection:
            actual = connection.execute(
                sa.select(points.c.probability, points.c.answer, points.c.baseline_size)
                .where(points.c.series == number)
                .order_by(points.c.order)
            ).all()
        assert [row[0] for row in actual] == judged.probability.tolist()
        assert [row[1] for row in actual] == judged.answer.tolist()
        assert [row[2] for row in actual] == judged.baseline_size.tolist()
        assert sum(row[1] == CHANGE for row in actual) >= 1


@pytest.mark.parametrize("seed", range(3))
def test_contents_do_not_depend_on_order_or_repetition(
    new_url: Callable[[], str], seed: int
) -> None:
    rng = random.Random(seed)
    sent = history("abc", 40, seed, runs=2)
    sent += [row._replace(value=row.value + 5) for row in sent[10:20]]
    sent += [row._replace(value=0.25, time=1) for row in sent[30:40]]
    with Store(new_url(), Rule(history=15)) as store:
        store.ingest(sent, "ci")
        expected = contents(store)
        for _ in range(3):
            store.ingest(sent, "ci")
        assert contents(store) == expected
        with store.read() as connection:
            held = len(connection.execute(sa.select(points)).all())
    assert held == 240
    assert shuffled(new_url(), sent, rng) == expected


def shuffled(url: str, sent: Sequence[Measurement], rng: random.Random) -> str:
    """What another store holds after the same measurements in random batches, three times."""
    batches = [list(sent) for _ in range(3)]
    for batch in batches:
        rng.shuffle(batch)
    with Store(url, Rule(history=15)) as store:
        for batch in batches:
            while batch:
                size = rng.randint(1, 40)
                store.ingest(batch[:size], "ci")
                del batch[:size]
        return contents(store)


def test_late_point_is_inserted_and_later_decisions_are_made_again(store: Store) -> None:
    store.ingest([point(0, 1.0), point(2, 9.0), point(3, 9.1)], "ci")
    before = table(store, points, "order", "answer")
    assert before == [(0, 0), (2, CHANGE), (3, 0)]
    answer = store.ingest([point(1, 9.0)], "ci")
    assert answer.points[0].is_change
    assert table(store, points, "order", "answer", "baseline_size") == [
        (0, 0, 0),
        (1, CHANGE, 1),
        (2, 0, 1),
        (3, 0, 2),
    ]


def test_commit_without_order_gets_the_order_of_its_project(store: Store) -> None:
    store.ingest([point(10, 1.0, "a")], "ci")
    lone = Measurement(series("b"), 1.0, commit="c10")
    assert store.ingest([lone], "ci").points[0].order == 10
    new = Measurement(series("b"), 1.0, commit="fresh")
    assert store.ingest([new], "ci").points[0].order == 11
    assert store.ingest([new], "ci").counts["duplicate"] == 1
    other = Measurement(series("a"), 1.0, commit="fresh")
    assert store.ingest([other], "ci").points[0].order == 11


def test_runs_of_one_commit_are_kept_and_count_as_one_value(store: Store) -> None:
    sent = [point(0, 1.0), point(1, 2.0, run="1"), point(1, 3.0, run="2"), point(2, 4.0)]
    assert store.ingest(sent, "ci").counts["written"] == 4
    reruns = [point(2, 3.0, run="1"), point(2, 2.0, run="2")]
    assert store.ingest(reruns, "ci").counts["written"] == 2
    assert table(store, points, "order", "run", "value", "settled", "baseline_size") == [
        (0, "", 1.0, 1.0, 0),
        (1, "1", 2.0, 2.5, 1),
        (1, "2", 3.0, None, 1),
        (2, "", 4.0, 3.0, 2),
        (2, "1", 3.0, None, 2),
        (2, "2", 2.0, None, 2),
    ]
    with store.read() as connection:
        assert reading.read_series(connection, [1])[1].values.tolist() == [1.0, 2.5, 3.0]


def test_rerun_of_an_older_commit_is_judged_at_its_place(store: Store) -> None:
    store.ingest([point(0, 1.0), point(1, 9.0), point(2, 9.1)], "ci")
    assert table(store, points, "order", "answer") == [(0, 0), (1, CHANGE), (2, 0)]
    answer = store.ingest([point(1, 1.2, run="2"), point(1, 1.1, run="3")], "ci")
    assert [result.is_change for result in answer.points] == [False, False]
    assert table(store, points, "order", "run", "settled", "answer", "baseline_size") == [
        (0, "", 1.0, 0, 0),
        (1, "", 1.2, 0, 1),
        (1, "2", None, 0, 1),
        (1, "3", None, 0, 1),
        (2, "", 9.1, CHANGE, 2),
    ]


def test_lower_run_that_arrives_late_is_the_first(store: Store) -> None:
    store.ingest([point(0, 1.0), point(1, 2.0, run="b")], "ci")
    store.ingest([point(1, 4.0, run="a")], "ci")
    assert table(store, points, "order", "run", "settled") == [
        *((0, "", 1.0), (1, "a", 3.0), (1, "b", None))
    ]


def test_runs_beyond_the_limit_and_of_other_commits_are_rejected(url: str) -> None:
    with Store(url, Rule(), limits=Limits(runs=2)) as store:
        runs = [point(0, run=run) for run in ("1", "2", "3")]
        assert store.ingest(runs, "ci").points[2].reason == (
            "run: order 0 has 2 runs, and no more are allowed"
        )
        assert store.ingest(runs[2:], "ci").counts["rejected"] == 1
        assert store.ingest(runs[1:2], "ci").counts["duplicate"] == 1
        for run in ("1", "3"):
            other = point(0, 2.0, run=run)._replace(commit="other")
            assert "is 'c0'" in store.ingest([other], "ci").points[0].reason
        both = [point(1), point(1, run="2")._replace(commit="other")]
        assert store.ingest(both, "ci").points[1].reason == "commit: order 1 of this series is 'c1'"
        assert store.ingest([point(1, run="3")], "ci").counts["written"] == 1


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (point(0)._replace(value=float("nan")), "value"),
        (point(0)._replace(value=1e300), "value"),
        (point(0)._replace(value=10**400), "value"),
        (point(0)._replace(value=-(10**5000)), "value"),
        (point(0)._replace(value="1"), "value"),  # type: ignore[arg-type]
        (point(0)._replace(value=True), "value"),
        (point(0)._replace(order=2**52 + 1), "order"),
        (point(0)._replace(order=-(2**52) - 1), "order"),
        (point(0)._replace(order=10**5000), "order"),
        (point(0)._replace(order=1.5), "order"),  # type: ignore[arg-type]
        (point(0)._replace(order=None, commit=""), "order"),
        (point(0)._replace(commit="x" * 501), "commit"),
        (point(0)._replace(commit="a\x00b"), "commit"),
        (point(0)._replace(run="\ud800"), "run"),
        (point(0)._replace(time=2**63), "time"),
        (point(0)._replace(series=series("x" * 501)), "test"),
        (point(0)._replace(series=SeriesId("", "", "", "", "")), "series"),
        (
            point(0)._replace(series=SeriesId("p", "", "", "", "", (("a", "b"),) * 33)),
            "args",
        ),
    ],
)
def test_invalid_measurement_is_rejected_with_a_reason_alone(
    store: Store, bad: Measurement, field: str
) -> None:
    answer = store.ingest([point(1), bad, point(2)], "ci")
    assert answer.counts == {"written": 2, "duplicate": 0, "revised": 0, "rejected": 1}
    assert answer.points[1].status is PointStatus.REJECTED
    assert answer.points[1].reason.startswith(f"{field}:")
    assert list(answer.reasons.values()) == [1]


def test_commits_without_an_order_follow_the_largest_order(store: Store) -> None:
    for order in (2**52, -(2**52)):
        assert store.ingest([point(order)], "ci").counts["written"] == 1
    following = point(0)._replace(order=None, commit="next")
    assert store.ingest([following], "ci").points[0].order == 2**52 + 1
    for order in (2**52 + 1, 2**53):
        [answer] = store.ingest([point(order)], "ci").points
        assert answer.status is PointStatus.REJECTED
        assert f"order: {order} is not allowed; whole numbers of at most 2^52" in answer.reason
    assert store.ingest([following._replace(commit="other")], "ci").counts["written"] == 1


def test_order_of_another_commit_is_rejected(store: Store) -> None:
    store.ingest([point(0)], "ci")
    answer = store.ingest([point(0)._replace(commit="other")], "ci")
    [outcome] = answer.points
    assert outcome == PointResult(PointStatus.REJECTED, "commit: order 0 of this series is 'c0'")


def test_commit_has_one_order_in_its_project(store: Store) -> None:
    refused = (
        "order: 9, but commit 'c5' of project 'p' has order 5; "
        "a commit has one order in its project"
    )
    store.ingest([point(5)], "ci")
    later = point(9)._replace(commit="c5")
    for sent in (later, later._replace(run="2"), later._replace(series=series("b"))):
        answer = store.ingest([sent, point(9)._replace(series=series("p", "other"))], "ci")
        assert [result.reason for result in answer.points] == [refused, ""]
    [first, second] = store.ingest([point(6), point(7)._replace(commit="c6")], "ci").points
    assert (first.status, second.status) == (PointStatus.WRITTEN, PointStatus.REJECTED)
    assert "order: 7, but commit 'c6' of project 'p' has order 6;" in second.reason


def test_rejected_result_gives_its_commit_no_order(store: Store) -> None:
    store.ingest([point(5)], "ci")
    wrong = point(5)._replace(commit="c9")
    assert store.ingest([wrong, point(8)], "ci").counts["rejected"] == 1
    assert store.ingest([point(9)], "ci").counts["written"] == 1
    assert store.ingest([point(5)._replace(commit="c8")], "ci").counts["rejected"] == 1
    assert store.ingest([point(8, run="2")], "ci").counts["written"] == 1


def test_commit_that_a_store_has_at_two_orders_keeps_both(store: Store) -> None:
    store.ingest([point(5), point(9)], "ci")
    store.write(lambda c: c.execute(sa.update(points).values(commit="c5")))
    again = point(9)._replace(commit="c5")
    assert store.ingest([again, again._replace(run="2")], "ci").counts["rejected"] == 0


def test_first_direction_of_a_series_holds(store: Store) -> None:
    up = point(1)._replace(direction=Direction.HIGHER_IS_BETTER)
    down = point(2)._replace(direction=Direction.LOWER_IS_BETTER)
    answer = store.ingest([point(0), up, down], "ci")
    assert answer.counts["written"] == 2
    assert answer.points[2].reason == "direction: -1, but the series has 1"


def test_batch_beyond_the_limit_is_refused(url: str) -> None:
    with (
        Store(url, Rule(), limits=Limits(batch=2)) as store,
        pytest.raises(DataError, match="3 measurements in one request, allowed are 2"),
    ):
        store.ingest([point(0), point(1), point(2)], "ci")


def test_two_processes_can_write_alternately(url: str) -> None:
    sent = history("ab", 30)
    with Store(url, Rule()) as first, Store(url, Rule()) as other:
        for number, batch in enumerate(sent[k : k + 7] for k in range(0, len(sent), 7)):
            (first, other)[number % 2].ingest(batch, "ci")
        turns = contents(first)
        assert table(first, points, "answer").count((CHANGE,)) == 2
        assert other.ingest(sent, "ci").counts["duplicate"] == len(sent)
        assert contents(other) == turns


def test_store_without_a_judge_takes_no_measurements(url: str) -> None:
    with Store(url) as store, pytest.raises(ConfigError, match="without a model"):
        store.ingest([point(0)], "ci")
