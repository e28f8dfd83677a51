"""The commits, units and branches of results: complete what the files leave out."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.results.series import UNKNOWN_TIME, Direction, Ints
from barograph.results.texts import Texts
from barograph.results.units import conversion, direction_of_measurement
from barograph.results.wording import plural
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import NO_ORDER, ReadOptions
from barograph.sources.formats.collect import Collected, Mask, first_rows
from barograph.sources.formats.context import RunContext
from barograph.sources.git import Repository
from barograph.sources.report import LoadReport, Skip

SHORT_HASH = re.compile(r"[0-9a-f]{7,39}")
TABLES = "tables"  # the only format whose files may be either
FULL_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
USUAL_BASES = ("main", "master", "trunk")
SHOWN = 4
CONVERTED = "values converted to the first unit of their series"
OTHER_UNIT = "the unit cannot be converted to that of the series' first value"


def complete_runs(
    results: Collected, options: ReadOptions, context: RunContext, repository: Repository
) -> tuple[Collected, list[str]]:
    """Give the results of single runs the commit and the time that their files do not say.

    A table is a single run if it says nothing about its place in history: each result is of another
    series, without commit, order and time. If the options name a commit, results of one series
    are runs of it, and may have a time or a common order.

    The commit is that of the options, of the CI job, or the one that git has checked out; with the
    last comes the branch that git has checked out. If several files have results of the same
    series, they are runs of different commits: then only the options name one. A run without a time
    gets that of its commit, or else the present.

    Args:
        results: All results.
        options: What the user said.
        context: What the CI service says.
        repository: Knows the checked out commit, and the times of commits.

    Returns:
        The results, and what people should know about them.
    """
    results = _with_tables_of_runs(results, bool(options.commit))
    is_run = results.of_runs()
    notes: list[str] = []
    if not is_run.any():
        return results, notes
    without = is_run & ~results.commits.known()
    commit = options.commit
    repeated = _in_several_files(results, without)
    if without.any() and not commit and not repeated:
        head = None if context.commit else repository.head()
        commit = context.commit or (head.hash if head else "")
        unnamed = without & ~results.branches.known()
        is_open = unnamed.any() and not (options.branch or context.branch)
        if head and is_open and (branch := repository.branch()):
            results = replace(results, branches=results.branches.replaced(unnamed, branch))
            notes.append(f"of commit {head.hash[:7]} of branch {branch}, as checked out")
    if commit:
        results = replace(results, commits=results.commits.replaced(without, commit))
    missing = is_run & (results.times == UNKNOWN_TIME)
    if not missing.any() or (repeated and options.time == UNKNOWN_TIME):
        return results, notes
    times = _run_times(results, missing, options, repository)
    return replace(results, times=times), notes


def _with_tables_of_runs(results: Collected, is_named: bool) -> Collected:
    """Mark the tables that hold a single run, as `complete_runs` describes."""
    placed = results.commits.known()
    if is_named:
        first, group = first_rows(results.sources)
        placed |= results.orders != results.orders[first][group]
    else:
        placed |= (results.orders != NO_ORDER) | (results.times != UNKNOWN_TIME)
    histories = set(np.unique(results.sources[placed]).tolist())
    tables = [number for number, file in enumerate(results.files) if file.form == TABLES]
    if not is_named and not histories.issuperset(tables):
        pairs = results.sources * len(results.ids) + results.owners
        repeated = np.delete(results.sources, first_rows(pairs)[0])
        histories.update(np.unique(repeated).tolist())
    runs = set(tables) - histories
    files = (
        replace(file, is_run=file.is_run or number in runs)
        for number, file in enumerate(results.files)
    )
    return replace(results, files=tuple(files))


def with_full_hashes(results: Collected) -> Collected:
    """Write out abbreviated hashes of which the results name exactly one full hash."""
    names = list(results.commits.names)
    ordered = sorted({*names})
    follows = dict(pairwise([*ordered, "", ""]))
    full = {
        name: follows[name]
        for name in ordered
        if SHORT_HASH.fullmatch(name)
        and follows[name].startswith(name)
        and FULL_HASH.fullmatch(follows[name])
        and not follows[follows[name]].startswith(name)
    }
    if not full:
        return results
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(full.get(name, name), len(numbers)) for name in names]
    commits = Texts(np.array(codes, dtype=np.int32)[results.commits.codes], list(numbers))
    return replace(results, commits=commits)


def _in_several_files(results: Collected, chosen: Mask) -> bool:
    """Return whether a series has results in several of the files."""
    pairs = np.unique(np.stack([results.owners[chosen], results.sources[chosen]]), axis=1)
    return bool(np.unique(pairs[0]).size < pairs.shape[1])


def _run_times(
    results: Collected, missing: Mask, options: ReadOptions, repository: Repository
) -> Ints:
    if options.time != UNKNOWN_TIME:
        return np.where(missing, options.time, results.times)
    known = repository.find({results.commits[int(row)] for row in np.flatnonzero(missing)} - {""})
    now = int(time.time() * 1000)
    times = [known[name].time if name in known else now for name in results.commits.names]
    return np.where(missing, np.array(times, dtype=np.int64)[results.commits.codes], results.times)


def in_one_unit(results: Collected, report: LoadReport) -> Collected:
    """Convert the values of each series to its first unit; leave out those that cannot be.

    A series whose direction no file says gets the direction of its unit.

    Args:
        results: All results.
        report: Counts what was converted and left out.
    """
    names = list(results.units.names)
    if not any(names):
        return results
    first = results.unit_codes()
    results = replace(results, directions=_directions(results, first, names))
    pairs = first[results.owners] * len(names) + results.units.codes
    differs = (results.units.codes != first[results.owners]) & results.units.known()
    if not differs.any():
        return results
    factors = np.ones(len(results))
    for pair in np.unique(pairs[differs]).tolist():
        into, unit = divmod(pair, len(names))
        factor = conversion(names[unit], names[into])
        factors[pairs == pair] = np.nan if factor is None else factor
    for row in np.flatnonzero(np.isnan(factors)).tolist():
        skip = Skip(results.place(row), "unit", results.units[row], OTHER_UNIT)
        report.skip("points", skip)
    report.corrected += Counter({CONVERTED: int(np.sum(factors != 1) - np.isnan(factors).sum())})
    units = Texts(first.astype(np.int32)[results.owners], names)
    converted = replace(results, values=results.values * factors, units=units)
    return converted.only(np.isfinite(factors))


def _directions(results: Collected, first: Ints, names: list[str]) -> Ints:
    """Return the directions of all series, those of their units where no file says it."""
    directions = results.directions.copy()
    for number in np.flatnonzero(directions == int(Direction.UNKNOWN)).tolist():
        name, unit = results.ids[number].measurement, names[first[number]]
        directions[number] = int(direction_of_measurement(name, unit))
    return directions


class Branches(NamedTuple):
    """Which results are of which branch.

    Attributes:
        base: The results of the base branch.
        judged: The results of the branch that is judged after the base branch.
        name: The name of the judged branch; empty if there is none.
        notes: What is left out.
    """

    base: Mask
    judged: Mask
    name: str
    notes: list[str]


def split_branches(results: Collected, options: ReadOptions, context: RunContext) -> Branches:
    """Split results by branch.

    The base branch is the one of the options, that of the CI job's target, `main`, `master` or
    `trunk`, or else the most frequent. Results of a history that name no branch are of it. The
    judged branch is the one of the options, that of the CI job, or that of the single runs.

    Args:
        results: All results.
        options: May name both branches.
        context: What the CI service says.

    Raises:
        DataError: No result is of a branch that the options name.
    """
    branches = results.branches
    of_runs = options.branch or context.branch
    if of_runs:  # the branch of single runs that name none
        branches = branches.replaced(results.of_runs() & ~branches.known(), of_runs)
    names, codes = list(branches.names), branches.codes
    sizes = np.bincount(codes, minlength=len(names)).tolist()
    counts = Counter(dict(zip(names, sizes, strict=True)))
    present = [name for name, count in counts.items() if name and count]
    everything = np.ones(len(results), dtype=np.bool_)
    nothing = ~everything
    if not present:
        _require(options.branch, "--branch", present)
        return Branches(everything, nothing, "", [])
    base = _base(options, context, counts, present)
    is_base = np.array([name in ("", base) for name in names], dtype=np.bool_)[codes]
    _require(options.branch, "--branch", present)
    of_job = context.branch if context.branch in present else ""
    chosen = options.branch or of_job or _branch_of_runs(results, names, codes, is_base)
    judged = nothing
    if chosen and chosen != base:
        judged = np.array([name == chosen for name in names], dtype=np.bool_)[codes]
    if not is_base.any():
        is_base, judged, chosen = judged if judged.any() else everything, nothing, ""
    name = chosen if judged.any() else ""
    return Branches(is_base, judged, name, _left_out(names, codes, ~is_base & ~judged))


def _base(
    options: ReadOptions, context: RunContext, counts: Counter[str], present: list[str]
) -> str:
    if options.base_branch:
        _require(options.base_branch, "base-branch", present, unnamed=bool(counts[""]))
        return options.base_branch
    for name in (context.base_branch, *USUAL_BASES):
        if name in present:
            return name
    if counts[""]:  # they are the history; nothing says that the others are not
        judged = options.branch or (context.branch if context.base_branch else "")
        others = [name for name in present if name != judged]
        # Of a branch without a known target it takes the CI job to say that it is the base.
        return others[0] if others == [context.branch] else ""
    others = [name for name in present if name != options.branch] or present
    return max(others, key=lambda name: counts[name])


def _branch_of_runs(results: Collected, names: list[str], codes: np.ndarray, is_base: Mask) -> str:
    """Return the branch of the single runs, if they have one besides the base branch."""
    rows = np.flatnonzero(results.of_runs() & ~is_base)
    return names[int(codes[rows[-1]])] if rows.size else ""


def _require(name: str, option: str, present: list[str], *, unnamed: bool = False) -> None:
    if not name or name in present or unnamed:
        return
    named = ", ".join(sorted(present)[:SHOWN]) or "none"
    raise DataError(f"{option} {name}: no result is of this branch; the files name {named}")


def _left_out(names: list[str], codes: np.ndarray, rows: Mask) -> list[str]:
    if not rows.any():
        return []
    others = [names[code] for code in np.unique(codes[rows]).tolist()]
    shown = ", ".join(others[:SHOWN]) + (", ..." if len(others) > SHOWN else "")
    count = int(rows.sum())
    left = f"{plural(count, 'result')} of other branches left out"
    return [f"{left} ({shown}); --branch NAME judges one"]
