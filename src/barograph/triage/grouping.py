"""Group candidates by commit: one cause often changes many series."""

from collections.abc import Iterable
from dataclasses import dataclass

import sqlalchemy as sa

from barograph.series import Verdict
from barograph.store.reading import is_listed
from barograph.store.schema import candidates, series


@dataclass(frozen=True, slots=True)
class PlacedCandidate:
    """A candidate and its place in the history of its project."""

    id: int
    project: str
    order: int
    commit: str
    hazard: float | None
    probability: float | None


@dataclass(frozen=True, slots=True)
class CandidateGroup:
    """Candidates of one project at one commit, or at commits close to each other.

    Attributes:
        project: The project of all members.
        first: The lowest order.
        last: The highest order.
        commit: The commit that most members have; the earliest of several.
        members: The candidates, the worst first.
        hazard: The hazard of largest magnitude.
    """

    project: str
    first: int
    last: int
    commit: str
    members: tuple[PlacedCandidate, ...]
    hazard: float | None


def placed_candidates(
    connection: sa.Connection, *, project: str | None = None, verdict: Verdict | None = None
) -> list[PlacedCandidate]:
    """Return the listed candidates of a project or of all, with one verdict or with any."""
    c = candidates.c
    query = (
        sa.select(c.id, series.c.project, c.order, c.commit, c.hazard, c.probability)
        .join(series, series.c.id == c.series)
        .where(is_listed())
    )
    if project is not None:
        query = query.where(series.c.project == project)
    if verdict is not None:
        query = query.where(c.verdict == verdict.value)
    return [PlacedCandidate(*row) for row in connection.execute(query)]


def by_commit(placed: Iterable[PlacedCandidate], reach: int = 0) -> list[CandidateGroup]:
    """Group the candidates of each project by commit, the latest group first.

    Args:
        placed: Candidates in any order.
        reach: How many orders apart two neighbours in a group may be; with 0 they are at the
            same commit.
    """
    groups: list[list[PlacedCandidate]] = []
    for candidate in sorted(placed, key=lambda c: (c.project, c.order, c.id)):
        last = groups[-1][-1] if groups else None
        if last and last.project == candidate.project and candidate.order - last.order <= reach:
            groups[-1].append(candidate)
        else:
            groups.append([candidate])
    return sorted(map(_group, groups), key=lambda group: (-group.last, group.project))


def _group(members: list[PlacedCandidate]) -> CandidateGroup:
    commits = [candidate.commit for candidate in members]
    worst = sorted(members, key=lambda candidate: (-abs(candidate.hazard or 0.0), candidate.id))
    return CandidateGroup(
        project=members[0].project,
        first=members[0].order,
        last=members[-1].order,
        commit=max(commits, key=commits.count),
        members=tuple(worst),
        hazard=worst[0].hazard,
    )
