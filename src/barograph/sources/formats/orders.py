"""Give results an order: that of their files, of time, of commits in git, or of rows.

Results of one commit have the same order. Results without a commit that were measured by one run
or at one time have the same order, too. Such a group of results is called a moment here.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.results.series import UNKNOWN_TIME, Ints
from barograph.results.wording import plural
from barograph.sources.formats.base import NO_ORDER
from barograph.sources.formats.collect import Collected, Mask, first_rows
from barograph.sources.formats.locations import differ_in_numbers
from barograph.sources.git import Commit, Repository

COMMIT, FILE, TIME, ROW = range(4)  # what a moment is known by
# Commits that are numbers: revisions, builds and versions, such as 1200, r1200, #12 and v1.10.2.
NUMBERED = re.compile(r"(?P<prefix>[A-Za-z]{0,10}[-_ ]?#?)(?P<number>\d{1,18}(?:\.\d{1,18}){0,4})")
FEWEST = 3  # numbers that fall by design, not by chance
ENOUGH = 0.5  # share of the moments that must be known to sort by time or by git


class Ordered(NamedTuple):
    """The orders, and what people should know about them.

    Attributes:
        orders: An order for each result.
        notes: Where the orders come from, unless the files say them.
        made_up: The orders that no file states.
    """

    orders: Ints
    notes: list[str]
    made_up: Ints


class _Moments(NamedTuple):
    """Groups of results with one order.

    Attributes:
        of_result: The number of the moment of each result.
        first: The first result of each moment.
        times: The earliest time of each moment, or `UNKNOWN_TIME`.
        commits: The commit of each moment, empty where unknown.
    """

    of_result: Ints
    first: Ints
    times: Ints
    commits: list[str]


def order_results(results: Collected, repository: Repository) -> Ordered:
    """Return an order for each result.

    Args:
        results: All results.
        repository: Knows the order and the times of commits.
    """
    numbered = results.orders != NO_ORDER
    if numbered.all():
        return Ordered(results.orders, [], results.orders[:0])
    moments = _moments(results)
    places, notes = _placed(results, moments, repository)
    if not numbered.any():
        return Ordered(places[moments.of_result], notes, places)
    return _after_numbered(results, numbered, moments, places)


def _after_numbered(results: Collected, numbered: Mask, moments: _Moments, places: Ints) -> Ordered:
    """Give results without an order that of their commit, or else one after the last."""
    size = moments.first.size
    lowest = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(lowest, moments.of_result[numbered], results.orders[numbered])
    has_order = np.zeros(size, dtype=np.bool_)
    has_order[moments.of_result[numbered]] = True
    rest = np.flatnonzero(~has_order)
    rest = rest[np.argsort(places[rest], kind="stable")]
    lowest[rest] = int(results.orders[numbered].max()) + 1 + np.arange(rest.size)
    orders = np.where(numbered, results.orders, lowest[moments.of_result])
    count = int(np.isin(moments.of_result, rest).sum())
    without = f"{plural(count, 'result')} without an order"
    notes = [f"{without}: placed after all others"] if count else []
    return Ordered(orders, notes, lowest[rest])


def _moments(results: Collected) -> _Moments:
    commits = results.commits.codes.astype(np.int64)
    named, timed = results.commits.known(), results.times != UNKNOWN_TIME
    if named.all():
        first, of_result = first_rows(commits)
    else:
        kinds = np.select([named, results.of_runs(), timed], [COMMIT, FILE, TIME], ROW)
        places = _row_numbers(results, kinds == ROW)
        known = np.select(
            [kinds == COMMIT, kinds == FILE, kinds == TIME],
            [commits, results.sources, results.times],
            places,
        )
        first, of_result = first_rows(known * 4 + kinds)
    times = np.full(first.size, np.iinfo(np.int64).max)
    np.minimum.at(times, of_result[timed], results.times[timed])
    times[times == np.iinfo(np.int64).max] = UNKNOWN_TIME
    names = list(results.commits.take(first))
    return _Moments(of_result, first, times, names)


def _row_numbers(results: Collected, chosen: Mask) -> Ints:
    """Number results that nothing else places: by row if rows are moments, else in each series.

    In a wide table each row is a moment. In a long one the first rows of all series are one.
    """
    rows = np.flatnonzero(chosen)
    numbers = np.zeros(len(results), dtype=np.int64)
    if not rows.size:
        return numbers
    owners = results.owners[rows]
    by_owner = np.argsort(owners, kind="stable")
    starts = np.flatnonzero(np.diff(owners[by_owner], prepend=-1))
    lengths = np.diff(np.append(starts, owners.size))
    counted = np.empty(rows.size, dtype=np.int64)
    counted[by_owner] = np.arange(rows.size) - np.repeat(starts, lengths)
    places = results.sources[rows] * (int(results.rows.max()) + 1) + results.rows[rows]
    _, by_row = np.unique(places, return_inverse=True)
    is_wide = int(by_row.max()) + 1 == int(lengths.max())
    numbers[rows] = by_row if is_wide else counted
    return numbers


def _placed(
    results: Collected, moments: _Moments, repository: Repository
) -> tuple[Ints, list[str]]:
    """Return an order for each moment, and where it comes from."""
    ranks = np.argsort(np.argsort(moments.first, kind="stable"), kind="stable").astype(np.int64)
    times, unknown = moments.times, moments.times == UNKNOWN_TIME
    if ranks.size < 2:
        return np.where(unknown, ranks, times), []
    known: dict[str, Commit] = {}
    if unknown.any() or _has_ties(times):
        known = repository.find(name for name in moments.commits if name)
    if known and unknown.all():
        places = _git_places(moments, repository, known)
        if (places != UNKNOWN_TIME).mean() >= ENOUGH:
            lost = int((places == UNKNOWN_TIME).sum())
            more = f"; {plural(lost, 'commit')} unknown to git, placed as listed" if lost else ""
            places = _spread(_filled(places, ranks), ranks) if lost else places
            return places, [f"ordered by the commits in git{more}"]
    committed = [known[name].time if name in known else UNKNOWN_TIME for name in moments.commits]
    times = np.where(unknown, np.array(committed, dtype=np.int64), times)
    unknown = times == UNKNOWN_TIME
    if unknown.mean() > ENOUGH:
        is_numbered = differ_in_numbers([file.name for file in results.files])
        return _as_listed(ranks, moments, is_numbered=is_numbered)
    ties = ranks if _rises(times[np.argsort(ranks)]) else -ranks
    if known and _has_ties(times):
        places = _git_places(moments, repository, known)
        ties = ties if (places == UNKNOWN_TIME).any() else places
    lost = int(unknown.sum())
    more = f"; {lost:,} without a date placed by the rows around them" if lost else ""
    notes = [f"ordered by time{more}", *_again(results, moments)]
    return _spread(_filled(times, ranks), ties), notes


def _as_listed(ranks: Ints, moments: _Moments, *, is_numbered: bool) -> tuple[Ints, list[str]]:
    """Return the order of the rows, backwards if the numbers of the commits fall, and a note.

    Files whose names differ only in numbers are sorted by these, however they are listed.
    """
    listed = [moments.commits[place] for place in np.argsort(ranks).tolist()]
    if _falls(listed):
        shown = f"{listed[0]} is listed before {listed[1]}"
        return ranks.max() - ranks, [f"ordered as listed, the newest first: {shown}"]
    what = "commits" if any(listed) else "rows"
    reason = f"{what} are without order and time"
    listing = "by the numbers of the files" if is_numbered else "as listed"
    remedy = "number the files in reverse" if is_numbered else "list them in reverse"
    hint = f"if the newest comes first, {remedy}, or add a column `order` or `time`"
    return ranks, [f"ordered {listing}, the oldest first: {reason}; {hint}"]


def _falls(commits: list[str]) -> bool:
    """Return whether commits are numbers with one prefix, each smaller than the one before it."""
    matches = [match for match in map(NUMBERED.fullmatch, commits) if match]
    numbers = [tuple(map(int, match["number"].split("."))) for match in matches]
    is_numbered = len(matches) == len(commits) and len({match["prefix"] for match in matches}) == 1
    return is_numbered and len(commits) >= FEWEST and all(a > b for a, b in pairwise(numbers))


def _has_ties(numbers: Ints) -> bool:
    """Return whether a number is repeated."""
    return bool((np.diff(np.sort(numbers)) == 0).any())


def _git_places(moments: _Moments, repository: Repository, known: dict[str, Commit]) -> Ints:
    """Return the position of each moment in git, `UNKNOWN_TIME` where git does not know it."""
    positions = repository.order([*{commit.hash for commit in known.values()}])
    hashes = [known[name].hash if name in known else "" for name in moments.commits]
    return np.array([positions.get(name, UNKNOWN_TIME) for name in hashes], dtype=np.int64)


def _rises(listed: Ints) -> bool:
    """Return whether known times as listed begin with the oldest."""
    steps = np.sign(np.diff(listed[listed != UNKNOWN_TIME]))
    return bool(steps.sum() >= 0)


def _filled(times: Ints, ranks: Ints) -> Ints:
    """Give each moment without a time that of the one listed before, in the order of time."""
    order = np.argsort(ranks)
    if not _rises(times[order]):
        order = order[::-1]
    listed = times[order]
    known = listed != UNKNOWN_TIME
    last = np.maximum.accumulate(np.where(known, np.arange(listed.size), -1))
    placed = np.empty_like(times)
    placed[order] = np.where(last >= 0, listed[np.maximum(last, 0)], listed[known][0])
    return placed


def _spread(times: Ints, ties: Ints) -> Ints:
    """Return the times as orders, moved on by one where several moments have the same."""
    order = np.lexsort((ties, times))
    steps = np.arange(order.size)
    places = np.empty_like(times)
    places[order] = np.maximum.accumulate(times[order] - steps) + steps
    return places


def _again(results: Collected, moments: _Moments) -> list[str]:
    """Name commits that were measured again after another commit."""
    if not _has_ties(results.owners * moments.first.size + moments.of_result):
        return []
    rows = np.lexsort((results.times, results.owners))
    owners, group = results.owners[rows], moments.of_result[rows]
    change = np.flatnonzero((np.diff(group) != 0) | (np.diff(owners) != 0))
    starts = np.append(0, change + 1)
    pairs = owners[starts] * moments.first.size + group[starts]
    if not _has_ties(pairs):
        return []
    return ["commits that were measured again later count as runs of the first time"]
