"""The commits, units and branches of results: complete what the files leave out."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.results.repeats import NO_ORDER, Results
from barograph.results.series import UNKNOWN_TIME, Direction, Flags, Ints
from barograph.results.texts import Texts
from barograph.results.units import conversion, direction_of_measurement
from barograph.results.wording import plural
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.git import Repository
from barograph.sources.report import LoadReport, Place, Skip

SHORT_HASH = re.compile(r"[0-9a-f]{7,39}")
TABLES = "tables"  # the only format whose files may be either
FULL_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
USUAL_BASES = ("main", "master", "trunk")
SHOWN = 4
CONVERTED = "values converted to the first unit of their series"
OTHER_UNIT = "the unit cannot be converted to that of the series' first value"


def of_runs(results: Results) -> Flags:
    """Return for each result whether its file holds a single run."""
    return np.array([file.is_run for file in results.files], dtype=np.bool_)[results.sources]


def place_of(results: Results, row: int) -> Place:
    """Return where a result is, for messages."""
    return Place(results.files[int(results.sources[row])].name, int(results.rows[row]) + 1, "row")


def complete_runs(
    results: Results, options: ReadOptions, context: RunContext, repository: Repository
) -> tuple[Results, list[str]]:
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
    is_run, notes = of_runs(results), []
    without = is_run & ~results.commits.known()
    pairs = {*zip(results.owners[without].tolist(), results.sources[without].tolist(), strict=True)}
    repeated = len({owner for owner, _ in pairs}) < len(pairs)  # in several files
    commit = options.commit
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
    times: Ints = np.array(options.time)
    if options.time == UNKNOWN_TIME:
        known = repository.find({*results.commits[missing]} - {""})
        now = int(time.time() * 1000)
        moments = [known[name].time if name in known else now for name in results.commits.names]
        times = np.array(moments, dtype=np.int64)[results.commits.codes]
    return replace(results, times=np.where(missing, times, results.times)), notes


def with_cpu(results: Results, cpu: str | None) -> Results:
    """Give the results of single runs whose files name no CPU one; without one, forget all CPUs.

    Args:
        results: The results.
        cpu: The model of the CPU; empty if unknown, None to forget all.
    """
    if cpu is None:
        return replace(results, cpus=Texts.unknown(len(results)))
    without = of_runs(results) & ~results.cpus.known()
    return replace(results, cpus=results.cpus.replaced(without, cpu))


def _with_tables_of_runs(results: Results, is_named: bool) -> Results:
    """Mark the tables that hold a single run, as `complete_runs` describes."""
    placed = results.commits.known()
    if not is_named:
        placed |= (results.orders != NO_ORDER) | (results.times != UNKNOWN_TIME)
    files = []
    for number, file in enumerate(results.files):
        is_run = file.is_run
        if file.form == TABLES:
            rows = results.sources == number
            values = results.orders[rows] if is_named else results.owners[rows]
            different, most = np.unique(values).size, 1 if is_named else values.size
            is_run = not placed[rows].any() and different in (0, most)
        files.append(file._replace(is_run=is_run))
    return replace(results, files=tuple(files))


def with_full_hashes(results: Results) -> Results:
    """Write out abbreviated hashes of which the results name exactly one full hash."""
    ordered = sorted({*results.commits.names})
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
    return replace(results, commits=results.commits.renamed(lambda name: full.get(name, name)))


def in_one_unit(results: Results, report: LoadReport) -> Results:
    """Convert the values of each series to its first unit; leave out those that cannot be.

    A series whose direction no file says gets the direction of its unit.

    Args:
        results: All results.
        report: Counts what was converted and left out.
    """
    names, first = list(results.units.names), results.unit_codes()
    if not any(names):
        return results
    directions = results.directions.copy()
    for number in np.flatnonzero(directions == int(Direction.UNKNOWN)).tolist():
        unit = names[first[number]]
        directions[number] = direction_of_measurement(results.ids[number].measurement, unit)
    results = replace(results, directions=directions)
    into = first[results.owners]
    differs = (results.units.codes != into) & results.units.known()
    factors = np.ones(len(results))
    pairs = into * len(names) + results.units.codes
    for pair in np.unique(pairs[differs]).tolist():
        factor = conversion(names[pair % len(names)], names[pair // len(names)])
        factors[pairs == pair] = np.nan if factor is None else factor
    for row in np.flatnonzero(np.isnan(factors)).tolist():
        skip = Skip(place_of(results, row), "unit", results.units[row], OTHER_UNIT)
        report.skip("points", skip)
    if differs.any():
        count = int(np.sum(factors != 1) - np.isnan(factors).sum())
        report.corrected += Counter({CONVERTED: count})
        units = Texts(into.astype(np.int32), names)
        results = replace(results, values=results.values * factors, units=units)
    return results.only(np.isfinite(factors))


class Branches(NamedTuple):
    """Which results are of which branch.

    Attributes:
        base: The results of the base branch.
        judged: The results of the branch that is judged after the base branch.
        name: The name of the judged branch; empty if there is none.
        notes: What is left out.
    """

    base: Flags
    judged: Flags
    name: str
    notes: list[str]


def split_branches(results: Results, options: ReadOptions, context: RunContext) -> Branches:
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
    branches, is_run = results.branches, of_runs(results)
    if of_job := options.branch or context.branch:  # of single runs that name none
        branches = branches.replaced(is_run & ~branches.known(), of_job)
    sizes = np.bincount(branches.codes, minlength=len(branches.names)).tolist()
    counts = {name: size for name, size in zip(branches.names, sizes, strict=True) if size}
    unnamed = counts.pop("", 0)
    named = ", ".join(sorted(counts)[:SHOWN]) or "none"
    is_wrong_base = options.base_branch not in counts and not unnamed and counts
    for name, option, is_wrong in (
        (options.base_branch, "base-branch", is_wrong_base),
        (options.branch, "--branch", options.branch not in counts),
    ):
        if name and is_wrong:
            raise DataError(f"{option} {name}: no result is of this branch; the files name {named}")
    nothing = np.zeros(len(results), dtype=np.bool_)
    if not counts:
        return Branches(~nothing, nothing, "", [])
    base = options.base_branch or _base(options, context, counts, bool(unnamed))
    is_base = branches.among(("", base))
    of_runs_ = branches[is_run & ~is_base]
    chosen = options.branch or (context.branch if context.branch in counts else "")
    chosen = chosen or (of_runs_[-1] if len(of_runs_) else "")
    judged = branches.among((chosen,)) if chosen not in ("", base) else nothing
    if not is_base.any():
        is_base, judged = judged if judged.any() else ~nothing, nothing
    others, notes = branches[~is_base & ~judged], []
    if len(others):
        numbers = np.unique(others.codes).tolist()
        shown = ", ".join(others.names[code] for code in numbers[:SHOWN])
        shown += ", ..." if len(numbers) > SHOWN else ""
        left = f"{plural(len(others), 'result')} of other branches left out"
        notes = [f"{left} ({shown}); --branch NAME judges one"]
    return Branches(is_base, judged, chosen if judged.any() else "", notes)


def _base(
    options: ReadOptions, context: RunContext, counts: dict[str, int], has_unnamed: bool
) -> str:
    """Return the base branch that no option names; empty if only results without one are of it."""
    for name in (context.base_branch, *USUAL_BASES):
        if name in counts:
            return name
    if has_unnamed:  # they are the history; nothing says that the others are not
        judged = options.branch or (context.branch if context.base_branch else "")
        others = [name for name in counts if name != judged]
        # Of a branch without a known target it takes the CI job to say that it is the base.
        return context.branch if others == [context.branch] else ""
    return max(counts, key=lambda name: (name != options.branch, counts[name]))
