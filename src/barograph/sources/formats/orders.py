"""Give results an order: that of their files, of time, of commits in git, or of rows.

Results of one commit have the same order. Results without a commit that were measured by one run
or at one time have the same order, too. Such a group of results is called a moment here.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.results.repeats import NO_ORDER, Results
from barograph.results.series import UNKNOWN_TIME, Flags, Ints
from barograph.results.wording import plural
from barograph.sources.formats.registry import differ_in_numbers
from barograph.sources.formats.runs import of_runs
from barograph.sources.git import Commit, Repository

COMMIT, FILE, TIME, ROW = range(4)  # what a moment is known by
# Commits that are numbers: revisions, builds and versions, such as 1200, r1200, #12 and v1.10.2.
NUMBERED = re.compile(r"(?P<prefix>[A-Za-z]{0,10}[-_ ]?#?)(?P<number>\d{1,18}(?:\.\d{1,18}){0,4})")
FEWEST = 3  # numbers that fall by design, not by chance
ENOUGH = 0.5  # share of the moments that must be known to sort by time or by git
LATEST = np.iinfo(np.int64).max


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
    """Groups of results with one order, as listed.

    `of_result` is the number of the moment of each result, `times` the earliest time of each moment
    or `UNKNOWN_TIME`, and `commits` its commit, empty where unknown.
    """

    of_result: Ints
    times: Ints
    commits: list[str]


def order_results(results: Results, repository: Repository) -> Ordered:
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
        return Ordered(places[moments.of_result], notes, np.sort(places))
    # Results without an order get that of their commit, or else one after the last.
    lowest = np.full(places.size, LATEST)
    np.minimum.at(lowest, moments.of_result[numbered], results.orders[numbered])
    rest = np.flatnonzero(lowest == LATEST)
    rest = rest[np.argsort(places[rest], kind="stable")]
    lowest[rest] = int(results.orders[numbered].max()) + 1 + np.arange(rest.size)
    orders = np.where(numbered, results.orders, lowest[moments.of_result])
    without = plural(int(np.isin(moments.of_result, rest).sum()), "result")
    notes = [f"{without} without an order: placed after all others"] if rest.size else []
    return Ordered(orders, notes, lowest[rest])


def _moments(results: Results) -> _Moments:
    named, timed = results.commits.known(), results.times != UNKNOWN_TIME
    kinds = np.select([named, of_runs(results), timed], [COMMIT, FILE, TIME], ROW)
    known = (results.commits.codes, results.sources, results.times)
    keys = np.choose(kinds, [*known, _row_numbers(results, kinds == ROW)])
    _, first, groups = np.unique(keys * 4 + kinds, return_index=True, return_inverse=True)
    listed = np.argsort(first)
    of_result = np.argsort(listed)[groups]
    times = np.full(first.size, LATEST)
    np.minimum.at(times, of_result[timed], results.times[timed])
    times[times == LATEST] = UNKNOWN_TIME
    return _Moments(of_result, times, list(results.commits[first[listed]]))


def _row_numbers(results: Results, chosen: Flags) -> Ints:
    """Number results that nothing else places: by row if rows are moments, else in each series.

    In a wide table each row is a moment. In a long one the first rows of all series are one.
    """
    numbers = np.zeros(len(results), dtype=np.int64)
    if not chosen.any():
        return numbers
    owners = results.owners[chosen]
    by_owner = np.argsort(owners, kind="stable")
    counted = np.empty(owners.size, dtype=np.int64)
    counted[by_owner] = np.arange(owners.size) - np.searchsorted(owners[by_owner], owners[by_owner])
    places = results.sources * (int(results.rows.max()) + 1) + results.rows
    by_row = np.unique(places[chosen], return_inverse=True)[1]
    numbers[chosen] = by_row if by_row.max() == counted.max() else counted
    return numbers


def _placed(results: Results, moments: _Moments, repository: Repository) -> tuple[Ints, list[str]]:
    """Return an order for each moment, and where it comes from."""
    times, unknown = moments.times, moments.times == UNKNOWN_TIME
    listed = np.arange(times.size)
    if times.size < 2:
        return np.where(unknown, listed, times), []
    known: dict[str, Commit] = {}
    if unknown.any() or _has_ties(times):
        known = repository.find(name for name in moments.commits if name)
    in_git = _git_places(moments, repository, known) if known else np.full(times.size, UNKNOWN_TIME)
    lost = int((in_git == UNKNOWN_TIME).sum())
    if unknown.all() and lost <= (1 - ENOUGH) * times.size:
        more = f"; {plural(lost, 'commit')} unknown to git, placed as listed" if lost else ""
        places = _spread(_filled(in_git), listed) if lost else in_git
        return places, [f"ordered by the commits in git{more}"]
    committed = [known[name].time if name in known else UNKNOWN_TIME for name in moments.commits]
    times = np.where(unknown, np.array(committed, dtype=np.int64), times)
    undated = int((times == UNKNOWN_TIME).sum())
    if undated > ENOUGH * times.size:
        return _as_listed(moments, [file.name for file in results.files])
    ties = listed if _rises(times) else -listed
    more = f"; {undated:,} without a date placed by the rows around them" if undated else ""
    notes = [f"ordered by time{more}", *_again(results, moments)]
    is_in_git = not lost and _has_ties(times)
    return _spread(_filled(times), in_git if is_in_git else ties), notes


def _as_listed(moments: _Moments, files: list[str]) -> tuple[Ints, list[str]]:
    """Return the order of the rows, backwards if the numbers of the commits fall, and a note.

    Files whose names differ only in numbers are sorted by these, however they are listed.
    """
    places, commits = np.arange(moments.times.size), moments.commits
    if _falls(commits):
        shown = f"{commits[0]} is listed before {commits[1]}"
        return places[::-1], [f"ordered as listed, the newest first: {shown}"]
    is_numbered = differ_in_numbers(files)
    listing = "by the numbers of the files" if is_numbered else "as listed"
    remedy = "number the files in reverse" if is_numbered else "list them in reverse"
    reason = f"{'commits' if any(commits) else 'rows'} are without order and time"
    hint = f"if the newest comes first, {remedy}, or add a column `order` or `time`"
    return places, [f"ordered {listing}, the oldest first: {reason}; {hint}"]


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
    listed = repository.history([*{commit.hash for commit in known.values()}])
    positions = {name: number for number, name in enumerate(listed)}
    hashes = [known[name].hash if name in known else "" for name in moments.commits]
    return np.array([positions.get(name, UNKNOWN_TIME) for name in hashes], dtype=np.int64)


def _rises(listed: Ints) -> bool:
    """Return whether known times as listed begin with the oldest."""
    steps = np.sign(np.diff(listed[listed != UNKNOWN_TIME]))
    return bool(steps.sum() >= 0)


def _filled(times: Ints) -> Ints:
    """Give each moment without a time that of the one listed before, in the order of time."""
    listed = times if _rises(times) else times[::-1]
    known = listed != UNKNOWN_TIME
    last = np.maximum.accumulate(np.where(known, np.arange(listed.size), -1))
    filled = np.where(last >= 0, listed[np.maximum(last, 0)], listed[known][0])
    return filled if _rises(times) else filled[::-1]


def _spread(times: Ints, ties: Ints) -> Ints:
    """Return the times as orders, moved on by one where several moments have the same."""
    order = np.lexsort((ties, times))
    steps = np.arange(order.size)
    places = np.empty_like(times)
    places[order] = np.maximum.accumulate(times[order] - steps) + steps
    return places


def _again(results: Results, moments: _Moments) -> list[str]:
    """Note that commits were measured again after another commit."""
    rows = np.lexsort((results.times, results.owners))
    pairs = results.owners[rows] * moments.times.size + moments.of_result[rows]
    starts = np.append(True, np.diff(pairs) != 0)
    if not _has_ties(pairs[starts]):
        return []
    return ["commits that were measured again later count as runs of the first time"]
