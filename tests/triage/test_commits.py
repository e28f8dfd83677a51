"""What one commit changed, and the text about it."""

import pytest

from barograph.results.series import SeriesId
from barograph.runtime.errors import DataError
from barograph.server.store import Measurement, Store, reading
from barograph.server.triage.commits import commit_changes, commit_text, commits_with_changes
from barograph.server.triage.effects import effect_between, levels
from tests.triage.test_evidence import DOWN, refreshed, results


@pytest.fixture
def changed(store: Store) -> Store:
    """Two series fall at commit 20, a third rises there, and others stay or stop."""
    refreshed(store, [*results(1, range(40)), *results(2, range(40), size=-10.0)], 20)
    fewer = [sent._replace(unit="ms") for sent in results(3, range(40), direction=DOWN)]
    refreshed(store, fewer, 20)
    rest = [*results(5, range(15)), *results(6, range(18, 40))]
    store.ingest([*results(4, range(40), size=0.0), *rest], "ci")
    return store


def test_a_commit_has_its_changes_by_effect_the_largest_first(changed: Store) -> None:
    with changed.read() as connection:
        page = commit_changes(connection, "p", 20)
    assert [change.series.name.args[0][1] for change in page.of("worse")] == ["1", "2"]
    assert [change.series.name.args[0][1] for change in page.of("better")] == ["3"]
    assert page.commits == ("c20",)
    assert page.suspects == 1


def test_a_commit_shows_the_levels_that_the_queue_shows(store: Store) -> None:
    drifting = [
        sent._replace(value=sent.value + (sent.order or 0)) for sent in results(1, range(60))
    ]
    refreshed(store, drifting, 40)
    with store.read() as connection:
        [moved] = commit_changes(connection, "p", 40).changed
        assert moved.change is not None
        [known] = levels(connection, [moved.change.id]).values()
    assert moved.effect.size == known.size
    assert (moved.effect.count_before, moved.effect.count_after) == (30, 20)


def test_a_commit_counts_what_did_not_move_and_what_cannot_tell(changed: Store) -> None:
    with changed.read() as connection:
        page = commit_changes(connection, "p", 20)
    assert len(page.quiet) == 1
    assert page.quiet[0].effect.percent == pytest.approx(0.0, abs=1.0)
    assert page.too_few == 1
    assert [(silent.variant, silent.count, silent.last_order) for silent in page.silent] == [
        ("linux", 1, 14)
    ]
    assert (page.total, page.compared) == (6, 6)


def test_a_commit_knows_its_neighbours_with_changes(changed: Store) -> None:
    with changed.read() as connection:
        assert commit_changes(connection, "p", 10).next == 20
        assert commit_changes(connection, "p", 30).previous == 20


def test_the_text_of_a_commit_names_worst_and_best_and_the_rest(changed: Store) -> None:
    with changed.read() as connection:
        text = commit_text(commit_changes(connection, "p", 20), "https://b/commit")
    assert text.splitlines() == [
        "p: performance at commit c20",
        "",
        "Worse: 2 series, median -14.9 %",
        "- insert ops linux threads=1: -19.8 %, 101 to 81",
        "- insert ops linux threads=2: -9.9 %, 101 to 91",
        "",
        "Better: 1 series",
        "- insert ops linux threads=3: -19.8 %, 101 to 81 ms",
        "",
        "1 of 4 series did not move.",
        "1 had too few results before it.",
        "1 has no result since.",
        "Suspect range: this commit; commits that were not measured may lie between.",
        "https://b/commit",
    ]


def test_the_text_of_a_commit_cannot_break_its_lines(store: Store) -> None:
    name = SeriesId("p", "li\u2028nux", "", "in\u202esert", "ops")
    refreshed(
        store,
        [Measurement(name, 100.0 + k % 2 + k // 20, k, f"c{k}") for k in range(40)],
        20,
    )
    with store.read() as connection:
        text = commit_text(commit_changes(connection, "p", 20))
    assert "\u2028" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(("project", "order"), [("q", 20), ("p", 99)])
def test_an_unknown_commit_is_refused(changed: Store, project: str, order: int) -> None:
    with changed.read() as connection, pytest.raises(DataError, match=r"no (project|commit)|order"):
        commit_changes(connection, project, order)


def test_commits_with_changes_come_latest_first_and_in_pages(store: Store) -> None:
    refreshed(store, results(1, range(60)), 20, 40)
    with store.read() as connection:
        [late, early] = commits_with_changes(connection, "p")
        [page] = commits_with_changes(connection, "p", before=40)
        assert reading.projects(connection) == ["p"]
    assert (late.order, early.order) == (40, 20)
    assert (early.worse, early.better, early.undecided) == (1, 0, 1)
    assert page == early


def test_an_effect_needs_results_on_both_sides() -> None:
    level = [(order, 10.0 + order % 2) for order in range(10)]
    assert effect_between(level, 1, 2).before is None
    assert effect_between(level, 9, 10).after is None
    assert not effect_between(level, 4, 5).is_clear
    moved = effect_between([*level, (10, 30.0)], 9, 10)
    assert (moved.is_clear, moved.count_after) == (True, 1)


def test_a_level_of_zero_has_no_percent() -> None:
    rise = [(order, float(order >= 5)) for order in range(10)]
    effect = effect_between(rise, 4, 5)
    assert effect.is_clear
    assert effect.percent is None
