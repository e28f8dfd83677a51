"""The candidates are the same for any number of workers and any order of arrival."""

from collections.abc import Callable

import numpy as np
import pytest
import sqlalchemy as sa

from barograph.detection import EDivisive, Hunter
from barograph.parallel import map_parallel
from barograph.series import Series, Verdict
from barograph.store import Measurement, Store, reading
from barograph.store.candidate_records import find_candidates
from barograph.store.schema import points
from barograph.store.upsert import DECISION
from barograph.triage import refresh
from barograph.triage.refresh import CandidateRefresher
from barograph.triage.verdicts import record_batch
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


def candidates_after(url: str, seed: int, refresher: CandidateRefresher) -> Rows:
    """What the store says of its candidates once all results have arrived in one order."""
    every = sent()
    shuffled = [every[k] for k in np.random.default_rng(seed).permutation(len(every))]
    with Store(url, Rule()) as store:
        for first in range(0, len(shuffled), 50):
            store.ingest(shuffled[first : first + 50], "ci")
            refresher.refresh(store)
        with store.read() as connection:
            names = {one.id: one.name.test for one in reading.find_series(connection)}
            found = find_candidates(connection)
    facts = ("order", "commit", "statistic", "pvalue", "discovery", "q", "before", "after")
    rows = [(names[one.series], *(getattr(one, name) for name in facts)) for one in found]
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
    sparse = [one for one in every if (one.order or 0) % 2 == 0]
    rest = [one for one in every if (one.order or 0) % 2]
    with Store(url, Rule()) as store:
        store.ingest([sparse[k] for k in random.permutation(len(sparse))], "ci")
        refresher.refresh(store)
        with store.read() as connection:
            items = [(one.id, None) for one in find_candidates(connection)]
        store.write(lambda c: record_batch(c, items, Verdict.TRUE_POSITIVE, "ann"))
        late = [rest[k] for k in random.permutation(len(rest))]
        for first in range(0, len(late), 75):
            store.ingest(late[first : first + 75], "ci")
            refresher.refresh(store)
        with store.read() as connection:
            names = {one.id: one.name.test for one in reading.find_series(connection)}
            found = find_candidates(connection)
            columns = points.c.series, points.c.order, *(points.c[name] for name in DECISION)
            decided = connection.execute(sa.select(*columns)).all()
    judged = [(names[one.series], one.order, one.verdict, one.present) for one in found]
    return sorted((names[number], *row) for number, *row in decided), sorted(judged)


def test_any_order_of_arrival_leads_to_the_same_decisions_and_moves_verdicts_alike(
    new_url: Callable[[], str],
) -> None:
    decided, judged = state_after(new_url(), 0)
    assert len(decided) == 200
    for order in (25, 50, 75):
        assert ("a", order, Verdict.TRUE_POSITIVE, True) in judged
    assert state_after(new_url(), 1) == (decided, judged)


def test_processes_and_threads_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "WORTHWHILE", 0)
    monkeypatch.setattr(refresh, "PART", 1)
    used = []

    def mapped(function: object, calls: list[object], workers: int) -> object:
        used.append((len(calls), workers))
        return map_parallel(function, calls, workers=1)  # type: ignore[arg-type]

    monkeypatch.setattr(refresh, "map_parallel", mapped)
    values = np.reshape([one.value for one in sent()], (100, 2)).T
    some = [Series(series(), np.arange(100), own) for own in (*values, *values)]
    alone = refresh.find_changes(Hunter(), some, recent=30)
    assert refresh.find_changes(Hunter(), some, recent=30, workers=2) == alone
    assert used == [(4, 2)]
    assert [point.index for point in alone[0]] == [25, 50, 75]
