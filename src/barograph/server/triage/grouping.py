"""Group candidates by the commits that can have caused them, and by what happened there.

The cause of a change lies after the last result before it and no later than the first result of the
new level. Candidates whose ranges have a commit in common are put down to the fewest commits that
explain all of them; there they are grouped by direction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from barograph.results.series import SeriesId

UNSCORED = 0.5  # probability of a candidate that no model has scored


class QueueEntry(NamedTuple):
    """A candidate with what the queue shows of it and of its series.

    Attributes:
        id: The number of the candidate.
        version: The number of verdicts that it has had.
        series: The number of its series.
        identity: The identity of its series.
        name: The printed identity.
        kind: "canary", "low_priority", "informational" or "".
        order: The order of the first result of the new level.
        last_before: The order of the last result of the old level.
        commit: The commit at `order`, "" if unknown.
        effect: "worse", "better" or "trend"; "rose" or "fell" if the better direction is unknown;
            "changed" if nothing is known, or the levels are equal.
        hazard: The size of the change; None if it has none.
        probability: The probability that people call it real; None without a model.
        detected_on: When it was first detected, in milliseconds; None if unknown.
        verdict: The current verdict.
        present: Whether the latest run of the detector found it.
    """

    id: int
    version: int
    series: int
    identity: SeriesId
    name: str
    kind: str
    order: int
    last_before: int
    commit: str
    effect: str
    hazard: float | None
    probability: float | None
    detected_on: int | None
    verdict: str
    present: bool

    @property
    def expected(self) -> float:
        """The magnitude of the hazard times the probability."""
        probability = UNSCORED if self.probability is None else self.probability
        return abs(self.hazard or 0.0) * probability

    @property
    def place(self) -> tuple[float, int]:
        """What members of a group are sorted by, the worst first."""
        return -self.expected, self.id


@dataclass(frozen=True)
class CauseGroup:
    """Candidates of one project that one cause may explain.

    Attributes:
        project: The project of all members.
        last_before: The highest order that cannot be the cause.
        order: The last order that can be the cause.
        commit: The commit there, "" if unknown.
        kind: The kind of all members, see `QueueEntry`.
        effect: The effect of all members.
        members: The candidates, the worst first.
    """

    project: str
    last_before: int
    order: int
    commit: str
    kind: str
    effect: str
    members: tuple[QueueEntry, ...]

    @property
    def worst(self) -> QueueEntry:
        """The member with the largest expected hazard."""
        return self.members[0]

    @cached_property
    def detected_on(self) -> int | None:
        """When the first of the members was detected."""
        return min(
            (entry.detected_on for entry in self.members if entry.detected_on is not None),
            default=None,
        )


def by_cause(entries: Iterable[QueueEntry]) -> list[CauseGroup]:
    """Group candidates by project, suspect range, kind and effect.

    Args:
        entries: Candidates in any order.

    Returns:
        The groups by project and order.
    """
    sections: list[list[QueueEntry]] = []
    for entry in sorted(entries, key=attrgetter("identity.project", "order", "id")):
        first = sections[-1][0] if sections else None
        # The section ends at its first order: every member's range holds that commit.
        is_other = first is None or first.identity.project != entry.identity.project
        if first is None or is_other or entry.last_before >= first.order:
            sections.append([entry])
        else:
            sections[-1].append(entry)
    return [group for section in sections for group in _causes(section)]


def _causes(section: list[QueueEntry]) -> list[CauseGroup]:
    """Return the groups of candidates that have a commit in common."""
    order, last_before = section[0].order, max(entry.last_before for entry in section)
    names = Counter(entry.commit for entry in section if entry.order == order and entry.commit)
    commit = names.most_common(1)[0][0] if names else ""
    causes: defaultdict[tuple[str, str], list[QueueEntry]] = defaultdict(list)
    for entry in section:
        causes[entry.kind, entry.effect].append(entry)
    return [
        CauseGroup(
            *(section[0].identity.project, last_before, order, commit, *cause),
            members=tuple(sorted(members, key=attrgetter("place"))),
        )
        for cause, members in causes.items()
    ]


# What each column sorts by; ascending keys put what matters first.
SORTS: dict[str, Callable[[CauseGroup], tuple[object, ...]]] = {
    "expected": lambda group: (group.effect == "better", -group.worst.expected),
    "commit": lambda group: (group.project, -group.order, -group.worst.expected),
    "name": lambda group: (group.worst.name, group.order),
    "change": lambda group: (-abs(group.worst.hazard or 0.0),),
    "hazard": lambda group: (-(group.worst.hazard or 0.0),),
    "probability": lambda group: (-(group.worst.probability or 0.0),),
    "series": lambda group: (-len(group.members), -group.worst.expected),
    "age": lambda group: (-(group.detected_on or 0), -group.worst.expected),
}
SECTIONED = ("expected", "commit")  # sorts that keep the groups of a commit together


def sorted_groups(groups: Iterable[CauseGroup], sort: str = "expected") -> list[CauseGroup]:
    """Return groups in the order of a column.

    Args:
        groups: The groups.
        sort: One of `SORTS`, with "-" in front for the reverse.
    """
    column = sort.removeprefix("-")
    ordered = sorted(groups, key=SORTS[column], reverse=sort != column)
    if column not in SECTIONED:
        return ordered
    sections: dict[tuple[str, int], list[CauseGroup]] = {}
    for group in ordered:  # a section stands where its first group does
        sections.setdefault((group.project, group.order), []).append(group)
    return [group for section in sections.values() for group in section]
