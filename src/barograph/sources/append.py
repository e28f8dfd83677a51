"""Append the results of files to a history file, which is read whole and replaced in one step.

A history is a long table: a row for each result, with its order and value, and the identity of its
series. Columns and values that Barograph does not know are kept as they are. A new commit gets the
order after the last: neither times nor git move rows that are there. Results of a commit that is
there get its order, and replace its earlier results of the same series: all of them, or those of
the same run if the run has a name.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barograph.results.fields import EPOCH, MILLISECOND, FieldError, args_of
from barograph.results.repeats import Results
from barograph.results.series import (
    LABELS,
    LARGEST_ORDER,
    ORDER_HINT,
    UNKNOWN_TIME,
    SeriesId,
    canonical_text,
    normalize_args,
)
from barograph.results.texts import CONTROL
from barograph.runtime.errors import ConfigError, DataError
from barograph.runtime.extras import needed
from barograph.runtime.files import CsvText, followed, locked, whole
from barograph.sources.formats import cells
from barograph.sources.formats.base import InputFile, ReadOptions, check_keys
from barograph.sources.formats.content import content_of
from barograph.sources.formats.context import RunContext, ci_context
from barograph.sources.formats.nodes import records
from barograph.sources.formats.orders import order_results
from barograph.sources.formats.read import TABULAR, collect
from barograph.sources.formats.rows import parquet_table
from barograph.sources.formats.runs import complete_runs, in_one_unit
from barograph.sources.git import HASH, Repository, is_commit
from barograph.sources.report import LoadReport

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = (
    "order", "commit", "time", "branch", "run", *LABELS, "args", "unit", "direction", "value",
)  # fmt: skip
NEEDED = ("order", "value")
KINDS = (".csv", ".ndjson", ".jsonl", ".json", ".parquet")
ARGUMENT = "args."
DIRECTIONS = {-1: "lower", 0: None, 1: "higher"}
PART = "."  # between the name of a run and the repetition in its file
UNREADABLE = re.compile(f"{CONTROL.pattern}|{cells.REPLACED}")
LONGEST = 1 << 16  # characters of a text; a CSV reader takes at most twice as many
Row = dict[str, Any]


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
) -> Appended:
    r"""Append the results of files of any format to a history file.

    Args:
        history: The history: CSV, NDJSON, JSON or Parquet by its name; created if missing.
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
    if not len(collected):
        first = f": {report.first_skip('points')}" if report.skipped["points"] else ""
        raise DataError(f"{report.source}: no results{first}")
    ordered = order_results(collected, repository)
    collected = replace(collected, orders=ordered.orders)
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


@dataclass
class HistoryFile:
    """The content of a history file.

    Args:
        path: The file, which need not exist.
        columns: The names of the columns.
        rows: The cells of each row by column. Those of a CSV are text; a cell that a row lacks is
            empty.
        types: The types of the columns of a Parquet file.
    """

    path: Path
    columns: list[str] = field(default_factory=lambda: list(COLUMNS))
    rows: list[Row] = field(default_factory=list)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> HistoryFile:
        """Read a history file; a file that does not exist is an empty history.

        Args:
            path: The file.
            options: The limits.

        Raises:
            DataError: The file is not a long table with orders and values, or beyond a limit.
            ConfigError: The name of the file does not end like that of a format.
        """
        if path.suffix.lower() not in KINDS:
            raise ConfigError(f"{path}: a history file must end with one of {', '.join(KINDS)}")
        content = content_of(path, str(path), options) if path.exists() else b""
        if not content.strip():
            return cls(path)
        file = InputFile(str(path), path, content, options)
        history = cls(path, *_table(file))
        check_keys(file, len(history.columns))
        hint = f"`barograph append NEW.csv {path.name}` writes a history that can be extended"
        missing = [name for name in NEEDED if name not in history.columns]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise DataError(f"{path}: misses the {noun} {', '.join(missing)}; {hint}")
        if not any(name in history.columns for name in LABELS):
            raise DataError(f"{path}: has none of the columns {', '.join(LABELS)}; {hint}")
        return history

    def texts(self, name: str) -> Iterator[str]:
        """Yield the cells of a column as text; missing ones are empty."""
        return (_text(row.get(name)) for row in self.rows)

    def extend(self, rows: Sequence[Row]) -> None:
        """Add rows at the end, and the columns that they need."""
        filled = [{name: c for name, c in row.items() if c not in ("", None)} for row in rows]
        self.columns = [*dict.fromkeys(chain(self.columns, *filled))]
        self.rows += filled

    def write(self) -> None:
        """Replace the file, once the new one could be read again.

        Raises:
            DataError: It could not be read again; the old file is unchanged.
        """
        with whole(self.path) as draft:
            if self.path.suffix.lower() == ".parquet":
                self._write_parquet(draft)
                return
            draft.write_bytes(self._encoded().encode())
            file = InputFile(str(self.path), self.path, draft.read_bytes())
            if [*map(_texts, _table(file)[1])] != [*map(_texts, self.rows)]:
                raise DataError(f"{self.path}: unchanged, as what was written cannot be read again")

    def _encoded(self) -> str:
        """Return the rows as CSV or JSON."""
        if self.path.suffix.lower() == ".csv":
            rows = ([row.get(name) for name in self.columns] for row in self.rows)
            csv.writer(buffer := CsvText()).writerows([self.columns, *rows])
            return buffer.getvalue()
        present = ({name: c for name, c in row.items() if c is not None} for row in self.rows)
        lines = [json.dumps(row, ensure_ascii=False) for row in present]
        is_list = self.path.suffix.lower() == ".json"
        return "[\n" + ",\n".join(lines) + "\n]\n" if is_list else "\n".join([*lines, ""])

    def _write_parquet(self, draft: Path) -> None:
        with needed(f"{self.path}: a Parquet file"):
            import pyarrow as pa
            import pyarrow.parquet as pq
        types = dict.fromkeys(self.columns, pa.string())
        types |= {"order": pa.int64(), "time": pa.timestamp("ms", "UTC")}
        types |= {**self.types, "value": pa.float64()}
        columns = {name: [row.get(name) for row in self.rows] for name in self.columns}
        arrays = {name: _array(cells, types[name]) for name, cells in columns.items()}
        pq.write_table(pa.table(arrays), draft, compression="zstd")


def _table(file: InputFile) -> tuple[list[str], list[Row], Mapping[str, pa.DataType]]:
    """Return the columns, the rows and the types of a history, by the end of its name."""
    kind = Path(file.name).suffix.lower()
    if kind == ".csv":
        return _csv(file)
    if kind == ".parquet":
        table = parquet_table(file)
        import pyarrow.parquet as pq

        schema = pq.read_schema(io.BytesIO(file.content or b""))
        return schema.names, table.to_pylist(), dict(zip(schema.names, schema.types, strict=True))
    rows = [record.value for record in records(file)]
    if not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{file.name}: must hold objects with order and value")
    return [*dict.fromkeys(chain(*rows))], rows, {}


def _csv(file: InputFile) -> tuple[list[str], list[Row], Mapping[str, pa.DataType]]:
    reader = csv.reader(io.StringIO(file.text(), newline=""))
    try:
        columns, *lines = ([name.strip() for name in next(reader, [])], *filter(None, reader))
    except csv.Error as error:
        raise DataError(f"{file.name}: line {reader.line_num}: {error}") from None
    if len(set(columns)) < len(columns):
        raise DataError(f"{file.name}: two columns have the same name")
    for number, line in enumerate(lines, 1):
        if len(line) != len(columns):
            counts = f"{len(line)} cells, but there are {len(columns)} columns"
            raise DataError(f"{file.name}: row {number}: {counts}")
    return columns, [dict(zip(columns, line, strict=True)) for line in lines], {}


def _array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the cells of a column, of a type if they fit, else as text."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        moments = [datetime.fromisoformat(c) if isinstance(c, str) else c for c in column]
        return pa.array([m and (m if kind.tz else m.replace(tzinfo=None)) for m in moments], kind)
    try:
        return pa.array(column, kind)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in column])


def _text(cell: object) -> str:
    return "" if cell is None else canonical_text(cell)


def _texts(row: Row) -> dict[str, str]:
    """Return the cells of a row that are not empty, as texts."""
    return {name: text for name, cell in row.items() if (text := _text(cell))}


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
    labels = {name: _text(row.get(name)) for name in LABELS}
    try:
        args = dict(args_of(_text(row.get("args"))))
    except FieldError:
        args = {}
    apart = {k[len(ARGUMENT) :]: text for k, text in _texts(row).items() if k.startswith(ARGUMENT)}
    return SeriesId(**labels, args=normalize_args({**args, **apart}))


def _with_args_apart(row: Row) -> Row:
    """Return a row with a column of each argument, in which an empty argument is none."""
    args = {f"{ARGUMENT}{name}": text for name, text in args_of(row["args"])}
    return {name: cell for name, cell in row.items() if name != "args"} | args
