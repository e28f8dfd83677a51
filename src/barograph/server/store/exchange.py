"""Import a history into the store: every run of every point, and the candidates."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import sqlalchemy as sa

from barograph.results.candidates import Candidates
from barograph.results.history import History
from barograph.results.series import UNKNOWN_TIME, Ints, Verdict
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
CANDIDATE = ("series", "order", "commit", "detector", "nearby", "verdict", "version")
SEARCH = ("present", "discovery", "q")
DATES = ("calculated_on", "triaged_on")
NEW = Insertion(candidates, (*CANDIDATE, *SEARCH, *DATES))
JUDGED = BulkUpdate(candidates, ("id",), ("verdict", "version", *DATES))
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
    counts = dict.fromkeys((status.value for status in PointStatus), 0)
    reasons: Counter[str] = Counter()
    rejected: list[str] = []
    numbers = np.zeros(len(history), dtype=np.int64)
    for owners, batch in _batches(history):
        result = store.ingest(batch, who)
        for status, count in result.counts.items():
            counts[status] += count
        reasons.update(result.reasons)
        for owner, point, measurement in zip(owners, result.points, batch, strict=True):
            numbers[owner] = point.series or numbers[owner]
            if point.status is PointStatus.REJECTED and len(rejected) < NAMED:
                place = f"{measurement.series}, order {measurement.order}"
                rejected.append(f"{place:.200}: {point.reason}")
    store.finish()
    written = store.write(lambda connection: _write_candidates(connection, history, numbers, who))
    return ImportResult(counts, dict(reasons), tuple(rejected), *written)


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


def _batches(history: History) -> Iterator[tuple[list[int], list[Measurement]]]:
    """Yield batches of measurements, series after series, with the series of each."""
    owners: list[int] = []
    batch: list[Measurement] = []
    made_up = frozenset(history.made_up.tolist())
    for number in range(len(history)):
        for measurement in _measurements(history, number, made_up):
            owners.append(number)
            batch.append(measurement)
            if len(batch) == BATCH:
                yield owners, batch
                owners, batch = [], []
    if batch:
        yield owners, batch


def _measurements(history: History, number: int, made_up: frozenset[int]) -> Iterator[Measurement]:
    """Yield every result of a series."""
    low, high = int(history.offsets[number]), int(history.offsets[number + 1])
    source = history[number]
    points = (
        source.orders.tolist(),
        source.commits,
        source.values.tolist(),
        history.times[low:high].tolist(),
    )
    runs: dict[int, list[tuple[str, float, int]]] = {}
    for point, name, result, moment in history.listed_runs(number):
        runs.setdefault(point, []).append((name, result, moment))
    for index, (order, commit, value, time) in enumerate(zip(*points, strict=True)):
        for run, result, moment in runs.get(index, [("", value, time)]):
            place = order, commit, run, None if moment == UNKNOWN_TIME else moment
            kind = source.direction, source.unit, order in made_up
            yield Measurement(source.id, result, *place, *kind)


def _write_candidates(
    connection: sa.Connection, history: History, numbers: Ints, who: str
) -> tuple[int, int]:
    """Write the candidates that the store lacks; return how many, and how many it had.

    A candidate that moved after an earlier import is known under the order that it came with. One
    that a refresh detected while the points were imported gets the imported verdict.
    """
    known = _known_candidates(connection)
    new: list[Row] = []
    judged: list[Row] = []
    entries: list[Row] = []
    imported: dict[tuple[int, int], tuple[str, int | None]] = {}  # verdicts on new candidates
    table, timestamp = history.candidates, now()
    owners, searched = numbers[table.series], _searched(table)
    dates = list(zip(_known(table.calculated_on), _known(table.triaged_on), strict=True))
    for row in _chosen_rows(table, owners, known):
        place, verdict = (int(owners[row]), int(table.orders[row])), str(table.verdict[row])
        number, version = known.get(place, (None, 0))
        is_judged = verdict != Verdict.NOT_TRIAGED.value
        if number is None:
            series = history[int(table.series[row])]
            nearby = json.dumps(series.orders_around(int(table.index[row]), NEARBY))
            facts = table.commits[row], table.algorithms[row] or None, nearby, verdict
            new.append((*place, *facts, int(is_judged), *searched[row], *dates[row]))
            if is_judged:
                imported[place] = verdict, dates[row][-1]
        elif is_judged and not version:
            judged.append((number, verdict, 1, *dates[row]))
            entries.append((number, verdict, who, dates[row][-1] or timestamp, "imported", "", 1))
    NEW.into(connection, new)
    JUDGED.into(connection, judged)
    numbered = _known_candidates(connection) if imported else {}
    entries += [
        (numbered[place][0], verdict, who, triaged_on or timestamp, "imported", "", 1)
        for place, (verdict, triaged_on) in imported.items()
    ]
    IMPORTED.into(connection, entries)
    # A refresh that ran meanwhile has not matched its change points with these candidates.
    mark_stale(connection, set(filter(None, owners.tolist())) if new else ())
    written = len(new) + len(judged)
    if written:
        audit.note(connection, timestamp, who, "import", "candidates", written=written)
    return written, len(table) - written


def _chosen_rows(table: Candidates, owners: Ints, known: KnownCandidates) -> list[int]:
    """Return a row for each candidate; of several the one with the latest verdict.

    Several rows are of one candidate if it moved, or if their series were merged in the store.
    """
    chosen: dict[object, int] = {}
    is_judged = table.verdict != Verdict.NOT_TRIAGED.value
    for row in np.lexsort((table.triaged_on, is_judged)).tolist():
        place = int(owners[row]), int(table.orders[row])
        if place[0]:  # else its series was rejected
            chosen[known[place][0] if place in known else place] = row
    return sorted(chosen.values())


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
    columns = table.present.tolist(), table.discovery.tolist(), table.q.tolist()
    return [
        (present, None if number < 0 else number, None if math.isnan(q) else q)
        for present, number, q in zip(*columns, strict=True)
    ]


def _known(dates: Ints) -> list[int | None]:
    return [None if date == UNKNOWN_TIME else date for date in dates.tolist()]


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
