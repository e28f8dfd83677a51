"""The commits that may have caused a change, and which to run next to halve them.

A change lies between the last result before it and the first result after it. What siblings
measured at the commits in between narrows it further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from barograph.server.store import commit_details, reading
from barograph.server.store.candidate_records import get_candidate
from barograph.server.triage.effects import EdgeResult, Effect, SettledResults, effect_between
from barograph.server.triage.ranges import known_ranges
from barograph.server.triage.siblings import sibling_results

MOST = 200  # commits in an answer


@dataclass(frozen=True, slots=True)
class SuspectCommit:
    """A commit that may have caused a change.

    Attributes:
        order: Its order; None if it has no result.
        commit: Its name; several that share the order are joined by a blank.
        old: The number of siblings that were still at their old level.
        new: The number of siblings that had reached their new level.
        subject: The first line of its message; "" if unknown.
        author: Who wrote it; "" if unknown.
        url: Where it can be read; "" if unknown.
        is_likely: Whether it is among those that siblings leave.
    """

    order: int | None
    commit: str
    old: int = 0
    new: int = 0
    subject: str = ""
    author: str = ""
    url: str = ""
    is_likely: bool = False


@dataclass(frozen=True, slots=True)
class SuspectRange:
    """The commits that may have caused a change, oldest first.

    Attributes:
        last_before: The last result of the old level; None if there is none.
        first_after: The first result of the new level; None if it is gone.
        count: The number of known suspect commits.
        is_complete: Whether no other commit lies between the two results.
        commits: The suspect commits; of very many, those around the next one to run.
        next: The name of the commit to run next; None if fewer than two are known.
        siblings: The number of siblings that moved and so can say something.
    """

    last_before: EdgeResult | None
    first_after: EdgeResult | None
    count: int
    is_complete: bool
    commits: tuple[SuspectCommit, ...]
    next: str | None
    siblings: int


def suspects(connection: sa.Connection, candidate: int) -> SuspectRange:
    """Return the commits that may have caused a candidate.

    Args:
        connection: From `Store.read`.
        candidate: Number of the candidate.

    Raises:
        NotFoundError: There is no such candidate.
    """
    change = get_candidate(connection, candidate)
    beside, others = sibling_results(connection, change)
    last = beside.before[-1] if beside.before else None
    first = beside.after[0] if beside.after else None
    if last is None or first is None:
        return SuspectRange(last, first, 0, False, (), None, 0)
    project = reading.get_series(connection, change.series).name.project
    bounds = last.order, first.order
    known = known_ranges(connection, project, [bounds])[bounds]
    moved = [
        (effect, results)
        for _, results in others
        if (effect := effect_between(results, *bounds)).is_clear
    ]
    voted = _with_votes([SuspectCommit(*commit) for commit in known.commits], moved)
    likely = _narrowed(voted)
    for place in range(*likely):
        voted[place] = replace(voted[place], is_likely=True)
    chosen = _middle(len(voted), likely)
    shown = tuple(_described(connection, project, _around(voted, chosen)))
    following = None if chosen is None else voted[chosen].commit
    return SuspectRange(last, first, len(voted), known.is_complete, shown, following, len(moved))


def _described(
    connection: sa.Connection, project: str, chosen: Sequence[SuspectCommit]
) -> list[SuspectCommit]:
    """Return commits with their subjects, authors and addresses."""
    known = commit_details.find(connection, project, (commit.commit for commit in chosen))
    return [
        replace(commit, subject=details.subject, author=details.author, url=details.url)
        for commit in chosen
        for details in [known[commit.commit]]
    ]


def _with_votes(
    suspected: Sequence[SuspectCommit], moved: Sequence[tuple[Effect, SettledResults]]
) -> list[SuspectCommit]:
    """Return the commits with the number of siblings at their old and at their new level."""
    votes = {commit.order: [0, 0] for commit in suspected}
    for effect, results in moved:
        for order, value in results:
            if order in votes and (levels := effect.size) is not None:
                is_new = abs(value - levels.after) < abs(value - levels.before)
                votes[order][is_new] += 1
    return [
        replace(commit, old=votes[commit.order][0], new=votes[commit.order][1])
        for commit in suspected
    ]


def _narrowed(suspected: Sequence[SuspectCommit]) -> tuple[int, int]:
    """Return the places that the majority of siblings leaves, `(0, 0)` if they say nothing.

    The change came after the last commit where most were at the old level, and no later than the
    first one after it where most were at the new level.
    """
    old = [k for k, commit in enumerate(suspected) if commit.old > commit.new]
    start = old[-1] + 1 if old else 0
    if start >= len(suspected):  # the siblings changed later than this series
        return 0, 0
    new = [k for k in range(start, len(suspected)) if suspected[k].new > suspected[k].old]
    end = new[0] + 1 if new else len(suspected)
    return (start, end) if end - start < len(suspected) else (0, 0)


def _middle(count: int, likely: tuple[int, int]) -> int | None:
    """Return the place of the commit whose result halves what is left.

    The last commit has a result: the first one of the new level.
    """
    if count < 2:
        return None
    start, end = likely if any(likely) else (0, count)
    if end - start > 1:
        return start + (end - start) // 2 - 1
    # Siblings leave a single commit. A result there, or just before the last one, confirms it.
    return min(start, count - 2)


def _around(suspected: Sequence[SuspectCommit], chosen: int | None) -> Sequence[SuspectCommit]:
    """Return all commits, or of very many those around the next one to run."""
    if len(suspected) <= MOST or chosen is None:
        return suspected
    start = min(max(chosen - MOST // 2, 0), len(suspected) - MOST)
    return suspected[start : start + MOST]
