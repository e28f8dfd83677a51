"""What helps to decide: suspects, siblings, the chart of a series, and its history."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from barograph.models import TriageModel
from barograph.results.series import Direction, SeriesId, Verdict
from barograph.runtime.errors import DataError
from barograph.server.store import Measurement, Store
from barograph.server.store.candidate_records import get_candidate
from barograph.server.triage import tickets, timeline
from barograph.server.triage.chart import MarkState, series_chart
from barograph.server.triage.explanations import explanation
from barograph.server.triage.patterns import set_patterns
from barograph.server.triage.refresh import CandidateRefresher
from barograph.server.triage.search import search_series
from barograph.server.triage.siblings import SiblingState, siblings
from barograph.server.triage.similar_cases import DecidedCases
from barograph.server.triage.suspects import suspects
from tests.store.judges import Rule
from tests.triage.test_refresh import Scripted, judge

UP, DOWN = Direction.HIGHER_IS_BETTER, Direction.LOWER_IS_BETTER


def results(
    threads: int,
    orders: Iterable[int],
    change: int = 20,
    *,
    size: float = -20.0,
    direction: Direction = UP,
) -> list[Measurement]:
    """A series of one test that steps at an order."""
    name = SeriesId("p", "linux", "task", "insert", "ops", (("threads", str(threads)),))
    return [
        Measurement(
            name,
            100.0 + order * 7 % 3 + size * (order >= change),
            order,
            f"c{order}",
            direction=direction,
        )
        for order in orders
    ]


def refreshed(store: Store, sent: Sequence[Measurement], *places: int) -> None:
    """Store results, and let candidates be at some indices of every series."""
    store.ingest(sent, "ci")
    CandidateRefresher(Scripted(places), "scripted").refresh(store)


def test_suspects_are_the_commits_after_the_last_result_of_the_old_level(store: Store) -> None:
    refreshed(store, [*results(1, range(0, 40, 4), 20), *results(2, range(40), size=0.0)], 5)
    with store.read() as connection:
        suspected = suspects(connection, 1)
    assert suspected.last_before is not None
    assert suspected.first_after is not None
    assert (suspected.last_before.order, suspected.first_after.order) == (16, 20)
    assert [commit.order for commit in suspected.commits] == [17, 18, 19, 20]
    assert suspected.count == 4
    assert not any(commit.is_likely for commit in suspected.commits)
    assert (suspected.next, suspected.is_complete) == ("c18", False)


def test_siblings_that_moved_narrow_the_suspects(store: Store) -> None:
    sent = [*results(1, range(0, 40, 4), 20), *results(2, range(40), 18)]
    store.ingest(sent, "ci")
    CandidateRefresher(Scripted([5]), "scripted").refresh(store)
    with store.read() as connection:
        suspected = suspects(connection, 1)
    assert [(commit.old, commit.new) for commit in suspected.commits] == [(1, 0), (0, 1)] + [
        (0, 1)
    ] * 2
    assert [commit.order for commit in suspected.commits if commit.is_likely] == [18]
    assert suspected.next == "c18"


def test_one_suspect_leaves_nothing_to_run(store: Store) -> None:
    refreshed(store, results(1, range(40)), 20)
    with store.read() as connection:
        suspected = suspects(connection, 1)
    assert [commit.commit for commit in suspected.commits] == ["c20"]
    assert suspected.next is None


def test_a_result_that_arrives_late_narrows_the_suspects(store: Store) -> None:
    refreshed(store, [*results(1, range(0, 40, 4)), *results(2, range(40), size=0.0)], 5)
    store.ingest(results(1, [18], 20), "ci")
    with store.read() as connection:
        suspected = suspects(connection, 1)
    assert [commit.order for commit in suspected.commits] == [19, 20]
    assert suspected.next == "c19"


def test_siblings_say_what_each_did_at_the_commit(store: Store) -> None:
    refreshed(store, [*results(1, range(40)), *results(2, range(40))], 20)
    steady, silent, short = results(4, range(40), size=0.0), results(8, range(20)), range(19, 40)
    store.ingest([*steady, *silent, *results(16, short)], "ci")
    with store.read() as connection:
        neighbours = siblings(connection, 1)
    states = {
        dict(sibling.series.name.args)["threads"]: sibling.state for sibling in neighbours.siblings
    }
    assert states == {
        "2": SiblingState.MOVED,
        "4": SiblingState.STEADY,
        "8": SiblingState.NO_RESULT,
        "16": SiblingState.TOO_FEW,
    }
    assert (neighbours.fell, neighbours.rose, neighbours.steady, neighbours.waiting) == (1, 0, 1, 2)
    moved = neighbours.siblings[0]
    assert moved.effect.percent == pytest.approx(-20.0, abs=1.0)
    assert moved.candidate is not None


def test_another_test_is_no_sibling(store: Store) -> None:
    other = SeriesId("p", "linux", "task", "find", "ops")
    refreshed(store, results(1, range(40)), 20)
    store.ingest([Measurement(other, 1.0, order, f"c{order}") for order in range(5)], "ci")
    with store.read() as connection:
        assert siblings(connection, 1).siblings == ()


def test_evidence_about_an_unknown_candidate_is_refused(store: Store) -> None:
    with store.read() as connection:
        for read in (suspects, siblings, timeline.timeline):
            with pytest.raises(DataError, match="no candidate 7"):
                read(connection, 7)


def test_chart_has_an_entry_for_each_commit_with_the_range_of_its_runs(store: Store) -> None:
    runs = [result._replace(run="2", value=result.value + 4.0) for result in results(1, [3])]
    store.ingest([*results(1, range(6), size=0.0), *runs], "ci")
    with store.read() as connection:
        chart = series_chart(connection, 1)
    assert chart.orders == list(range(6))
    assert chart.commits[3] == "c3"
    assert chart.runs == [1, 1, 1, 2, 1, 1]
    assert chart.high[3] - chart.low[3] == 4.0
    assert chart.values[0] == chart.low[0] == chart.high[0]


def test_chart_draws_each_state_and_only_open_or_real_changes_divide_levels(store: Store) -> None:
    refreshed(store, results(1, range(60)), 10, 20, 30, 40)
    give = {1: Verdict.FALSE_POSITIVE, 2: Verdict.TRUE_POSITIVE}
    for number, verdict in give.items():
        judge(store, number, verdict)
    # The last candidate is no longer found, and the third moves by two commits.
    store.ingest(results(1, [60]), "ci")
    CandidateRefresher(Scripted([10, 20, 32]), "scripted").refresh(store)
    with store.read() as connection:
        chart = series_chart(connection, 1)
    assert [(mark.index, mark.state) for mark in chart.marks] == [
        (10, MarkState.NOISE),
        (20, MarkState.REAL),
        (30, MarkState.MOVED),
        (32, MarkState.UNPROCESSED),
        (40, MarkState.WITHDRAWN),
    ]
    # The change at 20 was measured since the one at 10, although that is noise.
    assert [line[:2] for line in chart.levels] == [(0, 10), (10, 20), (20, 32), (32, 61)]
    assert [line.is_used for line in chart.levels] == [False, True, True, True]
    assert chart.ranges == [(31, 32)]
    assert chart.marks[1].effect == "worse"


def test_an_excursion_between_two_changes_that_count_is_a_level_and_no_outlier(
    store: Store,
) -> None:
    sent = [
        result._replace(value=result.value + 100.0 * (order in (10, *range(30, 38))))
        for order, result in enumerate(results(1, range(60), size=0.0))
    ]
    refreshed(store, sent, 30, 38)
    with store.read() as connection:
        assert series_chart(connection, 1).outliers == [10]
    judge(store, 1, Verdict.FALSE_POSITIVE)
    with store.read() as connection:
        assert series_chart(connection, 1).outliers == [10, *range(30, 38)]


def test_chart_has_drifts(store: Store) -> None:
    ramp = 10.0 + 5.0 * np.clip((np.arange(160) - 40) / 60, 0.0, 1.0)
    noise = np.random.default_rng(1).normal(0.0, 0.1, 160)
    values = (ramp + noise).tolist()
    sent = [r._replace(value=v) for r, v in zip(results(1, range(160)), values, strict=True)]
    refreshed(store, sent)
    with store.read() as connection:
        [drift] = series_chart(connection, 1).slow
    assert (drift.kind, abs(drift.begin - 40) <= 5, abs(drift.end - 100) <= 8) == (
        "drift",
        True,
        True,
    )
    assert drift.percent == pytest.approx(50.0, abs=5.0)


def test_chart_has_the_change_points_at_negative_orders(store: Store) -> None:
    refreshed(store, results(1, range(-40, 0), -20), 20)
    with store.read() as connection:
        [mark] = series_chart(connection, 1).marks
    assert (mark.order, mark.index) == (-20, 20)


def test_search_finds_letters_beyond_ascii_as_they_are_written(store: Store) -> None:
    store.ingest([Measurement(SeriesId("p", "", "", "ÉCOLE", ""), 1.0, 1)], "ci")
    with store.read() as connection:
        counts = [len(search_series(connection, text)) for text in ("ÉCOLE", "Écol", "x")]
    assert counts == [1, 1, 0]


def test_chart_of_a_series_has_its_tickets(store: Store) -> None:
    refreshed(store, results(1, range(40)), 20)
    store.write(lambda c: tickets.file(c, "T-1", "", "slower", [1], "ann"))
    with store.read() as connection:
        chart = series_chart(connection, 1)
    assert [(ticket.key, ticket.index) for ticket in chart.tickets] == [("T-1", 20)]


def test_chart_of_an_unknown_series_is_refused(store: Store) -> None:
    with store.read() as connection, pytest.raises(DataError, match="no series 3"):
        series_chart(connection, 3)


def test_reasons_are_those_of_the_model_with_facts_about_siblings(store: Store) -> None:
    refreshed(store, [*results(1, range(40)), *results(2, range(40))], 20)
    model = TriageModel.default("label_free")
    with store.read() as connection:
        explained = explanation(connection, 1, model, siblings(connection, 1))
    assert explained.model == model.version
    assert any("fell" in reason.text for reason in explained.reasons)
    assert "1 of 1 sibling series fell at the same commit." in explained.facts


@pytest.mark.parametrize(("sizes", "speaks_against"), [((20.0,), True), ((20.0, -20.0), False)])
def test_siblings_that_moved_the_other_way_speak_against_a_change(
    store: Store, sizes: tuple[float, ...], speaks_against: bool
) -> None:
    others = [
        result for k, size in enumerate(sizes, 2) for result in results(k, range(40), size=size)
    ]
    refreshed(store, [*results(1, range(40)), *others], 20)
    with store.read() as connection:
        explained = explanation(connection, 1, None, siblings(connection, 1))
    assert any("rose" in text for text in explained.against) == speaks_against
    assert any("rose" in text for text in explained.facts) != speaks_against


@pytest.mark.parametrize(
    ("pattern", "variant", "change", "verdict", "speaks_against"),
    [
        ("*/canary/*", "linux", 20, Verdict.NOT_TRIAGED, True),
        ("*/canary/*", "linux", 20, Verdict.FALSE_POSITIVE, False),
        ("*/canary/*", "arm", 20, Verdict.NOT_TRIAGED, False),
        ("*/canary/*", "linux", 30, Verdict.NOT_TRIAGED, False),
        ("*/other/*", "linux", 20, Verdict.NOT_TRIAGED, False),
    ],
)
def test_canaries_that_moved_speak_against_a_change(
    store: Store, pattern: str, variant: str, change: int, verdict: Verdict, speaks_against: bool
) -> None:
    canary = SeriesId("p", variant, "canary", "ping", "ops", ())
    moved = [row._replace(series=canary) for row in results(2, range(40), change)]
    store.ingest(results(1, range(40)), "ci")
    CandidateRefresher(Scripted([20]), "scripted").refresh(store)
    store.ingest(moved, "ci")
    CandidateRefresher(Scripted([change]), "scripted").refresh(store)
    store.write(lambda connection: set_patterns(connection, {"canary": [pattern]}, "ann"))
    if verdict is Verdict.FALSE_POSITIVE:
        judge(store, 2, verdict)
    with store.read() as connection:
        explained = explanation(connection, 1, None, siblings(connection, 1))
    text = "1 canary of this variant moved at the same commit, so the machine may have changed."
    assert (text in explained.against) == speaks_against
    assert speaks_against or explained.against == ()


def test_cases_alike_are_decided_ones_and_the_nearest_first(store: Store) -> None:
    sent = [
        result
        for threads, size in ((1, -20.0), (2, -20.5), (4, 1.0), (8, -20.2))
        for result in results(threads, range(40), size=size)
    ]
    refreshed(store, sent, 20)
    cases = DecidedCases()
    model = TriageModel.default("label_free")
    with store.read() as connection:
        assert cases.nearest(connection, 1, model) == []
    for number, verdict in ((2, Verdict.TRUE_POSITIVE), (3, Verdict.FALSE_POSITIVE)):
        judge(store, number, verdict)
    with store.read() as connection:
        near, far = cases.nearest(connection, 1, model)
    assert (near.candidate, near.verdict, near.who) == (2, Verdict.TRUE_POSITIVE, "ann")
    assert far.verdict is Verdict.FALSE_POSITIVE
    assert near.distance < far.distance
    assert near.values[near.split] < near.values[near.split - 1]


def test_cases_alike_follow_a_series_that_was_merged(store: Store) -> None:
    store.judge = Rule()
    sent = [result for threads in (1, 2, 4) for result in results(threads, range(40))]
    refreshed(store, sent, 20)
    judge(store, 2, Verdict.TRUE_POSITIVE)
    cases, model = DecidedCases(), TriageModel.default("label_free")
    with store.read() as connection:
        [before] = cases.nearest(connection, 1, model)
    # The results of before the change are those of another series now, which was much faster.
    store.ingest(results(8, range(-10, 0), -100, size=900.0), "ci")
    store.merge(4, 2, "ann")
    CandidateRefresher(Scripted([30]), "scripted").refresh(store)
    with store.read() as connection:
        [after] = cases.nearest(connection, 1, model)
    assert (before.candidate, after.candidate) == (2, 2)
    assert before.distance < after.distance


def test_history_of_a_candidate_is_in_the_order_of_time(store: Store) -> None:
    refreshed(store, results(1, range(40)), 20)
    store.ingest(results(1, [40]), "ci")
    CandidateRefresher(Scripted([21]), "scripted").refresh(store)
    judge(store, 1, Verdict.TRUE_POSITIVE)
    judge(store, 1, Verdict.NOT_TRIAGED, "bob")
    with store.read() as connection:
        events = timeline.timeline(connection, 1)
        assert get_candidate(connection, 1).order == 21
    kinds = [event.kind for event in events]
    assert kinds[-2:] == ["verdict", "verdict"]
    assert kinds[0] == "detected"
    facts = "energy statistic 2, number 1 in the order of discovery"
    assert events[0].text == f"scripted ({facts})"
    assert "moved" in kinds
    assert [event.who for event in events[-2:]] == ["ann", "bob"]
    assert events[-2].text == "why"
    assert sorted(event.time or 0 for event in events) == [event.time for event in events]
