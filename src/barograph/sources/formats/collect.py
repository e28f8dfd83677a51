"""Collect the results of all files as one table, and count what cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from barograph.results.fields import FieldError
from barograph.results.repeats import MISSING, NO_ORDER, TEXTS, ReadFile, Results
from barograph.results.series import SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Judgement, Note, ReadOptions, Result
from barograph.sources.report import LoadReport, Place, Skip, shortened

CHUNK = 1 << 15  # results that are kept as Python objects
HEADS = "refs/heads/"  # what git writes before the name of a branch
OTHER_DIRECTION = "results with another direction than the first of their series, which counts"
DROPPED = -1
LONGEST = 300  # characters of an error


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
        self._chunks: list[Results] = []

    def add(self, file: InputFile, form: Format) -> None:
        """Read a file.

        Raises:
            DataError: The file cannot be used.
        """
        self._files.append(ReadFile(file.name, form.name, form.kind == "run"))
        try:
            self._read(file, form)
        except FieldError as fault:
            shown = f"{fault.reason} (got {shortened(fault.value)})"
            raise _named(file.name, f"{fault.field}: {shown}") from None
        except DataError as error:
            raise _named(file.name, str(error)) from error
        except RecursionError:
            raise _named(file.name, "nested too deeply") from None
        except OSError as error:  # of a file that this one names
            raise _named(file.name, f"cannot be read: {error.strerror or error}") from error

    def finish(self) -> Results:
        """Return all results."""
        chunks = self._chunks or [Results.of([], [], [], [])]
        columns: dict[str, Any] = {}
        for name in ("owners", "values", *MISSING):
            parts = [getattr(chunk, name) for chunk in chunks]
            columns[name] = parts[0] if len(parts) == 1 else np.concatenate(parts)
        for name in TEXTS:
            columns[name] = Texts.concatenate([getattr(chunk, name) for chunk in chunks])
        columns["branches"] = columns["branches"].renamed(lambda name: name.removeprefix(HEADS))
        return Results.of([*self._ids], self._directions, files=tuple(self._files), **columns)

    def _read(self, file: InputFile, form: Format) -> None:
        waiting: list[tuple[int, Result]] = []  # with their rows
        for row, item in enumerate(form.read(file)):
            if isinstance(item, Result):
                waiting.append((row, item))
            if waiting and (isinstance(item, Results) or len(waiting) == CHUNK):
                self._take(_columns_of(*zip(*waiting, strict=True)))
                waiting = []
            if isinstance(item, Results):
                self._take(item)
            elif isinstance(item, Judgement):
                self.judgements.append((len(self._files) - 1, item))
            elif isinstance(item, Note):
                self.notes.append(f"{file.name}: {item.text}")
            elif isinstance(item, Skip):
                kind = item.kind or "points"
                self.report.read[kind] += 1
                self.report.skip(kind, item)
        if waiting:
            self._take(_columns_of(*zip(*waiting, strict=True)))

    def _take(self, item: Results) -> None:
        self.report.read["points"] += len(item)
        if not np.isfinite(item.values).all():
            raise DataError(f"{self._files[-1].name}: a value is not finite")
        counts = np.bincount(item.owners, minlength=len(item.ids)).tolist()
        described = zip(item.ids, item.directions.tolist(), counts, strict=True)
        numbers = np.array([self._number(*each) for each in described], dtype=np.int64)
        owners = numbers[item.owners]
        sources = np.broadcast_to(np.int64(len(self._files) - 1), owners.size)
        taken = replace(item, owners=owners, sources=sources)
        self._chunks.append(taken.only(owners != DROPPED))

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


def place_of(results: Results, row: int) -> Place:
    """Return where a result is, for messages."""
    return Place(results.files[int(results.sources[row])].name, int(results.rows[row]) + 1, "row")


def _columns_of(rows: Sequence[int], results: Sequence[Result]) -> Results:
    """Return results as columns."""
    series, values, units, directions, orders, commits, times, runs, branches = zip(
        *results, strict=True
    )
    known: dict[tuple[SeriesId, int], int] = {}
    described = zip(series, map(int, directions), strict=True)
    owners = [known.setdefault(each, len(known)) for each in described]
    return Results.of(
        [name for name, _ in known],
        [direction for _, direction in known],
        owners,
        values,
        rows=rows,
        orders=[NO_ORDER if order is None else order for order in orders],
        times=times,
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
