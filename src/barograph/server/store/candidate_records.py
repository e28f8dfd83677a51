"""Read candidates by page, number or series, with what happened to them; date old ones.

Ingest marks a series that it changes as stale: its candidates are older than its points. The
refresh reads the oldest of them, computes outside any transaction, and claims those whose points
have not changed meanwhile.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from barograph.results.series import Region, Verdict
from barograph.results.sizes import Size
from barograph.runtime.errors import NotFoundError
from barograph.server.store.database import BulkUpdate, Insertion, Row, chunks
from barograph.server.store.schema import candidates, models, moves, series, touched

FOUND_ON = BulkUpdate(candidates, ("id",), ("detected_on", "calculated_on"))
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
    wanted = {c.series: number, series.c.project: project, c.verdict: verdict}
    match = [
        c.id > after,
        *(column == value for column, value in wanted.items() if value is not None),
    ]
    return list(_find(connection, *match, withdrawn=withdrawn, limit=limit))


def get_candidate(connection: sa.Connection, number: int) -> CandidateRecord:
    """Return a candidate by its number."""
    found = next(_find(connection, candidates.c.id == number), None)
    if found is None:
        raise NotFoundError(f"there is no candidate {number}")
    return found


def date_candidates(connection: sa.Connection, dates: Mapping[int, int]) -> None:
    """Set when candidates were found, by their numbers; for histories from elsewhere."""
    rows: list[Row] = [(number, found, found) for number, found in dates.items()]
    FOUND_ON.into(connection, rows)


def is_listed() -> sa.ColumnElement[bool]:
    """Return the condition of candidates to show: found by the latest detection, or judged."""
    c = candidates.c
    return sa.or_(c.present, c.verdict != Verdict.NOT_TRIAGED.value)


def candidates_numbered(connection: sa.Connection, numbers: Sequence[int]) -> list[CandidateRecord]:
    """Return candidates by their numbers, ascending; missing ones are left out."""
    parts = (candidates.c.id.in_(part) for part in chunks(sorted(numbers)))
    return [record for match in parts for record in _find(connection, match)]


def candidates_of_series(
    connection: sa.Connection, numbers: Sequence[int], *, withdrawn: bool = False
) -> dict[int, list[CandidateRecord]]:
    """Return the candidates of some series, by the numbers of these.

    Args:
        connection: From `Store.read`.
        numbers: Numbers of the series.
        withdrawn: As in `find_candidates`.
    """
    records: dict[int, list[CandidateRecord]] = {number: [] for number in numbers}
    for record in _find(connection, candidates.c.series.in_(numbers), withdrawn=withdrawn):
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
    return stale_lag(connection)[0]


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
    same = (sa.and_(t.series == number, t.version == v) for number, v in versions.items())
    query = sa.delete(touched).where(sa.or_(sa.false(), *same)).returning(t.series)
    return set(connection.scalars(query))


def _find(
    connection: sa.Connection,
    *match: sa.ColumnElement[bool],
    withdrawn: bool = True,
    limit: int | None = None,
) -> Iterator[CandidateRecord]:
    """Yield the candidates that meet all conditions, in the order of their numbers."""
    columns = [column for column in candidates.c if column.name != "model"]
    query = (
        sa.select(*columns, models.c.version.label("model"))
        .join(series, series.c.id == candidates.c.series)
        .outerjoin(models, models.c.id == candidates.c.model)
        .where(*match, *(() if withdrawn else (is_listed(),)))
    )
    for row in connection.execute(query.order_by(candidates.c.id).limit(limit)):
        fields = row._asdict()
        for name in ("before", "after"):
            if region := fields[name] and json.loads(fields[name]):
                # Older versions stored no level.
                fields[name] = Region(**{"level": region["median"]} | region)
        nearby = fields["nearby"] and json.loads(fields["nearby"])
        yield CandidateRecord(**fields | {"nearby": nearby, "verdict": Verdict(row.verdict)})
