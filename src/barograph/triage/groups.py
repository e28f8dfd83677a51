"""Candidates grouped by the commit that they stand at: one cause moves many series."""

from collections.abc import Iterable
from dataclasses import dataclass

from barograph.triage.matching import REACH


@dataclass(frozen=True, slots=True)
class Placed:
    """A candidate as grouping sees it."""

    id: int
    project: str
    order: int
    commit: str
    hazard: float | None
    probability: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """Candidates of one project at one commit, or at commits close by.

    Attributes:
        first: the order of the earliest of them.
        last: the order of the latest.
        commit: the one that most of them name, the earliest such.
        members: the worst first.
        hazard: the largest magnitude among them, with its sign.
    """

    project: str
    first: int
    last: int
    commit: str
    members: tuple[Placed, ...]
    hazard: float | None


def by_commit(found: Iterable[Placed], reach: int = 0) -> list[Group]:
    """Group candidates of each project that stand at one commit, the latest group first.

    Args:
        found: in any order.
        reach: how many orders apart two neighbours within a group may be; 0 is the same commit,
            `matching.REACH` what a detector may be off by.
    """
    groups: list[list[Placed]] = []
    for one in sorted(found, key=lambda one: (one.project, one.order, one.id)):
        last = groups[-1][-1] if groups else None
        if last and last.project == one.project and one.order - last.order <= reach:
            groups[-1].append(one)
        else:
            groups.append([one])
    return sorted(map(_group, groups), key=lambda group: (-group.last, group.project))


def _group(members: list[Placed]) -> Group:
    names = [one.commit for one in members]
    worst = sorted(members, key=lambda one: (-_size(one), one.id))
    return Group(
        project=members[0].project,
        first=members[0].order,
        last=members[-1].order,
        commit=max(names, key=names.count),
        members=tuple(worst),
        hazard=worst[0].hazard,
    )


def _size(one: Placed) -> float:
    return 0.0 if one.hazard is None else abs(one.hazard)


__all__ = ["REACH", "Group", "Placed", "by_commit"]
