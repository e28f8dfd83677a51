"""The candidates are the same for any number of workers and any order of arrival."""

from collections.abc import Callable

import numpy as np
import pytest
import sqlalchemy as sa

from barograph.detection import EDivisive, Hunter
from barograph.results.series import Series, Verdict
from barograph.server.store import Measurement, Store, reading
from barograph.server.store.candidate_records import CandidateRecord, find_candidates
from barograph.server.store.measurement import DECISION
from barograph.server.store.schema import points
from barograph.server.triage import refresh
from barograph.server.triage.refresh import CandidateRefresher
from barograph.server.triage.verdicts import record_batch
from tests.store.judges import Rule
from tests.store.samples import point, series


def sent() -> list[Measurement]:
    """Two series of 100 results; one of them has three steps."""
    random = np.random.default_rng(7)
    return [
        point(order, float(random.normal(3.0 * (order // 25 % 2) * (name == "a"), 0.5)), name)
        for order in range(100)
        for name in "ab"
    ]


Rows = list[tuple[object, ...]]


def ingest(
    store: Store, results: list[Measurement], refresher: CandidateRefresher, size: int
) -> None:
    """Send results in requests of some size, and search after each."""
    for first in range(0, len(results), size):
        store.ingest(results[first : first + size], "ci")
        refresher.refresh(store)


def candidates_by_name(connection: sa.Connection) -> list[tuple[str, CandidateRecord]]:
    """Return all candidates, each with the test of its series."""
    names = names_of(connection)
    return [(names[candidate.series], candidate) for candidate in find_candidates(connection)]


def names_of(connection: sa.Connection) -> dict[int, str]:
    return {row.id: row.name.test for row in reading.find_series(connection)}


def candidates_after(url: str, seed: int, refresher: CandidateRefresher) -> Rows:
    """What the store says of its candidates once all results have arrived in one order."""
    every = sent()
    shuffled = [every[k] for k in np.random.default_rng(seed).permutation(len(every))]
    with Store(url, Rule()) as store:
        ingest(store, shuffled, refresher, 50)
        with store.read() as connection:
            candidates = candidates_by_name(connection)
    facts = ("order", "commit", "statistic", "pvalue", "discovery", "q", "before", "after")
    rows = [(name, *(getattr(candidate, fact) for fact in facts)) for name, candidate in candidates]
    return sorted(rows, key=lambda row: row[:2])


@pytest.mark.parametrize("detector", [Hunter(), EDivisive()])
def test_any_order_of_arrival_leads_to_the_same_candidates(
    new_url: Callable[[], str], detector: Hunter | EDivisive
) -> None:
    def refresher() -> CandidateRefresher:
        return CandidateRefresher(detector, "d", recent=30)

    expected = candidates_after(new_url(), 0, refresher())
    assert {("a", 25), ("a", 50), ("a", 75)} <= {row[:2] for row in expected}
    assert candidates_after(new_url(), 1, refresher()) == expected


def state_after(url: str, seed: int) -> tuple[Rows, Rows]:
    """Decisions and verdicts once the results between judged change points have arrived."""
    refresher, random = CandidateRefresher(Hunter(), "d", recent=30), np.random.default_rng(seed)
    every = sent()
    sparse = [result for result in every if (result.order or 0) % 2 == 0]
    rest = [result for result in every if (result.order or 0) % 2]
    with Store(url, Rule()) as store:
        store.ingest([sparse[k] for k in random.permutation(len(sparse))], "ci")
        refresher.refresh(store)
        with store.read() as connection:
            items = [(candidate.id, None) for candidate in find_candidates(connection)]
        store.write(lambda c: record_batch(c, items, Verdict.TRUE_POSITIVE, "ann"))
        late = [rest[k] for k in random.permutation(len(rest))]
        ingest(store, late, refresher, 75)
        with store.read() as connection:
            names, candidates = names_of(connection), candidates_by_name(connection)
            columns = points.c.series, points.c.order, *(points.c[name] for name in DECISION)
            decided = connection.execute(sa.select(*columns)).all()
    judged = [(name, entry.order, entry.verdict, entry.present) for name, entry in candidates]
    return sorted((names[number], *row) for number, *row in decided), sorted(judged)


def test_any_order_of_arrival_leads_to_the_same_decisions_and_moves_verdicts_alike(
    new_url: Callable[[], str],
) -> None:
    decided, judged = state_after(new_url(), 0)
    assert len(decided) == 200
    for order in (25, 50, 75):
        assert ("a", order, Verdict.TRUE_POSITIVE, True) in judged
    assert state_after(new_url(), 1) == (decided, judged)


def test_threads_find_the_same_as_one_search_for_each_series(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refresh, "SMALLEST", 1)
    values = np.reshape([row.value for row in sent()], (100, 2)).T
    some = [Series(series(), np.arange(100), numbers) for numbers in (*values, *values)]
    together = refresh.find_changes(Hunter(), some, recent=30)
    assert together == [refresh.find_changes(Hunter(), [one], recent=30)[0] for one in some]
    assert [point.index for point in together[0]] == [25, 50, 75]
