"""Tell the results of the base branch, which are the history, from those of a branch to judge."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from barograph.results.wording import plural
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.collect import Collected, Mask
from barograph.sources.formats.context import RunContext

USUAL_BASES = ("main", "master", "trunk")
SHOWN = 4


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
        _require(options.base_branch, "--base-branch", present, unnamed=bool(counts[""]))
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
