"""The CSV file of a test of Otava: a column of times, attributes, and one column a metric."""

from __future__ import annotations

import csv
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from barograph.errors import DataError
from barograph.series import UNKNOWN_TIME, Ints, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import (
    array,
    at,
    label,
    mapping,
    numeric,
    skipped,
    text,
    time_ms,
)
from barograph.sources.formats.base import NO_ORDER, InputFile, ResultBatch
from barograph.sources.formats.batches import RecordBatches
from barograph.sources.formats.dates import iso_times
from barograph.sources.formats.delimited import TextLayout, decoded, parts_of, wide_cells
from barograph.sources.formats.otava_metrics import Metric, metrics_of
from barograph.sources.formats.wide import WideCells
from barograph.texts import Texts

COMMITS = ("commit", "git_commit", "commit_id", "commit_hash", "git_hash", "sha", "revision")


def read(
    file: InputFile,
    data: InputFile,
    shown: str,
    config: Mapping[str, Any],
    name: str,
    test: Mapping[str, Any],
) -> Iterator[ResultBatch | Skip]:
    """Yield the results of one CSV file.

    Args:
        file: The configuration.
        data: The CSV file.
        shown: Its name, for places in it.
        config: The whole configuration, for options of all CSV files.
        name: The name of the test.
        test: The test, with its templates.

    Raises:
        DataError: The file is not valid, or lacks a column.
    """
    where = at("tests", name)
    metrics = metrics_of(test, where, "column")
    delimiter, quote = _dialect(config, test, where)
    lines = decoded(data.content or b"")
    rows = csv.reader(lines, delimiter=delimiter, quotechar=quote)
    try:
        layout = _Layout(data.name, next(rows, []), metrics, test, name)
        batches = None if quote in data.text() else _of_plain_lines(lines, delimiter, layout)
        if batches is not None:
            yield from batches
            return
        rows = csv.reader(decoded(data.content or b""), delimiter=delimiter, quotechar=quote)
        next(rows, [])  # the header
        for row in rows:
            if row:
                yield from layout.results(file, row, f"{shown} line {rows.line_num}")
            if layout.batches.is_full:
                yield layout.batches.take()
    except csv.Error as error:
        raise DataError(f"{data.name} line {rows.line_num}: {error}") from None
    yield layout.batches.take()


def _of_plain_lines(stream: TextIO, delimiter: str, layout: _Layout) -> list[ResultBatch] | None:
    """Return the results of all lines, converted many at once; None if a cell needs care."""
    table = TextLayout(delimiter, layout.names, 1)
    batches, count = [], 0
    if len(set(layout.names)) < len(layout.names) or not layout.metrics:
        return None
    for part in parts_of(stream):
        cut = wide_cells(part, table)
        batch = None if cut is None else layout.batch(cut[1], count)
        if cut is None or batch is None:
            return None
        batches.append(batch)
        count += cut[0]
    return batches


class _Layout:
    """The places of the columns."""

    def __init__(
        self,
        name: str,
        header: Sequence[str],
        metrics: Sequence[Metric],
        test: Mapping[str, Any],
        test_name: str,
    ) -> None:
        where = at("tests", test_name)
        columns = {title.strip(): index for index, title in enumerate(header)}
        attributes = array(test.get("attributes") or [], f"{where}.attributes")
        stated = [label(item, f"{where}.attributes") for item in attributes]
        time = test.get("time_column")
        self.time = columns.get("time")
        needed = [metric.source for metric in metrics] + stated
        if time is not None:
            needed.append(text(time, f"{where}.time_column"))
            self.time = columns.get(needed[-1])
        missing = next((title for title in needed if title not in columns), None)
        if missing is not None:
            raise DataError(f"{name}: no column {missing!r}; has {', '.join(columns)}"[:300])
        commits = [title for title in (*stated, *columns) if title.lower() in COMMITS]
        self.commit = columns[commits[0]] if commits else None
        self.branch, self.run = columns.get("branch"), columns.get("run")
        self.names, self.metrics = [title.strip() for title in header], metrics
        self.batches = RecordBatches()
        self.indices = [columns[metric.source] for metric in metrics]
        self.scales = [metric.scale for metric in metrics]
        self.ids = [SeriesId("", "", "", test_name, metric.name) for metric in metrics]
        self.kinds = [
            self.batches.kind(series, metric.direction, metric.unit)
            for series, metric in zip(self.ids, metrics, strict=True)
        ]

    def batch(self, cells: WideCells, first_row: int) -> ResultBatch | None:
        """Return the results of many rows; None if a cell needs care."""
        block = cells.numbers([metric.source for metric in self.metrics])
        if block is None:
            return None
        with np.errstate(over="ignore"):  # an error that names the place follows
            values = block * np.array(self.scales)[:, None]
        if not np.isfinite(values).all():
            return None
        count = values.shape[1]
        times = np.full(count, UNKNOWN_TIME)
        if self.time is not None:
            converted = iso_times([*map(str.strip, cells[self.names[self.time]])])
            if converted is None:
                return None
            times = converted
        columns, rows = np.divmod(np.arange(values.size), count)
        return ResultBatch(
            series=self.ids,
            directions=[int(metric.direction) for metric in self.metrics],
            owners=columns,
            values=values.ravel(),
            orders=np.full(values.size, NO_ORDER),
            times=times[rows],
            commits=self._texts(cells, self.commit, rows),
            runs=self._texts(cells, self.run, rows),
            branches=self._texts(cells, self.branch, rows),
            units=Texts.from_strings([metric.unit for metric in self.metrics]).take(columns),
            rows=first_row + rows,
        )

    def _texts(self, cells: WideCells, index: int | None, rows: Ints) -> Texts:
        if index is None:
            return Texts.unknown(rows.size)
        return Texts.from_strings(map(str.strip, cells[self.names[index]])).take(rows)

    def results(self, file: InputFile, row: Sequence[str], where: str) -> Iterator[Skip]:
        """Take the results of one row, and yield the missing ones."""
        commit, branch, run = (_cell(row, index) for index in (self.commit, self.branch, self.run))
        time = UNKNOWN_TIME if self.time is None else time_ms(_cell(row, self.time), where)
        values = self._sound(row)
        if values is not None:
            self.batches.values.extend(values)
            self.batches.kinds.extend(self.kinds)
            self.batches.end_record(commit, time, run, branch)
            return
        for kind, index, scale in zip(self.kinds, self.indices, self.scales, strict=True):
            value = row[index] if index < len(row) else ""
            if not value.strip():
                yield skipped(file, where, value, "value is missing")
                continue
            self.batches.values.append(numeric(value, where) * scale)
            self.batches.kinds.append(kind)
        self.batches.end_record(commit, time, run, branch)

    def _sound(self, row: Sequence[str]) -> list[float] | None:
        """Return the values of a row in which every cell is a plain number."""
        try:
            cells = [row[index] for index in self.indices]
            values = list(map(float, cells))
        except (IndexError, ValueError):
            return None
        # `float` also takes underscores, NaN and infinite values, which are errors.
        if "_" in "".join(cells) or not math.isfinite(sum(values)):
            return None
        return list(map(operator.mul, values, self.scales))


def _cell(row: Sequence[str], index: int | None) -> str:
    """Return a cell without blanks; "" if the row or the file has none."""
    return row[index].strip() if index is not None and index < len(row) else ""


def _dialect(config: Mapping[str, Any], test: Mapping[str, Any], where: str) -> tuple[str, str]:
    """Return the delimiter and the quote character; those of all files have priority."""
    every = mapping(config.get("csv") or {}, "csv")
    of_test = mapping(test.get("csv_options") or {}, f"{where}.csv_options")
    delimiter = every.get("delimiter", of_test.get("delimiter", ","))
    quote = of_test.get("quote_char", of_test.get("quotechar", '"'))
    quote = every.get("quote_char", every.get("quotechar", quote))
    for value, key in ((delimiter, "delimiter"), (quote, "quote_char")):
        if not isinstance(value, str) or len(value) != 1 or value in "\r\n\0":
            raise FieldError(f"{where}.csv_options.{key}", value, "is not a single character")
    return delimiter, quote
