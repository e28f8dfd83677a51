"""Append the results of files to a history file, which is read whole and replaced in one step.

A history is a long table: a row for each result, with its order and value, and the identity of its
series. Columns and values that Barograph does not know are kept as they are. A new commit gets the
order after the last: neither times nor git move rows that are there. Results of a commit that is
there get its order, and replace its earlier results of the same series: all of them, or those of
the same run if the run has a name. The CPU is a column that is no part of the identity.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

from barograph.results.fields import EPOCH, MILLISECOND, FieldError, args_of
from barograph.results.repeats import Results
from barograph.results.series import (
    LABELS,
    LARGEST_ORDER,
    ORDER_HINT,
    UNKNOWN_TIME,
    SeriesId,
    normalize_args,
)
from barograph.results.texts import CONTROL
from barograph.runtime.errors import DataError
from barograph.runtime.files import followed, locked
from barograph.sources.formats import cells
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext, ci_context
from barograph.sources.formats.orders import order_results
from barograph.sources.formats.read import TABULAR, collect
from barograph.sources.formats.runs import complete_runs, in_one_unit, with_cpu
from barograph.sources.git import HASH, Repository, is_commit
from barograph.sources.history_file import HistoryFile, Row, text_of, texts_of
from barograph.sources.report import LoadReport

ARGUMENT = "args."
DIRECTIONS = {-1: "lower", 0: None, 1: "higher"}
PART = "."  # between the name of a run and the repetition in its file
UNREADABLE = re.compile(f"{CONTROL.pattern}|{cells.REPLACED}")
LONGEST = 1 << 16  # characters of a text; a CSV reader takes at most twice as many


@dataclass(frozen=True)
class Appended:
    """What an append did.

    Attributes:
        results: The number of results that the history has now from these files.
        replaced: The number of earlier results that they replaced.
        commits: The commits of the results, with their orders.
        report: What could not be used.
        refused: Whether a row of a table was among it. Tools write down which of their results
            failed; a row of a table that cannot be used is a mistake.
        notes: What people should know, one line each.
    """

    results: int
    replaced: int
    commits: Mapping[str, int]
    report: LoadReport
    refused: bool
    notes: Sequence[str]


def append(
    history: str | Path,
    outputs: Sequence[str | Path],
    options: ReadOptions | None = None,
    run: str = "",
    repository: Repository | None = None,
    context: RunContext | None = None,
    cpu: str | None = "",
) -> Appended:
    r"""Append the results of files of any format to a history file.

    Args:
        history: The history: CSV, NDJSON, JSON or Parquet by its name; created if missing.
        outputs: The files.
        options: What the files do not say: commit, time, branch, machine.
        run: The name of the run, to keep earlier results of the same commit.
        repository: Knows commits; the one of the current folder by default.
        context: What the CI service says; from the environment by default.
        cpu: The CPU of single runs that name none; None to write no CPUs.

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
    if not len(collected):
        first = f": {report.first_skip('points')}" if report.skipped["points"] else ""
        raise DataError(f"{report.source}: no results{first}")
    ordered = order_results(collected, repository)
    collected = with_cpu(replace(collected, orders=ordered.orders), cpu)
    rows = _rows(collected, options.branch or context.branch, run, report.source)
    path = followed(Path(history))  # a link stays one
    with locked(path):
        table = HistoryFile.read(path, options)
        replaced, commits = _merge(table, rows, run)
        table.write()
    more = [f"{report.source}: {note}" for note in (*notes_of_runs, *ordered.notes)]
    of_table = any(file.form in TABULAR for file in collected.files)
    refused = of_table and bool(report.skipped["points"])
    return Appended(len(rows), replaced, commits, report, refused, [*collector.notes, *more])


def _rows(results: Results, branch: str, run: str, source: str) -> list[Row]:
    """Return the results as rows with the order of their commits.

    Those of equal names are numbered.

    Raises:
        DataError: A reader or the store would refuse a text: it holds a control character, is not
            valid, or is too long.
    """
    seen: Counter[tuple[int, int, str, str]] = Counter()
    rows = []
    for place, (owner, order) in enumerate(zip(results.owners, results.orders, strict=True)):
        series, time = results.ids[owner], int(results.times[place])
        of_branch, value = results.branches[place] or branch, float(results.values[place])
        name = PART.join(filter(None, [run, results.runs[place]]))
        seen[key := (int(owner), int(order), of_branch, name)] += 1
        number = str(seen[key]) if seen[key] > 1 else ""
        row: Row = {
            "order": int(order),
            "commit": results.commits[place],
            "time": "" if time == UNKNOWN_TIME else (EPOCH + time * MILLISECOND).isoformat(),
            "branch": of_branch,
            "run": PART.join(filter(None, [name, number])),
            **series.labels,
            "args": series.args_json if series.args else "",
            "unit": results.units[place],
            "direction": DIRECTIONS[int(results.directions[owner])],
            "cpu": results.cpus[place],
            "value": int(value) if value.is_integer() and abs(value) < 1e15 else value,
        }
        rows.append(row)
        args = {f"{ARGUMENT}{name}": f"{name}={text}" for name, text in series.args}
        for column, text in (row | args).items():
            if isinstance(text, str) and (UNREADABLE.search(text) or len(text) > LONGEST):
                reason = f"is longer than {LONGEST:,} characters, or holds one that is not allowed"
                shown = f"{source}: {column}: {text!r:.60} {reason}"
                raise DataError(f"{shown}; no result was appended")
    return rows


def _merge(history: HistoryFile, rows: list[Row], run: str) -> tuple[int, dict[str, int]]:
    """Put results into a history; return how many they replaced, and the order of each commit."""
    orders, faults = cells.orders(list(history.texts("order")), "order")
    for number, fault in faults.items():
        where = f"{history.path}: row {number + 1}"
        raise DataError(f"{where}: {fault.reason} (got {fault.value!r:.40})")
    _place(history, orders.tolist(), rows)
    columns = history.columns
    if "args" not in columns and any(name.startswith(ARGUMENT) for name in columns):
        rows = [_with_args_apart(row) for row in rows]
    fresh = {(_series_of(row), row["order"]) for row in rows}
    changed = {order for _, order in fresh}
    kept = []  # but not the results of these series and orders, or of one of their runs
    for row, order, name in zip(history.rows, orders.tolist(), history.texts("run"), strict=True):
        same_run = not run or name == run or name.startswith(run + PART)
        if not (order in changed and same_run and (_series_of(row), order) in fresh):
            kept.append(row)
    replaced, history.rows = len(history.rows) - len(kept), kept
    history.extend(rows)
    return replaced, {row["commit"]: row["order"] for row in rows}


def _place(history: HistoryFile, orders: list[int], rows: list[Row]) -> None:
    """Give results the order that the history has for their commit, or else the next."""
    known: dict[str, dict[str, int]] = {}  # the order of each commit, by branch
    named = zip(orders, history.texts("commit"), history.texts("branch"), strict=True)
    for order, commit, branch in named:
        if commit:
            known.setdefault(commit, {}).setdefault(branch, order)
    last = max(orders, default=0)
    placed: dict[tuple[int, str], int] = {}  # by the order among the results, and the branch
    for row in sorted(rows, key=itemgetter("order")):
        place = row["order"], row["branch"]
        if place not in placed:
            there = _order_of(known.get(_name_in(known, row["commit"]), {}), row["branch"])
            last += there is None
            if last > LARGEST_ORDER:
                raise DataError(f"{history.path}: order: the next one is {last}; {ORDER_HINT}")
            placed[place] = last if there is None else there
        row["order"] = placed[place]


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


def _series_of(row: Row) -> SeriesId:
    """Return the identity in a row; `args` that is not an object is left to the reader."""
    labels = {name: text_of(row.get(name)) for name in LABELS}
    try:
        args = dict(args_of(text_of(row.get("args"))))
    except FieldError:
        args = {}
    apart = {
        k[len(ARGUMENT) :]: text for k, text in texts_of(row).items() if k.startswith(ARGUMENT)
    }
    return SeriesId(**labels, args=normalize_args({**args, **apart}))


def _with_args_apart(row: Row) -> Row:
    """Return a row with a column of each argument, in which an empty argument is none."""
    args = {f"{ARGUMENT}{name}": text for name, text in args_of(row["args"])}
    return {name: cell for name, cell in row.items() if name != "args"} | args
