"""Collect the results of all files as the columns of one table, and count what cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.results.fields import FieldError
from barograph.results.series import Floats, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import (
    NO_ORDER,
    Columns,
    Format,
    InputFile,
    Judgement,
    Note,
    ReadOptions,
    Result,
)
from barograph.sources.report import LoadReport, Place, Skip, shortened

CHUNK = 1 << 15  # results that are kept as Python objects
HEADS = "refs/heads/"  # what git writes before the name of a branch
OTHER_DIRECTION = "results with another direction than the first of their series, which counts"
DROPPED = -1
LONGEST = 300  # characters of an error
NUMBERS = dict.fromkeys(("owners", "rows", "orders", "times", "sources"), np.int64) | {
    "values": np.float64
}
TEXTS = ("commits", "runs", "branches", "units")
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read.

    Attributes:
        name: What messages call it.
        form: The name of its format.
        is_run: Whether it holds the results of one run, not of many commits.
    """

    name: str
    form: str
    is_run: bool


@dataclass(frozen=True)
class Collected:
    """Results in the order in which they were read.

    Attributes:
        files: The files.
        ids: The identity of each series.
        directions: The direction of each series, 0 if unknown.
        owners: The number of the series of each result; it and the other columns, which
            `Columns` describes, have an entry for each result.
        sources: The number of the file.
    """

    files: tuple[ReadFile, ...]
    ids: list[SeriesId]
    directions: Ints
    owners: Ints
    values: Floats
    rows: Ints
    orders: Ints
    times: Ints
    sources: Ints
    commits: Texts
    runs: Texts
    branches: Texts
    units: Texts

    def __len__(self) -> int:
        """Return the number of results."""
        return self.owners.size

    def of_runs(self) -> Mask:
        """Return for each result whether its file holds a single run."""
        kinds = np.array([file.is_run for file in self.files], dtype=np.bool_)
        return kinds[self.sources]

    def only(self, chosen: Mask) -> Collected:
        """Return the results that a mask chooses; the series stay."""
        if chosen.all():
            return self
        columns: dict[str, Any] = {name: getattr(self, name)[chosen] for name in NUMBERS}
        texts = {name: getattr(self, name).take(chosen) for name in TEXTS}
        return replace(self, **columns, **texts)

    def without_empty(self) -> Collected:
        """Return the same without the series that have no result."""
        used = np.bincount(self.owners, minlength=len(self.ids)) > 0
        numbers = np.cumsum(used) - 1
        ids = [name for name, keep in zip(self.ids, used.tolist(), strict=True) if keep]
        return replace(self, ids=ids, directions=self.directions[used], owners=numbers[self.owners])

    def unit_codes(self) -> Ints:
        """Return the code of the first known unit of each series; 0, the empty one, for none."""
        known = np.flatnonzero(self.units.known())
        rows = known[first_rows(self.owners[known])[0]]
        codes = np.zeros(len(self.ids), dtype=np.int64)
        codes[self.owners[rows]] = self.units.codes[rows]
        return codes

    def place(self, row: int) -> Place:
        """Return where a result is, for messages."""
        return Place(self.files[int(self.sources[row])].name, int(self.rows[row]) + 1, "row")


def first_rows(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the first row of each distinct number, by number, and the group of each row.

    Example:
        >>> first_rows(np.array([7, 3, 7]))
        (array([1, 0]), array([1, 0, 1]))
    """
    _, first, group = np.unique(numbers, return_index=True, return_inverse=True)
    return first.astype(np.int64), group.astype(np.int64)


class Collector:
    """Takes the results of one file after the other.

    Args:
        options: What the user said.
        name: What the report calls all files together.
    """

    def __init__(self, options: ReadOptions, name: str) -> None:
        self.report = LoadReport(name)
        self.judgements: list[tuple[int, Judgement]] = []
        self.notes: list[str] = []
        self.left_out = 0  # series whose measurement no pattern matches
        self._options = options
        self._files: list[ReadFile] = []
        self._numbers: dict[SeriesId, int] = {}
        self._ids: dict[SeriesId, int] = {}
        self._directions: list[int] = []
        self._waiting: list[tuple[int, Result]] = []  # with their rows
        self._chunks: dict[str, list[Any]] = {name: [] for name in (*NUMBERS, *TEXTS)}

    def add(self, file: InputFile, form: Format) -> None:
        """Read a file.

        Raises:
            DataError: The file cannot be used.
        """
        self._files.append(ReadFile(file.name, form.name, form.kind == "run"))
        try:
            for row, item in enumerate(form.read(file)):
                self._add(file, row, item)
        except FieldError as fault:
            shown = f"{fault.reason} (got {shortened(fault.value)})"
            raise _named(file.name, f"{fault.field}: {shown}") from None
        except DataError as error:
            raise _named(file.name, str(error)) from error
        except RecursionError:
            raise _named(file.name, "nested too deeply") from None
        except OSError as error:  # of a file that this one names
            raise _named(file.name, f"cannot be read: {error.strerror or error}") from error
        self._flush()

    def finish(self) -> Collected:
        """Return all results; the collector takes no others after it."""
        columns: dict[str, Any] = {}
        for name, kind in NUMBERS.items():  # chunks go as they are joined
            chunks = self._chunks.pop(name) or [np.empty(0, kind)]
            columns[name] = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
        for name in TEXTS:
            columns[name] = Texts.concatenate([Texts.unknown(0), *self._chunks.pop(name)])
        branches = columns["branches"]
        named = [name.removeprefix(HEADS) for name in branches.names]
        columns["branches"] = Texts.concatenate([Texts(branches.codes, named)])
        directions = np.array(self._directions, dtype=np.int64)
        return Collected(tuple(self._files), [*self._ids], directions, **columns)

    def _add(
        self, file: InputFile, row: int, item: Result | Columns | Judgement | Note | Skip
    ) -> None:
        if isinstance(item, Result):
            self._waiting.append((row, item))
            if len(self._waiting) >= CHUNK:
                self._flush()
        elif isinstance(item, Columns):
            self._flush()
            self._take(item)
        elif isinstance(item, Judgement):
            self.judgements.append((len(self._files) - 1, item))
        elif isinstance(item, Note):
            self.notes.append(f"{file.name}: {item.text}")
        else:
            kind = item.kind or "points"
            self.report.read[kind] += 1
            self.report.skip(kind, item)

    def _flush(self) -> None:
        """Take the waiting results as columns."""
        if self._waiting:
            rows, results = zip(*self._waiting, strict=True)
            self._waiting = []
            self._take(_columns_of(rows, results))

    def _take(self, item: Columns) -> None:
        size = item.values.size
        self.report.read["points"] += size
        if not np.isfinite(item.values).all():
            raise DataError(f"{self._files[-1].name}: a value is not finite")
        counts = np.bincount(item.owners, minlength=len(item.series)).tolist()
        described = zip(item.series, item.directions, counts, strict=True)
        numbers = np.array([self._number(*each) for each in described], dtype=np.int64)
        owners = numbers[item.owners] if size else np.empty(0, dtype=np.int64)
        sources = np.broadcast_to(np.int64(len(self._files) - 1), size)
        columns = item._asdict() | {"owners": owners, "sources": sources}
        chosen = owners != DROPPED
        for name, chunks in self._chunks.items():
            column = columns[name]
            chunks.append(column if chosen.all() else column.take(np.flatnonzero(chosen)))

    def _number(self, name: SeriesId, direction: int, count: int) -> int:
        """Return the number of a series of `count` results; -1 if it is not to be read."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._new(name)
        if number != DROPPED and direction and direction != self._directions[number]:
            if self._directions[number]:
                self.report.corrected[OTHER_DIRECTION] += count
            else:
                self._directions[number] = direction
        return number

    def _new(self, name: SeriesId) -> int:
        """Number a series, to which the options may give a project and a machine."""
        patterns = self._options.metrics
        if patterns and not any(fnmatchcase(name.measurement, pattern) for pattern in patterns):
            self.left_out += 1
            return DROPPED
        project = name.project or self._options.project
        full = replace(name, project=project, variant=name.variant or self._options.machine)
        if full not in self._ids:
            self._ids[full] = len(self._ids)
            self._directions.append(0)
        return self._ids[full]


def _columns_of(rows: Sequence[int], results: Sequence[Result]) -> Columns:
    """Return results as columns."""
    series, values, units, directions, orders, commits, times, runs, branches = zip(
        *results, strict=True
    )
    known: dict[tuple[SeriesId, int], int] = {}
    described = zip(series, map(int, directions), strict=True)
    owners = [known.setdefault(each, len(known)) for each in described]
    return Columns(
        series=[name for name, _ in known],
        directions=[direction for _, direction in known],
        owners=np.array(owners, dtype=np.int64),
        values=np.array(values, dtype=np.float64),
        rows=np.array(rows, dtype=np.int64),
        orders=np.array([NO_ORDER if order is None else order for order in orders]),
        times=np.array(times, dtype=np.int64),
        commits=Texts.from_strings(commits),
        runs=Texts.from_strings(runs),
        branches=Texts.from_strings(branches),
        units=Texts.from_strings(units),
    )


def _named(name: str, message: str) -> DataError:
    """Return an error of one line that names the file; a folder's message may name a file in it."""
    text = " ".join(message.split())
    shown = text if name in text else f"{name}: {text}"
    return DataError(shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}...")
