"""Append the results of files to a history file.

A new commit gets the order after the last: neither times nor git move rows that are there. Results
of a commit that is there get its order, and replace its earlier results of the same series: all of
them, or those of the same run if the run has a name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

from barograph.results.fields import EPOCH
from barograph.results.series import (
    LABELS,
    LARGEST_ORDER,
    ORDER_HINT,
    UNKNOWN_TIME,
    Direction,
    SeriesId,
    normalize_args,
)
from barograph.results.texts import CONTROL
from barograph.runtime.errors import DataError
from barograph.runtime.files import followed, locked
from barograph.sources.formats import cells
from barograph.sources.formats.base import ReadOptions, Result
from barograph.sources.formats.collect import Collected
from barograph.sources.formats.context import RunContext, ci_context
from barograph.sources.formats.orders import order_results
from barograph.sources.formats.read import TABULAR, collect
from barograph.sources.formats.runs import complete_runs, in_one_unit
from barograph.sources.git import HASH, Repository, is_commit
from barograph.sources.history_file import HistoryFile, Row, text_of_cell

ARGUMENT = "args."
DIRECTIONS = {-1: "lower", 0: None, 1: "higher"}
PART = "."  # between the name of a run and the repetition in its file


@dataclass(frozen=True)
class Appended:
    """What an append did.

    Attributes:
        results: The number of results that the history has now from these files.
        replaced: The number of earlier results that they replaced.
        commits: The commits of the results, with their orders.
        skipped: The number of results that could not be used.
        unusable: The first of them, one line each.
        refused: Whether a row of a table was one of them. Tools write down which of their results
            failed; a row of a table that cannot be used is a mistake.
        notes: What people should know, one line each.
    """

    results: int
    replaced: int
    commits: Mapping[str, int]
    skipped: int
    unusable: tuple[str, ...]
    refused: bool
    notes: tuple[str, ...]


def append(
    history: str | Path,
    outputs: Sequence[str | Path],
    options: ReadOptions | None = None,
    run: str = "",
    repository: Repository | None = None,
    context: RunContext | None = None,
) -> Appended:
    r"""Append the results of files of any format to a history file.

    Args:
        history: The history: CSV, NDJSON or JSON by its name; created if it does not exist.
        outputs: The files.
        options: What the files do not say: commit, time, branch, machine.
        run: The name of the run, to keep earlier results of the same commit.
        repository: Knows commits; the one of the current folder by default.
        context: What the CI service says; from the environment by default.

    Raises:
        DataError: A file has no results, or the history is not a table that can be extended.

    Example:
        >>> _ = Path("out.json").write_text('[{"name": "sort", "unit": "ms", "value": 4.5}]')
        >>> done = append("history.csv", ["out.json"], ReadOptions(commit="8674f78"))
        >>> done.results, done.replaced, done.commits
        (1, 0, {'8674f78': 1})
        >>> append("history.csv", ["out.json"], ReadOptions(commit="8674f78")).replaced
        1
    """
    options, repository = options or ReadOptions(), repository or Repository()
    context = ci_context() if context is None else context
    collector = collect(outputs, options)
    report = collector.report
    collected, notes_of_runs = complete_runs(collector.finish(), options, context, repository)
    collected = in_one_unit(collected, report)
    skipped = sum(entry.count for entry in report.skipped["points"].values())
    if not len(collected):
        first = f": {report.first_skip('points')}" if skipped else ""
        raise DataError(f"{report.source}: no results{first}")
    ordered = order_results(collected, repository)
    branch = options.branch or context.branch
    results = _results(collected, ordered.orders.tolist(), branch, run)
    _require_texts(results, report.source)
    path = followed(Path(history))  # a link stays one
    with locked(path):
        table = HistoryFile.read(path, options)
        replaced, commits = _merge(table, results, run)
        table.write(options)
    more = (f"{report.source}: {note}" for note in (*notes_of_runs, *ordered.notes))
    refused = skipped > 0 and any(file.form in TABULAR for file in collected.files)
    unusable = tuple(report.skips("points"))
    notes = (*collector.notes, *more)
    return Appended(len(results), replaced, commits, skipped, unusable, refused, notes)


def _results(collected: Collected, ranks: list[int], branch: str, run: str) -> list[Result]:
    """Return the results as the history will hold them, with the ranks of their commits as orders.

    Those of equal names are numbered.
    """
    seen: Counter[tuple[int, int, str, str]] = Counter()
    results = []
    for row, rank in enumerate(ranks):
        owner, of_branch = int(collected.owners[row]), collected.branches[row] or branch
        name = PART.join(filter(None, [run, collected.runs[row]]))
        seen[key := (owner, rank, of_branch, name)] += 1
        if seen[key] > 1:
            name = PART.join(filter(None, [name, str(seen[key])]))
        results.append(
            Result(
                collected.ids[owner],
                float(collected.values[row]),
                collected.units[row],
                Direction(int(collected.directions[owner])),
                rank,
                collected.commits[row],
                int(collected.times[row]),
                name,
                of_branch,
            )
        )
    return results


def _require_texts(results: list[Result], source: str) -> None:
    """Refuse texts that a reader or the store would refuse.

    Raises:
        DataError: A text holds a control character, or is not valid.
    """
    for result in results:
        args = {f"{ARGUMENT}{name}": f"{name}={value}" for name, value in result.series.args}
        for name, text in (result._asdict() | result.series.labels | args).items():
            if isinstance(text, str) and (CONTROL.search(text) or cells.REPLACED in text):
                reason = "holds a control character or is not valid text"
                raise DataError(f"{source}: {name}: {text!r:.60} {reason}; no result was appended")


def _merge(history: HistoryFile, results: list[Result], run: str) -> tuple[int, dict[str, int]]:
    """Put results into a history; return how many they replaced, and the order of each commit."""
    places, faults = cells.orders(list(history.texts("order")), "order")
    for row, fault in faults.items():
        got = f"(got {fault.value!r:.40})"
        raise DataError(f"{history.path}: row {row + 1}: {fault.reason} {got}")
    orders: list[int] = places.tolist()
    known: dict[str, dict[str, int]] = {}
    named = zip(orders, history.texts("commit"), history.texts("branch"), strict=True)
    for order, commit, branch in named:
        if commit:
            known.setdefault(commit, {}).setdefault(branch, order)
    last = max(orders, default=0)
    placed: dict[tuple[int | None, str], int] = {}  # by the rank and the branch of a result
    for result in sorted(results, key=attrgetter("order")):
        place = (result.order, result.branch)
        if place not in placed:
            there = _order_of(known.get(_name_in(known, result.commit), {}), result.branch)
            last += there is None
            if last > LARGEST_ORDER:
                raise DataError(f"{history.path}: order: the next one is {last}; {ORDER_HINT}")
            placed[place] = last if there is None else there
    of_result = [placed[result.order, result.branch] for result in results]
    pairs = list(zip(results, of_result, strict=True))
    fresh = {(result.series, order) for result, order in pairs}
    replaced = _remove(history, orders, fresh, run)
    history.extend([_row(result, order, history) for result, order in pairs])
    return replaced, {result.commit: order for result, order in pairs}


def _order_of(known: Mapping[str, int], branch: str) -> int | None:
    """Return the order of a commit that the history has on this branch, or on an unnamed branch."""
    if branch in known or "" in known:
        return known.get(branch, known.get(""))
    return None if branch else min(known.values(), default=None)


def _name_in(known: Mapping[str, object], commit: str) -> str:
    """Return the name that a history has for a commit: hashes may be abbreviated there, or here."""
    if commit in known or not HASH.fullmatch(commit):
        return commit
    same = (name for name in known if is_commit(name, commit) or is_commit(commit, name))
    names = [name for name in same if HASH.fullmatch(name)]
    return names[0] if len(names) == 1 else commit


def _remove(
    history: HistoryFile, orders: list[int], fresh: set[tuple[SeriesId, int]], run: str
) -> int:
    """Remove the results of some series and orders, or of one of their runs; return how many."""
    changed = {order for _, order in fresh}
    kept = []
    for row, order, name in zip(history.rows, orders, history.texts("run"), strict=True):
        same_run = not run or name == run or name.startswith(run + PART)
        if not (order in changed and same_run and (_series_of(row), order) in fresh):
            kept.append(row)
    removed = len(history.rows) - len(kept)
    history.rows = kept
    return removed


def _series_of(row: Row) -> SeriesId:
    """Return the identity of the series of a row."""
    named = ((name, text_of_cell(cell)) for name, cell in row.items() if _names(name))
    return _identity(tuple(pair for pair in named if pair[1]))


def _names(column: str) -> bool:
    return column in LABELS or column == "args" or column.startswith(ARGUMENT)


@lru_cache(4096)
def _identity(texts: tuple[tuple[str, str], ...]) -> SeriesId:
    """Return the identity that cells name; `args` that is not an object is left to the reader."""
    named = dict(texts)
    try:
        stated = json.loads(named.get("args", "{}"))
    except (ValueError, RecursionError):
        stated = {}
    args = normalize_args(stated) if isinstance(stated, dict) else ()
    more = {name[len(ARGUMENT) :]: text for name, text in texts if name.startswith(ARGUMENT)}
    labels = {name: named.get(name, "") for name in LABELS}
    return SeriesId(**labels, args=args + normalize_args(more))


def _row(result: Result, order: int, history: HistoryFile) -> Row:
    """Return the cells of a result by column."""
    row: Row = {
        "order": order,
        "commit": result.commit or None,
        "time": None if result.time == UNKNOWN_TIME else _shown(result.time),
        "branch": result.branch or None,
        "run": result.run or None,
        **{name: label or None for name, label in result.series.labels.items()},
        "unit": result.unit or None,
        "direction": DIRECTIONS[result.direction],
        "value": int(result.value) if _is_whole(result.value) else result.value,
    }
    has_arguments = any(column.startswith(ARGUMENT) for column in history.columns)
    if "args" not in history.columns and has_arguments:
        return row | {ARGUMENT + name: value for name, value in result.series.args}
    return row | {"args": result.series.args_json if result.series.args else None}


def _is_whole(value: float) -> bool:
    return value.is_integer() and abs(value) < 1e15


def _shown(time: int) -> str:
    """Return a time as ISO 8601 in UTC."""
    moment = EPOCH + timedelta(milliseconds=time)
    return moment.isoformat(timespec="milliseconds" if time % 1000 else "seconds")
