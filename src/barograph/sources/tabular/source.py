"""The three tables of `barograph.history` in a folder, or one file of points, as a source."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from barograph.errors import ConfigError, DataError
from barograph.repeats import AGGREGATES
from barograph.series import LABELS
from barograph.sources.base import Document, Place, SeriesColumns, Skip, Source
from barograph.sources.fields import FieldError
from barograph.sources.tabular.convert import directions, integers, numbers, texts, times
from barograph.sources.tabular.flat import POINTS_SCHEMA, Splitter
from barograph.sources.tabular.groups import Files, Group, candidate, documents_of, grouped
from barograph.sources.tabular.reading import FORMATS, TableLayout, TableRows, read, required
from barograph.sources.tabular.results import ignored, one_row_per_run, run_results
from barograph.sources.tabular.runs import Runs, SeriesChunk, series_chunks, to_batch

SERIES = TableLayout(
    dict.fromkeys(LABELS, texts),
    {"args": texts, "direction": directions},
)
POINTS = TableLayout(
    {"series": required(integers), "order": required(integers), "value": numbers},
    # The results of several runs are a row each, or a JSON object in the column `results`, as the
    # loader writes them; it computes the columns `runs` and `spread` again.
    {"commit": texts, "time": times, "run": texts}
    | {"runs": ignored, "spread": ignored, "results": run_results},
)
CANDIDATES = TableLayout(
    {"series": required(integers), "order": integers, "verdict": texts},
    {
        "index": integers,
        "commit": texts,
        "calculated_on": times,
        "triaged_on": times,
        "algorithm": texts,
    },
)
CANDIDATES_SCHEMA = pa.schema(
    [
        ("series", pa.int64()),
        ("row", pa.int64()),
        ("order", pa.int64()),
        ("commit", pa.string()),
        ("verdict", pa.string()),
        ("calculated_on", pa.int64()),
        ("triaged_on", pa.int64()),
        ("algorithm", pa.string()),
    ]
)


class Tabular(Source):
    """A folder with series, points and candidates as CSV, JSON or Parquet, or one flat file.

    The candidates may be missing. A flat file has one point in each row: its order and value,
    optionally its commit and time, and the identity of its series in the columns project, variant,
    task, test, measurement, args (a JSON object) and args.NAME. Rows may be in any order.

    Rows of a series with the same order are runs of one commit, named by the column `run`; they
    become one point.

    Args:
        location: The folder or the file; a CSV or a JSON may be gzipped.
        delimiter: The delimiter of CSV files.
        aggregate: How the runs of a commit become one value: `median` or `mean`.
    """

    def __init__(self, location: str, *, delimiter: str = ",", aggregate: str = "median") -> None:
        if len(delimiter) != 1 or not delimiter.isascii():
            raise ConfigError(f"delimiter: {delimiter!r}; allowed: one ASCII character")
        if aggregate not in AGGREGATES:
            raise ConfigError(f"aggregate: {aggregate!r}; allowed: {', '.join(AGGREGATES)}")
        self._path, self._delimiter, self._aggregate = Path(location), delimiter, aggregate

    @property
    def name(self) -> str:
        """The path, as given."""
        return str(self._path)

    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the series with their points as documents."""
        for item in self._stream():
            if isinstance(item, SeriesColumns):
                yield from documents_of(item)
            else:
                yield item

    def columns(self) -> Iterator[SeriesColumns | Document | Skip]:
        """Stream the series as columns."""
        return self._stream()

    def _stream(self) -> Iterator[SeriesColumns | Skip]:
        for group in self._groups():
            if isinstance(group, Skip):
                yield group
            else:
                yield from group.columns(self._aggregate)

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the candidates; one file of points has none."""
        path = table(self._path, "candidates") if self._path.is_dir() else None
        if path is None:
            return
        with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
            runs = Runs(Path(folder), CANDIDATES_SCHEMA)
            yield from _gathered(read(path, CANDIDATES, "", self._delimiter), runs)
            for chunk in series_chunks(self._series(), runs):
                if isinstance(chunk, SeriesChunk):  # its skips were reported with the series
                    yield from _placed(chunk, str(path))

    def _groups(self) -> Iterator[Group | Skip]:
        with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
            runs = Runs(Path(folder), POINTS_SCHEMA)
            if self._path.is_dir():
                points = needed(self._path, "points")
                files = Files(str(needed(self._path, "series")), str(points))
                rows = read(points, POINTS, "points", self._delimiter)
                yield from _gathered(map(one_row_per_run, rows), runs)
                series = self._series()
            else:
                files = Files(self.name, self.name)
                splitter = Splitter(self._path, Path(folder), runs)
                yield from splitter.split(self._delimiter)
                series = splitter.series()
            for chunk in series_chunks(series, runs):
                if isinstance(chunk, Skip):
                    yield chunk
                else:
                    yield from grouped(chunk, files)

    def _series(self) -> Iterator[TableRows | Skip]:
        return read(needed(self._path, "series"), SERIES, "series", self._delimiter)


def table(folder: Path, name: str) -> Path | None:
    """Return the file of a table in a folder, in any format, or None."""
    found = [folder / f"{name}{ending}" for ending in FORMATS]
    found = [path for path in found if path.is_file()]
    if len(found) > 1:
        raise DataError(f"{folder}: {[path.name for path in found]}: there must be one of them")
    return found[0] if found else None


def needed(folder: Path, name: str) -> Path:
    """Return the file of a required table."""
    path = table(folder, name)
    if path is None:
        raise DataError(f"{folder}: has no table {name}: expected {name} with one of {FORMATS}")
    return path


def _gathered(table: Iterator[TableRows | Skip], runs: Runs) -> Iterator[Skip]:
    """Add the rows of a table to runs; yield the skipped ones."""
    for rows in table:
        if isinstance(rows, Skip):
            yield rows
        else:
            runs.add(to_batch(rows, rows.columns["series"], runs.schema))
    runs.finish()


def _placed(chunk: SeriesChunk, file: str) -> Iterator[Document | Skip]:
    """Yield each candidate with the identity of its series."""
    for row in chunk.rows.to_pylist():
        number, reason = row["series"], chunk.strangers
        try:
            if number in chunk.series:
                yield candidate(row, chunk.series[number], file)
                continue
        except FieldError:
            reason = "its series was skipped"
        yield Skip(Place(file, row["row"]), "series", number, reason)
