"""The queue: what filters let through, what is hidden, and what is read again."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa

from barograph.results.series import Direction, SeriesId, Verdict
from barograph.runtime.errors import DataError
from barograph.server.store import Measurement, Store
from barograph.server.store.schema import candidates, clusters, commits
from barograph.server.triage import patterns, queue, verdicts
from barograph.server.triage.commits import commits_with_changes
from barograph.server.triage.effects import Effect, traces
from barograph.server.triage.filters import QueueFilter
from barograph.server.triage.grouping import by_cause
from barograph.server.triage.queue import processed
from barograph.server.triage.suspects import known_ranges
from tests.store.samples import number_of
from tests.triage.test_grouping import entry

DAY = 86_400_000
NOW = 1_800_000_000_000


@dataclass
class Filled:
    """A store with a series for each candidate."""

    store: Store
    ids: dict[str, int] = field(default_factory=dict)

    def add(self, name: SeriesId, order: int = 6, **more: Any) -> int:
        """Add a series of ten results with a candidate."""
        values = [
            Measurement(
                name, 10.0 + 5.0 * (k >= order), k, f"c{k}", direction=Direction.LOWER_IS_BETTER
            )
            for k in range(10)
        ]
        self.store.ingest(values, "ci")
        return self.add_candidate(name, order, **more)

    def add_candidate(self, name: SeriesId, order: int = 6, **more: Any) -> int:
        """Add a candidate to a series."""
        region = (
            '{"count": 4, "min": 1, "max": 1, "median": 1, "mean": 1, "variance": 0, "level": %s}'
        )
        row = {
            "order": order,
            "commit": f"c{order}",
            "last_before": order - 1,
            "before": region % 10.0,
            "after": region % 15.0,
            "hazard": 0.4,
            "probability": 0.9,
            "verdict": "not_triaged",
            "present": True,
            "detected_on": NOW,
            **more,
        }

        def work(connection: sa.Connection) -> int:
            key = connection.execute(
                sa.insert(candidates), {"series": number_of(connection, name), **row}
            ).inserted_primary_key
            assert key is not None
            return int(key[0])

        return self.store.write(work)


@pytest.fixture
def filled(store: Store) -> Filled:
    """Two tests on two variants, each with a candidate; the improvement is at another commit."""
    made = Filled(store)
    for variant in ("linux", "arm"):
        for test, more in (
            ("insert", {}),
            ("find", {"order": 3, "hazard": -0.2, "detected_on": NOW - 9 * DAY}),
        ):
            name = SeriesId("db", variant, "nightly", test, "p99", (("threads", "16"),))
            made.ids[f"{variant} {test}"] = made.add(name, **more)  # type: ignore[arg-type]
    return made


def groups_of(filled: Filled, **filters: Any) -> queue.QueuePage:
    with filled.store.read() as connection:
        return queue.open_groups(connection, QueueFilter(**filters))


def names_of(page: queue.QueuePage) -> set[str]:
    return {
        f"{member.identity.variant} {member.identity.test}"
        for g in page.groups
        for member in g.members
    }


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"linux insert", "arm insert", "linux find", "arm find"}),
        ({"variant": "arm"}, {"arm insert", "arm find"}),
        ({"variant": "l*"}, {"linux insert", "linux find"}),
        ({"args": "threads=16", "test": "find"}, {"linux find", "arm find"}),
        ({"args": "8"}, set()),
        ({"q": "ARM inser"}, {"arm insert"}),
        ({"q": "c6"}, {"linux insert", "arm insert"}),
        ({"effect": "better"}, {"linux find", "arm find"}),
        ({"hazard": 0.3}, {"linux insert", "arm insert"}),
        ({"probability": 0.95}, set()),
        ({"state": "withdrawn"}, set()),
    ],
)
def test_filters_let_through_what_they_name(
    filled: Filled, filters: dict[str, Any], expected: set[str]
) -> None:
    assert names_of(groups_of(filled, **filters)) == expected


def test_a_filter_on_days_uses_when_candidates_were_found(
    filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "now", lambda: NOW + DAY)
    assert names_of(groups_of(filled, since="7d")) == {"linux insert", "arm insert"}
    assert names_of(groups_of(filled, until="2027-01-08")) == {"linux find", "arm find"}
    with pytest.raises(DataError, match="'soon' is neither a day"):
        QueueFilter(since="soon")


def test_a_series_with_several_candidates_is_counted_once(filled: Filled) -> None:
    filled.add(SeriesId("db", "arm", "nightly", "find", "p99", (("threads", "16"),)), order=20)
    page = groups_of(filled)
    assert (page.members, page.series) == (5, 4)


def test_a_page_counts_groups_members_and_effects(filled: Filled) -> None:
    page = groups_of(filled)
    assert (page.total, page.members, page.series, page.commits) == (2, 4, 4, 2)
    assert page.effects == {"worse": 1, "better": 1, "unknown": 0}
    assert page.newest == NOW
    with filled.store.read() as connection:
        second = queue.open_groups(connection, offset=1, limit=1, newer_than=NOW - 1)
    assert [group.effect for group in second.groups] == ["better"]
    assert second.previous is not None
    assert second.newer == 1


def test_a_trend_is_neither_worse_nor_better_and_ranks_by_its_size(filled: Filled) -> None:
    number = filled.add(SeriesId("db", "linux", "nightly", "drift", "p99"), hazard=0.5, trend=True)
    page = groups_of(filled)
    assert [group.effect for group in page.groups] == ["trend", "worse", "better"]
    assert page.groups[0].worst.id == number
    assert page.effects == {"worse": 1, "better": 1, "unknown": 1}
    with filled.store.read() as connection:
        [at_six, _] = commits_with_changes(connection, "db")
    assert (at_six.worse, at_six.better, at_six.unknown) == (2, 0, 1)


def test_what_another_process_wrote_is_shown_at_once(filled: Filled, url: str) -> None:
    assert len(names_of(groups_of(filled))) == 4
    with Store(url) as other:
        items = [(filled.ids["arm find"], 0)]
        other.write(lambda c: verdicts.record_batch(c, items, Verdict.FALSE_POSITIVE, "ada"))
        assert names_of(groups_of(filled)) == {"linux insert", "arm insert", "linux find"}
        other.write(lambda c: patterns.set_patterns(c, {"canary": ["*/arm/*"]}, "ada"))
        assert names_of(groups_of(filled)) == {"linux insert", "linux find"}


def test_a_direction_that_ingest_learns_changes_the_effect(filled: Filled) -> None:
    name = SeriesId("db", "linux", "task", "update", "ops")
    values = [Measurement(name, 10.0, order, f"c{order}") for order in range(10)]
    filled.store.ingest(values, "ci")
    filled.add_candidate(name)
    assert groups_of(filled, test="update").groups[0].effect == "rose"
    newest = Measurement(name, 10.0, 10, "c10", direction=Direction.LOWER_IS_BETTER)
    filled.store.ingest([newest], "ci")
    assert groups_of(filled, test="update").groups[0].effect == "worse"


def test_candidates_are_read_once_while_only_results_arrive(filled: Filled) -> None:
    name = SeriesId("db", "linux", "task", "new", "ops")
    groups_of(filled)
    read: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        read.append(statement)

    with filled.store.read() as connection:
        engine = connection.engine
    sa.event.listen(engine, "before_cursor_execute", note)
    filled.store.ingest([Measurement(name, 1.0, 1, "c1")], "ci")
    read.clear()
    assert len(names_of(groups_of(filled, variant="arm", sort="name"))) == 2
    assert len(names_of(groups_of(filled))) == 4
    assert read
    assert not [statement for statement in read if "FROM candidates" in statement]


def test_hidden_kinds_are_counted_and_shown_on_request(filled: Filled) -> None:
    def work(connection: sa.Connection) -> None:
        patterns.set_patterns(
            connection, {"canary": ["*/arm/*"], "low_priority": ["*/find/*"]}, "x"
        )

    filled.store.write(work)
    page = groups_of(filled)
    assert names_of(page) == {"linux insert"}
    assert page.hidden == {"canary": 2, "low_priority": 1}
    page = groups_of(filled, show=("canary",))
    assert names_of(page) == {"linux insert", "arm insert", "arm find"}
    assert page.hidden == {"low_priority": 1}


def test_a_candidate_leaves_with_its_verdict_and_is_found_by_its_state(filled: Filled) -> None:
    number = filled.ids["arm find"]
    pairs = [(number, 0)]
    filled.store.write(
        lambda c: verdicts.record_batch(c, pairs, Verdict.UNSURE, "ann", "odd", "host")
    )
    assert "arm find" not in names_of(groups_of(filled))
    assert names_of(groups_of(filled, state="unsure")) == {"arm find"}
    assert names_of(groups_of(filled, ids=(number, filled.ids["linux find"]))) == {
        "arm find",
        "linux find",
    }
    with filled.store.read() as connection:
        page = processed(connection)
        assert processed(connection, verdict=Verdict.FALSE_POSITIVE).entries == []
        assert processed(connection, who="bob").entries == []
        assert processed(connection, QueueFilter(q="linux")).entries == []
    [item] = page.entries
    assert (item.entry.id, item.verdict, item.who, item.reason) == (number, "unsure", "ann", "host")
    assert (item.note, page.counts["unsure"], page.more) == ("odd", 1, False)


def test_withdrawn_candidates_are_found_by_their_state(filled: Filled) -> None:
    gone = candidates.c.id == filled.ids["arm find"]
    filled.store.write(lambda c: c.execute(sa.update(candidates).where(gone).values(present=False)))
    assert names_of(groups_of(filled, state="withdrawn")) == {"arm find"}


def test_series_that_moved_alike_at_a_commit_form_one_group_whatever_clusters_hold(
    filled: Filled,
) -> None:
    with filled.store.read() as connection:
        [owner] = connection.scalars(
            sa.select(candidates.c.series).where(candidates.c.id == filled.ids["arm insert"])
        )
    row = {
        "project": "db",
        "order": 6,
        "members": f"[{owner}]",
        "centroid": "[]",
        "step": 1.0,
        "fit": 0.1,
        "regression": 200.0,
        "status": "new",
        "current": True,
    }
    filled.store.write(lambda connection: connection.execute(sa.insert(clusters), row))
    [group] = groups_of(filled, test="insert").groups
    assert {member.id for member in group.members} == {
        filled.ids["linux insert"],
        filled.ids["arm insert"],
    }


def test_the_group_of_a_candidate_is_found_among_hidden_ones(filled: Filled) -> None:
    with filled.store.read() as connection:
        group = queue.get_group(connection, QueueFilter(), filled.ids["arm insert"])
        with pytest.raises(DataError, match="candidate 999 is not in the queue"):
            queue.get_group(connection, QueueFilter(), 999)
    assert {member.identity.variant for member in group.members} == {"linux", "arm"}


def test_values_of_labels_are_counted(filled: Filled) -> None:
    with filled.store.read() as connection:
        assert sorted(queue.label_values(connection, "variant")) == [("arm", 2), ("linux", 2)]
        assert queue.label_values(connection, "args") == [("threads=16", 4)]
        with pytest.raises(DataError, match="'colour' is not one of"):
            queue.label_values(connection, "colour")


def test_a_trace_has_the_results_around_its_candidate(filled: Filled) -> None:
    number = filled.ids["linux insert"]
    with filled.store.read() as connection:
        actual = traces(connection, [number])[number]
    assert actual.values == (10.0,) * 6 + (15.0,) * 4
    # A row says what its chart says: the medians and means of the segments are all 1 here.
    assert (len(actual.before), actual.levels) == (6, Effect(10.0, 15.0, 4, 4, is_clear=True))
    assert actual.levels is not None
    assert actual.levels.percent == 50.0


def test_levels_without_a_finite_change_have_no_percent() -> None:
    assert Effect(0.0, 1.0, 4, 4, is_clear=True).percent is None
    assert Effect(1e-300, 1e100, 4, 4, is_clear=True).percent is None


def test_ranges_of_more_groups_than_a_condition_may_hold_find_their_commits(
    filled: Filled,
) -> None:
    count = 1200  # SQLite refuses expressions of more than 1000 levels
    rows = [{"project": "wide", "commit": f"w{k}", "order": k} for k in range(2 * count + 1)]
    entries = [entry(k, 2 * k + 2, 2 * k, project="wide") for k in range(count)]
    filled.store.write(lambda connection: connection.execute(sa.insert(commits), rows))
    with filled.store.read() as connection:
        bounds = [(group.last_before, group.order) for group in by_cause(entries)]
        suspected = known_ranges(connection, "wide", bounds)
    assert len(suspected) == count
    assert suspected[2398, 2400].commits == ((2399, "w2399"), (2400, "w2400"))
