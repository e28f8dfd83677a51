"""Read candidates by page, number or series, with what happened to them; date old ones.

Ingest marks a series that it changes as stale: its candidates are older than its points. The
refresh reads the oldest of them, computes outside any transaction, and claims those whose points
have not changed meanwhile.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.results.series import Region, Verdict
from barograph.results.sizes import Size
from barograph.runtime.errors import NotFoundError
from barograph.server.store.database import Insertion, count_rows, rows_in
from barograph.server.store.schema import candidates, models, moves, series, touched

MARK = Insertion(touched, ("series", "version"), replace=("version",))


@dataclass(frozen=True)
class CandidateRecord:
    """A candidate change point.

    Attributes:
        id: Number of the candidate.
        series: Number of its series.
        order: Order of the first point of the new level.
        commit: Commit of that point, or an empty text.
        last_before: Order of the last result of the old level.
        detector: What found it, with its version.
        statistic: Statistic of the detector.
        pvalue: P value of the detector.
        discovery: Number in the order in which the detector found the candidates, from 0.
        q: Energy statistic of E-Divisive or Hunter.
        before: The region before it.
        after: The region after it.
        nearby: Orders of the results around it when it was last found.
        hazard: Size of the change; positive is worse.
        trend: Whether the results beside the change contradict each other about its sign.
        probability: Probability that people call it a change.
        model: Version of the model that scored it.
        verdict: The verdict that holds.
        version: Number of verdicts that were ever given on it.
        present: Whether the latest detection found it.
        detected_on: When it was first detected.
        calculated_on: When it was last found before it got a verdict.
        triaged_on: When it got its verdict.
    """

    id: int
    series: int
    order: int
    commit: str
    last_before: int | None
    detector: str | None
    statistic: float | None
    pvalue: float | None
    discovery: int | None
    q: float | None
    before: Region | None
    after: Region | None
    nearby: Sequence[int] | None
    hazard: float | None
    trend: bool
    probability: float | None
    model: str | None
    verdict: Verdict
    version: int
    present: bool
    detected_on: int | None
    calculated_on: int | None
    triaged_on: int | None

    @property
    def is_processed(self) -> bool:
        """Whether a person has given a verdict on it."""
        return self.verdict is not Verdict.NOT_TRIAGED

    @property
    def size(self) -> Size | None:
        """The size of the change, with the levels on both sides; None if it is unknown."""
        if self.before is None or self.after is None:
            return None
        return Size(self.before.level, self.after.level, self.trend)


class CandidateMove(NamedTuple):
    """What happened to a candidate when its series was searched again.

    Attributes:
        kind: `moved`, `withdrawn` (no longer found) or `returned` (found again).
        from_order: Its order before.
        to_order: Its order since then.
        time: When.
    """

    kind: str
    from_order: int
    to_order: int
    time: int


def find_candidates(
    connection: sa.Connection,
    *,
    number: int | None = None,
    project: str | None = None,
    verdict: Verdict | None = None,
    withdrawn: bool = False,
    after: int = 0,
    limit: int = 100,
) -> list[CandidateRecord]:
    """Return candidates, in the order of their numbers.

    Args:
        connection: From `Store.read`.
        number: Number of a series: only its candidates.
        project: Only candidates of this project.
        verdict: Only candidates with this verdict.
        withdrawn: Whether to include candidates without a verdict that the latest detection did
            not find.
        after: Number of the last candidate of the page before.
        limit: Maximum number of candidates.
    """
    c = candidates.c
    query = _candidate_query().where(c.id > after)
    if number is not None:
        query = query.where(c.series == number)
    if project is not None:
        query = query.where(series.c.project == project)
    if verdict is not None:
        query = query.where(c.verdict == verdict.value)
    if not withdrawn:
        query = query.where(is_listed())
    return [_candidate(row) for row in connection.execute(query.order_by(c.id).limit(limit))]


def get_candidate(connection: sa.Connection, number: int) -> CandidateRecord:
    """Return a candidate by its number."""
    row = connection.execute(_candidate_query().where(candidates.c.id == number)).first()
    if row is None:
        raise NotFoundError(f"there is no candidate {number}")
    return _candidate(row)


def date_candidates(connection: sa.Connection, dates: Mapping[int, int]) -> None:
    """Set when candidates were found, by their numbers; for histories from elsewhere."""
    c = candidates.c
    rows = [{"number": number, "timestamp": timestamp} for number, timestamp in dates.items()]
    if rows:
        timestamp: sa.BindParameter[int] = sa.bindparam("timestamp")
        query = sa.update(candidates).where(c.id == sa.bindparam("number"))
        connection.execute(query.values(detected_on=timestamp, calculated_on=timestamp), rows)


def is_listed() -> sa.ColumnElement[bool]:
    """Return the condition of candidates to show: found by the latest detection, or judged."""
    c = candidates.c
    return sa.or_(c.present, c.verdict != Verdict.NOT_TRIAGED.value)


def candidates_numbered(connection: sa.Connection, numbers: Sequence[int]) -> list[CandidateRecord]:
    """Return candidates by their numbers, ascending; missing ones are left out."""
    rows = rows_in(connection, _candidate_query(), candidates.c.id, numbers)
    return sorted(map(_candidate, rows), key=attrgetter("id"))


def candidates_of_series(
    connection: sa.Connection, numbers: Sequence[int], *, withdrawn: bool = False
) -> dict[int, list[CandidateRecord]]:
    """Return the candidates of some series, by the numbers of these.

    Args:
        connection: From `Store.read`.
        numbers: Numbers of the series.
        withdrawn: As in `find_candidates`.
    """
    c = candidates.c
    query = _candidate_query().where(c.series.in_(numbers))
    if not withdrawn:
        query = query.where(is_listed())
    records: dict[int, list[CandidateRecord]] = {number: [] for number in numbers}
    for record in map(_candidate, connection.execute(query.order_by(c.id))):
        records[record.series].append(record)
    return records


def moves_of(connection: sa.Connection, candidate: int) -> list[CandidateMove]:
    """Return what happened to a candidate when its series was searched again."""
    m = moves.c
    query = sa.select(m.kind, m.from_order, m.to_order, m.moved).where(m.candidate == candidate)
    return [CandidateMove(*row) for row in connection.execute(query.order_by(m.id))]


def mark_stale(connection: sa.Connection, changed: Iterable[int]) -> None:
    """Mark series as stale, with a new version of their points."""
    version = time.time_ns()
    MARK.into(connection, [(series, version) for series in changed])


def count_stale(connection: sa.Connection) -> int:
    """Return how many series are stale."""
    return count_rows(connection, touched)


def stale_lag(connection: sa.Connection) -> tuple[int, int | None]:
    """Return how many series are stale, and since when the first, in milliseconds since 1970."""
    query = sa.select(sa.func.count(), sa.func.min(touched.c.version)).select_from(touched)
    waiting, version = connection.execute(query).one()
    return waiting, None if version is None else version // 1_000_000


def oldest_stale(connection: sa.Connection, limit: int) -> dict[int, int]:
    """Return the series that have been stale longest, each with the version of its points."""
    t = touched.c
    query = sa.select(t.series, t.version).order_by(t.version, t.series).limit(limit)
    return dict(connection.execute(query).all())


def claim_stale(connection: sa.Connection, versions: dict[int, int]) -> set[int]:
    """Return the series whose points still have these versions; they are stale no longer."""
    t = touched.c
    query = sa.select(t.series, t.version).where(t.series.in_(versions))
    current = {
        series for series, version in connection.execute(query) if version == versions[series]
    }
    connection.execute(sa.delete(touched).where(t.series.in_(current)))
    return current


def _candidate_query() -> sa.Select[Any]:
    columns = [column for column in candidates.c if column.name != "model"]
    return (
        sa.select(*columns, models.c.version.label("model"))
        .join(series, series.c.id == candidates.c.series)
        .outerjoin(models, models.c.id == candidates.c.model)
    )


def _candidate(row: sa.Row[Any]) -> CandidateRecord:
    fields = row._asdict() | {"verdict": Verdict(row.verdict)}
    for name in ("before", "after", "nearby"):
        if fields[name] is not None:
            content = json.loads(fields[name])
            fields[name] = content if name == "nearby" else Region(**content)
    return CandidateRecord(**fields)
