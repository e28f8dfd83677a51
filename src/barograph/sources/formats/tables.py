"""Tables of results: CSV, TSV, JSON records, JSON lines and Parquet, long or wide.

A long table has a value in each row, a wide one a column for each metric. Columns are known by
their names or by what the user says; `roles` has the names.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from barograph.results.series import (
    LABELS,
    UNKNOWN_TIME,
    Direction,
    Floats,
    Ints,
    SeriesId,
    normalize_args,
)
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError
from barograph.sources.fields import FieldError, stated_direction
from barograph.sources.formats.base import (
    NO_ORDER,
    UTF_16,
    Chunk,
    Format,
    InputFile,
    Note,
    ResultBatch,
    Sample,
)
from barograph.sources.formats.cells import (
    Faults,
    TextReader,
    TimeReader,
    decoded_args,
    measurements,
    orders,
)
from barograph.sources.formats.dates import SLASHED, DateParser, day_order
from barograph.sources.formats.delimited import DELIMITERS, decoded
from barograph.sources.formats.numbers import has_decimal_comma, is_missing, is_number
from barograph.sources.formats.outline import outline
from barograph.sources.formats.roles import (
    KNOWN,
    SYNONYMS,
    Roles,
    ValueColumn,
    assign_roles,
    canonical,
    checked_roles,
    metrics_in,
    mixed_note,
)
from barograph.sources.formats.rows import PARQUET, read_rows
from barograph.sources.formats.wide import WideCells
from barograph.sources.report import Skip

SAMPLED = 100  # cells of each column of a wide table
SHOWN = 8


def matches(sample: Sample) -> bool:
    """Return whether a file looks like rows and columns."""
    head = sample.head
    if sample.folder or not head.strip():
        return False
    if head[:4] == PARQUET:
        return True
    places = outline(sample)
    if places:
        keys = {canonical(place.rpartition("/")[2]) for place in places if _is_cell(place)}
        return bool(keys & KNOWN) and bool(keys - set(SYNONYMS["test"]))
    return (head[:2] in UTF_16 or b"\0" not in head) and _is_table(head)


def _is_cell(place: str) -> bool:
    """Return whether a place in JSON is a key of a row."""
    parts = place.split("/")[1:]
    return [*parts[:-1]] in ([], ["*"], ["points", "*"]) and bool(parts) and parts[-1] != "*"


def _is_table(head: bytes) -> bool:
    lines = (line.strip("\r\n") for line in decoded(head))
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:2]
    if not rows:
        return False
    for delimiter in DELIMITERS:
        header, *others = csv.reader(rows, delimiter=delimiter, skipinitialspace=True)
        if len(header) > 1 and (
            not KNOWN.isdisjoint(map(canonical, header))
            or any(len(row) == len(header) and any(map(is_number, row)) for row in others)
        ):
            return True
    first, *second = (row.strip() for row in rows)  # a table of one column
    return canonical(first) in SYNONYMS["value"] or any(map(is_number, (first, *second)))


def read(file: InputFile) -> Iterator[ResultBatch | Note | Skip]:
    """Yield the results of a table in batches."""
    chunks = read_rows(file)
    first = next(chunks, None)
    if first is None or not first.cells:
        if first is not None:
            yield from first.skips
        return
    reader, notes = _reader_of(file, first)
    yield from map(Note, notes)
    for chunk in itertools.chain([first], chunks):
        late = [name for name in chunk.cells if name not in first.cells]
        if late:  # JSON lines may have a new metric at any time
            first = first._replace(cells={**first.cells, **{n: chunk.cells[n] for n in late}})
            before, known = reader.roles, notes
            reader, notes = _reader_of(file, first)
            _require_same(before, reader.roles, late, chunk, file.name)
            yield from (Note(text) for text in notes if text not in known)
        yield from _begin(reader, chunk)
        yield from chunk.skips
        yield from reader.read(chunk)


def _begin(reader: TableReader, chunk: Chunk) -> Iterator[Note]:
    """Add the columns of a wide table that were empty until now, and hold numbers."""
    begun = [name for name in reader.empty if not _is_empty(name, chunk)]
    if begun:
        reader.empty = [name for name in reader.empty if name not in begun]
        values = metrics_in(chunk.cells, begun)
        reader.roles = replace(reader.roles, values=[*reader.roles.values, *values])
        ignored = [name for name in begun if name not in {value.column for value in values}]
        yield from map(Note, _ignored_note(ignored))


def _reader_of(file: InputFile, first: Chunk) -> tuple[TableReader, list[str]]:
    """Return a reader for a table with these columns, and what people should know about them."""
    roles, notes = checked_roles(assign_roles(first.cells, file.options, file.name), first.cells)
    reader = TableReader(file, roles, first, notes)
    empty = [name for name in roles.ignored if _is_empty(name, first)]
    ignored = [name for name in roles.ignored if name not in empty]
    if reader.is_wide and not file.options.value_columns:
        reader.empty = empty
    if ignored:
        notes += _ignored_note(ignored)
        notes += mixed_note(roles, ignored, first.cells)
    return reader, notes


def _ignored_note(names: Sequence[str]) -> list[str]:
    """Return a note that columns are ignored, if there are any."""
    more = ", ..." if len(names) > SHOWN else ""
    shown = ", ".join(name or "(no name)" for name in names[:SHOWN]) + more
    return [f"columns ignored: {shown}; --map COLUMN=FIELD reads one"] if names else []


def _is_empty(name: str, chunk: Chunk) -> bool:
    """Return whether a column has no cell with content in some rows."""
    return all(map(is_missing, chunk.cells.get(name, ())))


def _require_same(before: Roles, after: Roles, late: list[str], chunk: Chunk, name: str) -> None:
    """Refuse late columns that would change how the rows before them were read.

    Raises:
        DataError: They would.
    """
    same = before.fields.items() <= after.fields.items() and set(before.values) <= set(after.values)
    if not same or bool(before.identity) != bool(after.identity):
        raise DataError(
            f"{name}: columns {', '.join(late[:SHOWN])} first appear after row {chunk.rows[0]:,}, "
            "and would change how the rows before are read; name all columns in the first row"
        )


class TableReader:
    """Turns chunks of rows into batches of results.

    Args:
        file: The file.
        roles: What its columns are.
        first: Its first rows.
        notes: Takes what people should know about the file.
        name: The test, if no column says it. Defaults to the name of the file.
    """

    def __init__(
        self, file: InputFile, roles: Roles, first: Chunk, notes: list[str], name: str = ""
    ) -> None:
        self._file, self.roles, self._name = file, roles, name or _stem(file.path)
        measured = [value.column for value in roles.values]
        size = SAMPLED if len(measured) > 1 else 10 * SAMPLED
        self._comma = _plain(first.cells, measured) is None and has_decimal_comma(
            (first.cells[name][:size] for name in measured), first.delimiter
        )
        time = roles.fields.get("time")
        self._times = TimeReader(time or "time", self._date_parser(time, first, notes))
        identity = roles.identity
        names = (*identity, "direction", "commit", "run", "branch", "unit")
        columns = {name: identity.get(name) or roles.fields.get(name) for name in names}
        self._columns = {name: column for name, column in columns.items() if column is not None}
        self._texts = {name: TextReader(column) for name, column in self._columns.items()}
        self._measured: dict[tuple[SeriesId, str], SeriesId] = {}
        self._kinds: dict[tuple[int, ...], tuple[SeriesId, Direction] | FieldError] = {}
        self.is_wide = all(value.measurement for value in roles.values)
        self.empty: list[str] = []  # columns without content so far, which may become metrics

    def _date_parser(self, column: str | None, first: Chunk, notes: list[str]) -> DateParser:
        if column is None or not any(
            isinstance(cell, str) and SLASHED.match(cell) for cell in first.cells[column][:100]
        ):
            return DateParser()
        cells = (cell for chunk in read_rows(self._file) for cell in chunk.cells.get(column, ()))
        day_first, note = day_order(cells, european=self._comma)
        notes += [note] if note else []
        return DateParser(day_first=day_first)

    def read(self, chunk: Chunk) -> Iterator[ResultBatch | Skip]:
        """Yield a batch for each column of values, and the rows that cannot be used."""
        count = len(chunk.rows)
        if not count:
            return
        empty: Sequence[Any] = (None,) * count
        faults: Faults = {}

        def cells(column: str) -> Sequence[Any]:
            return chunk.cells.get(column, empty)

        texts = {}
        for name, reader in self._texts.items():
            texts[name], unusable = reader.read(cells(self._columns[name]))
            faults = unusable | faults
        order_column = self.roles.fields.get("order")
        places = np.full(count, NO_ORDER)
        if order_column is not None:
            places, unusable = orders(cells(order_column), order_column)
            faults = unusable | faults
        times = np.full(count, UNKNOWN_TIME)
        if "time" in self.roles.fields:
            times, unusable = self._times.read(cells(self.roles.fields["time"]))
            faults = unusable | faults
        kinds, kind_of = self._kinds_of(texts, count)
        for number, kind in enumerate(kinds):
            if isinstance(kind, FieldError):
                bad = np.flatnonzero(kind_of == number).tolist()
                faults = dict.fromkeys(bad, kind) | faults
        shared = ResultBatch(
            series=(),
            directions=(),
            owners=kind_of,
            values=np.empty(count),
            times=times,
            rows=np.asarray(chunk.rows, dtype=np.int64),
            orders=places,
            commits=texts.get("commit"),
            runs=texts.get("run"),
            branches=texts.get("branch"),
            units=texts.get("unit"),
        )
        yield from self._batches(chunk, shared, kinds, faults)

    def _batches(
        self,
        chunk: Chunk,
        shared: ResultBatch,
        kinds: Sequence[tuple[SeriesId, Direction] | FieldError],
        faults: Faults,
    ) -> Iterator[ResultBatch | Skip]:
        """Yield the results of rows; `shared` holds all but their values, its owners are kinds."""
        is_wide, size = self.is_wide, shared.owners.size
        named = [each for each in self.roles.values if not is_wide or each.column in chunk.cells]
        names = [value.column for value in named]
        values = _plain(chunk.cells, names) if is_wide else None
        units: dict[int, list[str]] = {}  # of the cells of a column
        if values is None:
            values = np.empty((len(names), size))
            for place, name in enumerate(names):
                column = chunk.cells.get(name) or (None,) * size
                values[place], units[place], unusable = measurements(column, name, self._comma)
                for row, fault in unusable.items():
                    # An empty cell of a wide table is no result.
                    if row not in faults and not (is_wide and is_missing(column[row])):
                        yield self._skip(chunk, row, fault)
        sound = np.isfinite(values)
        if faults:
            sound[:, list(faults)] = False
        batch = self._batch(shared, kinds, values, sound, named)
        yield (
            batch._replace(units=_units(batch.units, units, sound))
            if any(units.values())
            else batch
        )
        for row, fault in sorted(faults.items()):
            yield self._skip(chunk, row, fault)

    def _skip(self, chunk: Chunk, row: int, fault: FieldError) -> Skip:
        place = chunk.place(self._file, row)
        return Skip(place, fault.field, fault.value, fault.reason, "points")

    def _batch(
        self,
        shared: ResultBatch,
        kinds: Sequence[tuple[SeriesId, Direction] | FieldError],
        values: Floats,
        sound: np.ndarray,
        named: Sequence[ValueColumn],
    ) -> ResultBatch:
        """Return the results of all columns of values, one column after the other."""
        series = [kind for kind in kinds if not isinstance(kind, FieldError)]
        numbers_of = np.cumsum([not isinstance(kind, FieldError) for kind in kinds]) - 1
        columns, rows = np.nonzero(sound)
        results = shared.take(rows)
        if results.units is None and any(value.unit for value in named):
            units = Texts.from_strings([value.unit for value in named]).take(columns)
            results = results._replace(units=units)
        return results._replace(
            series=[self._series(kind, value.measurement) for value in named for kind, _ in series],
            directions=[int(way) for _, way in series] * len(named),
            owners=numbers_of[results.owners] + columns * len(series),
            values=values[sound],
        )

    def _series(self, name: SeriesId, column: str) -> SeriesId:
        """Return the identity of a column of values in rows of a name."""
        if not column:
            return name
        key = name, column
        if key not in self._measured:
            full = f"{name.measurement} {column}".strip()
            self._measured[key] = SeriesId(
                name.project, name.variant, name.task, name.test, full, name.args
            )
        return self._measured[key]

    def _kinds_of(
        self, texts: Mapping[str, Texts], count: int
    ) -> tuple[list[tuple[SeriesId, Direction] | FieldError], Ints]:
        """Return the distinct identities of rows, and the number of that of each row."""
        names = [name for name in texts if name in (*self.roles.identity, "direction")]
        codes = np.zeros(count, dtype=np.int64)
        firsts = np.zeros(1, dtype=np.int64)
        for name in names:
            # The codes are renumbered after each column, so that they never overflow.
            codes = codes * len(texts[name].names) + texts[name].codes
            _, firsts, codes = np.unique(codes, return_index=True, return_inverse=True)
        kinds = []
        for row in firsts.tolist():
            key = tuple(int(texts[name].codes[row]) for name in names)
            if key not in self._kinds:
                self._kinds[key] = self._kind({name: texts[name][row] for name in names})
            kinds.append(self._kinds[key])
        return kinds, codes

    def _kind(self, row: Mapping[str, str]) -> tuple[SeriesId, Direction] | FieldError:
        """Return the identity and the direction of a row."""
        try:
            labels = {name: row.get(name, "") for name in LABELS}
            if not self.roles.identity:
                labels["test"] = self._name
            args = _arguments(row)
            if not any(labels.values()) and not self.is_wide:
                raise FieldError("test", "", "no identity")
            column = self.roles.fields.get("direction", "direction")
            return SeriesId(**labels, args=args), stated_direction(row.get("direction", ""), column)
        except FieldError as fault:
            return fault


def _units(units: Texts | None, of_cells: Mapping[int, list[str]], sound: np.ndarray) -> Texts:
    """Return the units of all results; that of a cell counts before that of its column."""
    columns, rows = np.nonzero(sound)
    known = units or Texts.unknown(rows.size)
    places = zip(columns.tolist(), rows.tolist(), known, strict=True)
    return Texts.from_strings((of_cells[k] and of_cells[k][row]) or unit for k, row, unit in places)


def _arguments(row: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    more = {name[5:]: value for name, value in row.items() if name[:5] == "args." and value}
    return normalize_args({**decoded_args(row.get("args", "")), **more})


def _stem(path: Path | None) -> str:
    """Return the name of a series that no column names."""
    if path is None:
        return "stdin"
    name = path.name.encode("utf-8", "replace").decode()
    return name.partition(".")[0] or name


def _plain(cells: Mapping[str, Sequence[Any]], names: Sequence[str]) -> Floats | None:
    """Return the numbers of columns, a row for each, if all can be converted at once."""
    return cells.numbers(names) if isinstance(cells, WideCells) else None


TITLE = "CSV, TSV, JSON records, JSON lines or Parquet: long, or one column for each metric"
FORMAT = Format("tables", TITLE, "history", matches, read)
