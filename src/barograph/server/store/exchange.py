"""Import a history into the store: every run of every point, and the candidates."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.results.candidates import Candidates
from barograph.results.history import History
from barograph.results.series import UNKNOWN_TIME, Ints, SeriesId, Verdict
from barograph.results.texts import CONTROL
from barograph.server.store import audit
from barograph.server.store.audit import now
from barograph.server.store.candidate_records import mark_stale
from barograph.server.store.database import BulkUpdate, Insertion, Row, rows_in
from barograph.server.store.measurement import Measurement, PointStatus
from barograph.server.store.schema import NEARBY, candidates, commits, moves, verdicts
from barograph.server.store.store import Store

CommitName = tuple[str, str]  # project and name
NEAR = 2**40  # milliseconds, 35 years: orders that are farther apart are not both times
NAMED = 20  # rejected points
BATCH = 20_000  # points in one transaction
CANDIDATE = ("series", "order", "commit", "detector", "nearby")
SEARCH = ("present", "discovery", "q")
NEW = Insertion(candidates, (*CANDIDATE, *SEARCH, "calculated_on", "verdict"))
JUDGED = BulkUpdate(candidates, ("id",), ("verdict", "version", "calculated_on", "triaged_on"))
IMPORTED = Insertion(verdicts, ("candidate", "verdict", "who", "time", "note", "reason", "version"))

# Number and version of a candidate, by its series and each order that it had.
KnownCandidates = dict[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class ImportResult:
    """What happened to the results and the candidates.

    Attributes:
        points: Number of points by status.
        reasons: Number of rejected points by reason.
        rejected: The first rejected points, each with its reason.
        candidates: Number of candidates that were written, or whose verdict was.
        already: Number of candidates that the store had.
    """

    points: dict[str, int]
    reasons: dict[str, int]
    rejected: tuple[str, ...]
    candidates: int
    already: int


def import_history(store: Store, history: History, who: str) -> ImportResult:
    """Import a history; what the store has already is skipped.

    Args:
        store: Store to import into.
        history: The series with all runs of each point, and the candidates.
        who: Name for the audit trail.

    Raises:
        StoreError: A batch failed. Earlier batches stay; the same call imports the rest.
    """
    history = _placed(store, history)
    counts = Counter({status.value: 0 for status in PointStatus})
    reasons: Counter[str] = Counter()
    rejected: list[str] = []
    numbers: dict[SeriesId, int] = {}
    measurements = _measurements(history)
    while batch := list(islice(measurements, BATCH)):
        result = store.ingest(batch, who)
        counts.update(result.counts)
        reasons.update(result.reasons)
        for point, measurement in zip(result.points, batch, strict=True):
            if point.status is not PointStatus.REJECTED:
                numbers[measurement.series] = point.series
            elif len(rejected) < NAMED:
                place = f"{measurement.series}, order {measurement.order}"
                rejected.append(f"{place:.200}: {point.reason}")
    store.finish()
    owners = np.array([numbers.get(name, 0) for name in history.ids], dtype=np.int64)
    written = store.write(lambda connection: _write_candidates(connection, history, owners, who))
    return ImportResult(dict(counts), dict(reasons), tuple(rejected), *written)


def _placed(store: Store, history: History) -> History:
    """Return a history whose made-up orders are replaced by those of the commits in the store.

    The points of a series stay as they are listed, even if their orders no longer rise.
    """
    made_up = frozenset(history.made_up.tolist())
    if not made_up:
        return history
    is_time = np.abs(history.times - history.orders) < NEAR
    is_time &= history.times != UNKNOWN_TIME
    proposals = zip(history.orders.tolist(), is_time.tolist(), strict=True)
    names = ((series.id.project, name) for series in history for name in series.commits)
    listed = [
        (commit if commit[1] and proposal[0] in made_up else None, proposal)
        for commit, proposal in zip(names, proposals, strict=True)
    ]
    proposed = {commit: proposal for commit, proposal in reversed(listed) if commit}
    valid = {c: p for c, p in proposed.items() if not CONTROL.search("".join(c))}
    placed = store.write(lambda connection: place_commits(connection, valid))
    orders = np.array([placed.get(c, p[0]) if c else p[0] for c, p in listed], dtype=np.int64)
    table = history.candidates
    moved = replace(table, orders=orders[history.offsets[table.series] + table.index])
    chosen = orders[[commit is not None for commit, _ in listed]]
    return replace(history, orders=orders, candidates=moved, made_up=chosen)


def _measurements(history: History) -> Iterator[Measurement]:
    """Yield every result, series after series."""
    made_up = frozenset(history.made_up.tolist())
    for number, source in enumerate(history):
        runs: dict[int, list[Any]] = {}
        for index, *run in history.listed_runs(number):
            runs.setdefault(index, []).append(run)
        times = history.times[history.offsets[number] :][: len(source)].tolist()
        points = zip(
            source.orders.tolist(), source.commits, source.values.tolist(), times, strict=True
        )
        for index, (order, commit, value, time) in enumerate(points):
            for run, result, moment in runs.get(index, [("", value, time)]):
                place = order, commit, run, None if moment == UNKNOWN_TIME else moment
                kind = source.direction, source.unit, order in made_up
                yield Measurement(source.id, result, *place, *kind)


def _write_candidates(
    connection: sa.Connection, history: History, numbers: Ints, who: str
) -> tuple[int, int]:
    """Write the candidates that the store lacks; return how many, and how many it had.

    A candidate that moved after an earlier import is known under the order that it came with. One
    without a verdict, such as one that a refresh detected while the points were imported, gets the
    imported verdict.
    """
    known = _known_candidates(connection)
    table, timestamp = history.candidates, now()
    owners, searched = numbers[table.series], _searched(table)
    places = list(zip(owners.tolist(), table.orders.tolist(), strict=True))
    calculated, triaged = _known(table.calculated_on), _known(table.triaged_on)
    is_judged = table.verdict != Verdict.NOT_TRIAGED.value
    # Several rows are of one candidate if it moved, or if their series were merged in the store:
    # the latest verdict counts. Those without an owner are of a rejected series.
    latest_first = np.lexsort((table.triaged_on, is_judged))[::-1].tolist()
    rows = [row for row in latest_first if places[row][0]]
    added = {places[row]: row for row in reversed(rows) if places[row] not in known}
    new: list[Row] = []
    for row in sorted(added.values()):
        nearby = history[int(table.series[row])].orders_around(int(table.index[row]), NEARBY)
        facts = table.commits[row], table.algorithms[row] or None, json.dumps(nearby)
        undecided = *searched[row], calculated[row], Verdict.NOT_TRIAGED.value
        new.append((*places[row], *facts, *undecided))
    NEW.into(connection, new)
    if added:
        known = _known_candidates(connection)
        # A refresh that ran meanwhile has not matched its change points with these candidates.
        mark_stale(connection, {owner for owner, _ in places if owner})
    verdict_of: dict[int, int] = {}  # the row of each candidate that gets its verdict
    for row in rows:
        number, version = known[places[row]]
        if is_judged[row] and not version:
            verdict_of.setdefault(number, row)
    judged: list[Row] = []
    entries: list[Row] = []
    for number, row in verdict_of.items():
        verdict, time = str(table.verdict[row]), triaged[row] or timestamp
        judged.append((number, verdict, 1, calculated[row], triaged[row]))
        entries.append((number, verdict, who, time, "imported", "", 1))
    JUDGED.into(connection, judged)
    IMPORTED.into(connection, entries)
    written = len({known[place][0] for place in added} | verdict_of.keys())
    if written:
        audit.note(connection, timestamp, who, "import", "candidates", written=written)
    return written, len(table) - written


def _known_candidates(connection: sa.Connection) -> KnownCandidates:
    """Return number and version of each candidate, by its series and each order that it had."""
    c, m = candidates.c, moves.c
    former = sa.select(c.series, m.from_order, c.id, c.version).join(moves, m.candidate == c.id)
    present = sa.select(c.series, c.order, c.id, c.version)
    return {
        (owner, order): (number, version)
        for query in (former, present)
        for owner, order, number, version in connection.execute(query)
    }


def _searched(table: Candidates) -> list[tuple[bool, int | None, float | None]]:
    """Return the values that the latest search of an exported store gave each candidate."""
    if table.present is None or table.discovery is None or table.q is None:
        return [(True, None, None)] * len(table)
    statistics = (None if math.isnan(q) else q for q in table.q.tolist())
    return list(zip(table.present.tolist(), _known(table.discovery, -1), statistics, strict=True))


def _known(numbers: Ints, missing: int = UNKNOWN_TIME) -> list[int | None]:
    return [None if number == missing else number for number in numbers.tolist()]


def place_commits(
    connection: sa.Connection, proposed: Mapping[CommitName, tuple[int, bool]]
) -> dict[CommitName, int]:
    """Return the orders of commits, and store those of new ones.

    A commit that its project has keeps its order. A new one gets the proposed order if that is
    after all others. Else it is inserted by its time, or comes after the last if it has none.

    Args:
        connection: From `Store.write`.
        proposed: An order for each commit that fits the other commits here, and whether it is a
            time in milliseconds.
    """
    placed: dict[CommitName, int] = {}
    for project, names in groupby(sorted(proposed), lambda commit: commit[0]):
        c, listed = commits.c, [name for _, name in names]
        query = sa.select(c.commit, c.order).where(c.project == project)
        known = {row.commit: row.order for row in rows_in(connection, query, c.commit, listed)}
        new = sorted((*proposed[project, name], name) for name in listed if name not in known)
        if new:
            known |= _place_new(connection, project, new)
        placed |= {(project, name): order for name, order in known.items()}
    return placed


def _place_new(
    connection: sa.Connection, project: str, new: list[tuple[int, bool, str]]
) -> dict[str, int]:
    """Store and return the orders of new commits: (proposal, whether it is a time, name)."""
    c = commits.c
    orders = sa.select(c.order).where(c.project == project).order_by(c.order.desc())
    last = connection.scalar(orders.limit(1))
    following = new[0][0] if last is None else last + 1
    taken = set(connection.scalars(orders.where(c.order >= new[0][0])))
    placed = {}
    for proposal, is_time, name in new:
        is_between = is_time and following - proposal < NEAR
        order = proposal if is_between else max(proposal, following)
        while order in taken:
            order += 1
        taken.add(order)
        placed[name] = order
        following = max(following, order + 1)
    rows = [{"project": project, "commit": n, "order": order} for n, order in placed.items()]
    connection.execute(sa.insert(commits), rows)
    return placed
