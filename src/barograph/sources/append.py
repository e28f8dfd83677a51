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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barograph.results.fields import EPOCH, MILLISECOND, FieldError
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
LONGEST = 1 << 16  # characters of a text; a CSV reader takes at most twice as many
Row = dict[str, Any]
_Table = tuple[list[str], list[Row], Mapping[str, "pa.DataType"]]
_Result = tuple[SeriesId, Row]


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
    unusable: Sequence[str]
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
    skipped = report.skipped["points"].total()
    if not len(collected):
        first = f": {report.first_skip('points')}" if skipped else ""
        raise DataError(f"{report.source}: no results{first}")
    ordered = order_results(collected, repository)
    rows = _rows(collected, options.branch or context.branch, run, ordered.orders.tolist())
    _require_texts(rows, report.source)
    path = followed(Path(history))  # a link stays one
    with locked(path):
        table = HistoryFile.read(path, options)
        replaced, commits = _merge(table, rows, run)
        table.write()
    more = (f"{report.source}: {note}" for note in (*notes_of_runs, *ordered.notes))
    notes = [*collector.notes, *more]
    refused = skipped > 0 and any(file.form in TABULAR for file in collected.files)
    return Appended(len(rows), replaced, commits, skipped, report.skips("points"), refused, notes)


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
        kind = path.suffix.lower()
        if kind not in KINDS:
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
        self.columns = list(
            dict.fromkeys([*self.columns, *(name for row in filled for name in row)])
        )
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
            again = _table(file)[1]
            if [*map(_texts, again)] != [*map(_texts, self.rows)]:
                raise DataError(f"{self.path}: unchanged, as what was written cannot be read again")

    def _encoded(self) -> str:
        """Return the rows as CSV or JSON."""
        kind = self.path.suffix.lower()
        if kind == ".csv":
            rows = [[row.get(name) for name in self.columns] for row in self.rows]
            csv.writer(buffer := CsvText()).writerows([self.columns, *rows])
            return buffer.getvalue()
        present = (
            {name: cell for name, cell in row.items() if cell is not None} for row in self.rows
        )
        lines = [json.dumps(row, ensure_ascii=False) for row in present]
        return "[\n" + ",\n".join(lines) + "\n]\n" if kind == ".json" else "\n".join([*lines, ""])

    def _write_parquet(self, draft: Path) -> None:
        with needed(f"{self.path}: a Parquet file"):
            import pyarrow as pa
            import pyarrow.parquet as pq
        types = dict.fromkeys(self.columns, pa.string())
        types |= {"order": pa.int64(), "time": pa.timestamp("ms", "UTC")}
        types |= {**self.types, "value": pa.float64()}
        arrays = {
            name: _array([row.get(name) for row in self.rows], types[name]) for name in self.columns
        }
        pq.write_table(pa.table(arrays), draft, compression="zstd")


def _table(file: InputFile) -> _Table:
    """Return the columns, the rows and the types of a history, by the end of its name."""
    readers = {".csv": _csv, ".parquet": _parquet}
    return readers.get(Path(file.name).suffix.lower(), _json)(file)


def _csv(file: InputFile) -> _Table:
    reader = csv.reader(io.StringIO(file.text(), newline=""))
    try:
        columns, *lines = ([name.strip() for name in next(reader, [])], *filter(None, reader))
    except csv.Error as error:
        raise DataError(f"{file.name}: line {reader.line_num}: {error}") from None
    if len(set(columns)) < len(columns):
        raise DataError(f"{file.name}: two columns have the same name")
    wrong = next((k for k, line in enumerate(lines, 1) if len(line) != len(columns)), 0)
    if wrong:
        counts = f"{len(lines[wrong - 1])} cells, but there are {len(columns)} columns"
        raise DataError(f"{file.name}: row {wrong}: {counts}")
    return columns, [dict(zip(columns, line, strict=True)) for line in lines], {}


def _json(file: InputFile) -> _Table:
    rows = [record.value for record in records(file)]
    if not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{file.name}: must hold objects with order and value")
    return list(dict.fromkeys(name for row in rows for name in row)), rows, {}


def _parquet(file: InputFile) -> _Table:
    rows = parquet_table(file).to_pylist()
    import pyarrow.parquet as pq

    schema = pq.read_schema(io.BytesIO(file.content or b""))
    return schema.names, rows, dict(zip(schema.names, schema.types, strict=True))


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


def _rows(collected: Results, branch: str, run: str, ranks: list[int]) -> list[_Result]:
    """Return the results as the history will hold them, with the ranks of their commits as orders.

    Those of equal names are numbered.
    """
    seen: Counter[tuple[int, int, str, str]] = Counter()
    rows = []
    for place, rank in enumerate(ranks):
        owner, value = int(collected.owners[place]), float(collected.values[place])
        series, time = collected.ids[owner], int(collected.times[place])
        of_branch = collected.branches[place] or branch
        name = PART.join(filter(None, [run, collected.runs[place]]))
        seen[key := (owner, rank, of_branch, name)] += 1
        number = str(seen[key]) if seen[key] > 1 else ""
        row: Row = {
            "order": rank,
            "commit": collected.commits[place],
            "time": "" if time == UNKNOWN_TIME else (EPOCH + time * MILLISECOND).isoformat(),
            "branch": of_branch,
            "run": PART.join(filter(None, [name, number])),
            **series.labels,
            "unit": collected.units[place],
            "direction": DIRECTIONS[int(collected.directions[owner])],
            "value": int(value) if value.is_integer() and abs(value) < 1e15 else value,
        }
        rows.append((series, row))
    return rows


def _require_texts(rows: list[_Result], source: str) -> None:
    """Refuse texts that a reader or the store would refuse.

    Raises:
        DataError: A text holds a control character, is not valid, or is too long.
    """
    for series, row in rows:
        args = {f"{ARGUMENT}{name}": f"{name}={value}" for name, value in series.args}
        texts = {name: text for name, text in (row | args).items() if isinstance(text, str)}
        for name, text in texts.items():
            if CONTROL.search(text) or cells.REPLACED in text or len(text) > LONGEST:
                reason = f"is longer than {LONGEST:,} characters, or holds one that is not allowed"
                raise DataError(f"{source}: {name}: {text!r:.60} {reason}; no result was appended")


def _merge(history: HistoryFile, rows: list[_Result], run: str) -> tuple[int, dict[str, int]]:
    """Put results into a history; return how many they replaced, and the order of each commit."""
    places, faults = cells.orders(list(history.texts("order")), "order")
    for number, fault in faults.items():
        where = f"{history.path}: row {number + 1}"
        raise DataError(f"{where}: {fault.reason} (got {fault.value!r:.40})")
    orders: list[int] = places.tolist()
    known: dict[str, dict[str, int]] = {}  # the order of each commit, by branch
    named = zip(orders, history.texts("commit"), history.texts("branch"), strict=True)
    for order, commit, branch in named:
        if commit:
            known.setdefault(commit, {}).setdefault(branch, order)
    last = max(orders, default=0)
    placed: dict[tuple[int, str], int] = {}  # by the rank and the branch of a result
    for _, row in sorted(rows, key=lambda result: result[1]["order"]):
        place = row["order"], row["branch"]
        if place not in placed:
            there = _order_of(known.get(_name_in(known, row["commit"]), {}), row["branch"])
            last += there is None
            if last > LARGEST_ORDER:
                raise DataError(f"{history.path}: order: the next one is {last}; {ORDER_HINT}")
            placed[place] = last if there is None else there
    for _, row in rows:
        row["order"] = placed[row["order"], row["branch"]]
    replaced = _remove(history, orders, {(series, row["order"]) for series, row in rows}, run)
    columns = history.columns
    is_apart = "args" not in columns and any(name.startswith(ARGUMENT) for name in columns)
    for series, row in rows:
        apart = {ARGUMENT + name: value for name, value in series.args}
        row.update(apart if is_apart else {"args": series.args_json if series.args else ""})
    history.extend([row for _, row in rows])
    return replaced, {row["commit"]: row["order"] for _, row in rows}


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
    history.rows, before = kept, len(history.rows)
    return before - len(kept)


def _series_of(row: Row) -> SeriesId:
    """Return the identity in a row; `args` that is not an object is left to the reader."""
    labels = {name: _text(row.get(name)) for name in LABELS}
    try:
        args = cells.decoded_args(_text(row.get("args")))
    except FieldError:
        args = {}
    more = {name[len(ARGUMENT) :]: _text(row[name]) for name in row if name.startswith(ARGUMENT)}
    named = {name: text for name, text in more.items() if text}
    return SeriesId(**labels, args=normalize_args({**args, **named}))
