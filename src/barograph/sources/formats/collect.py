"""Collect the results of all files as columns, and count what cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import (
    NO_ORDER,
    Format,
    InputFile,
    Judgement,
    Note,
    ReadOptions,
    Result,
    ResultBatch,
)
from barograph.sources.formats.collected import NUMBERS, TEXTS, Collected, ReadFile
from barograph.sources.report import LoadReport, Skip, shortened

CHUNK = 1 << 15  # results that are kept as Python objects
HEADS = "refs/heads/"  # what git writes before the name of a branch
OTHER_DIRECTION = "results with another direction than the first of their series, which counts"
DROPPED = -1
LONGEST = 300  # characters of an error
MOST_SKIPPED = 1_000_000  # results to look at where almost none can be used


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
        self.left_out = 0  # series that --metric leaves out
        self._skipped = 0
        self._options = options
        self._files: list[ReadFile] = []
        self._numbers: dict[SeriesId, int] = {}
        self._ids: list[SeriesId] = []
        self._directions: list[int] = []
        self._waiting: list[tuple[int, Result]] = []  # with their rows
        self._known: dict[str, dict[str, int]] = {name: {"": 0} for name in TEXTS}
        self._last: dict[str, tuple[Sequence[str], npt.NDArray[np.int32] | None]] = {}
        self._chunks: dict[str, list[npt.NDArray[np.integer]]] = {
            name: [] for name in NUMBERS + TEXTS
        }
        self._values: list[Floats] = []

    def add(self, file: InputFile, form: Format) -> None:
        """Read a file.

        Raises:
            DataError: The file cannot be used.
        """
        self._files.append(ReadFile(file.name, form.name, form.kind == "run"))
        try:
            for row, item in enumerate(form.read(file)):
                if isinstance(item, Result):
                    self._waiting.append((row, item))
                    if len(self._waiting) >= CHUNK:
                        self._flush()
                elif isinstance(item, ResultBatch):
                    self._flush()
                    self._take(item)
                elif isinstance(item, Judgement):
                    self.judgements.append((len(self._files) - 1, item))
                elif isinstance(item, Note):
                    self.notes.append(f"{file.name}: {item.text}")
                else:
                    self._skip(item)
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

    def series(self, name: SeriesId, direction: int, count: int = 1) -> int:
        """Return the number of a series of `count` results; -1 if --metric leaves it out."""
        number = self._numbers.get(name)
        if number is None:
            number = self._new(name, direction)
        elif number != DROPPED and direction and direction != self._directions[number]:
            if self._directions[number]:
                self.report.corrected[OTHER_DIRECTION] += count
            else:
                self._directions[number] = direction
        return number

    def finish(self) -> Collected:
        """Return all results; the collector takes no others after it."""
        # Chunks go as they are joined, else all results would be in memory twice.
        numbers: dict[str, Any] = {name: _joined(self._chunks.pop(name)) for name in NUMBERS}
        texts: dict[str, Any] = {
            name: Texts(
                _joined(self._chunks.pop(name)).astype(np.int32, copy=False),
                list(self._known[name]),
            )
            for name in TEXTS
        }
        named = [name.removeprefix(HEADS) for name in texts["branches"].names]
        texts["branches"] = Texts.concatenate([Texts(texts["branches"].codes, named)])
        values = _joined(self._values or [np.empty(0)])
        directions = np.array(self._directions, dtype=np.int64)
        files = tuple(self._files)
        return Collected(files, self._ids, directions, values=values, **numbers, **texts)

    def _new(self, name: SeriesId, direction: int) -> int:
        full = name
        if (self._options.project and not name.project) or (
            self._options.machine and not name.variant
        ):
            project = name.project or self._options.project
            full = replace(name, project=project, variant=name.variant or self._options.machine)
        patterns = self._options.metrics
        if patterns and not any(fnmatchcase(name.measurement, pattern) for pattern in patterns):
            self.left_out += 1
            self._numbers[name] = DROPPED
            return DROPPED
        number = self._numbers.get(full)
        if number is None:
            number = self._numbers[full] = len(self._ids)
            self._ids.append(full)
            self._directions.append(direction)
        self._numbers[name] = number
        return number

    def _skip(self, item: Skip) -> None:
        kind = item.kind or "points"
        self.report.read[kind] += 1
        self.report.skip(kind, item)
        self._skipped += 1
        if self._skipped == MOST_SKIPPED and self.report.skipped_share(kind) > 0.9:
            raise DataError(f"too many results cannot be used: {self.report.first_skip(kind)}")

    def _flush(self) -> None:
        """Take the waiting results as a batch."""
        if self._waiting:
            rows, results = zip(*self._waiting, strict=True)
            self._waiting = []
            self._take(_batch_of(rows, results))

    def _take(self, batch: ResultBatch) -> None:
        size = batch.values.size
        self.report.read["points"] += size
        if not np.isfinite(batch.values).all():
            raise DataError(f"{self._files[-1].name}: a value is not finite")
        counts = np.bincount(batch.owners, minlength=len(batch.series)).tolist()
        described = zip(batch.series, batch.directions, counts, strict=True)
        numbers = np.array([self.series(*each) for each in described], dtype=np.int64)
        owners = numbers[batch.owners] if size else np.empty(0, dtype=np.int64)
        chosen: Any = owners != DROPPED
        if chosen.all():
            chosen = slice(None)
        columns = {
            "owners": owners,
            "orders": np.full(size, NO_ORDER) if batch.orders is None else batch.orders,
            "times": batch.times,
            "sources": np.broadcast_to(np.int64(len(self._files) - 1), size),
            "rows": batch.rows,
        }
        for name, column in columns.items():
            self._chunks[name].append(column[chosen])
        for name in TEXTS:
            texts: Texts = getattr(batch, name) or Texts.unknown(size)
            codes = self._codes_of(name, texts.names)
            self._chunks[name].append(
                (texts.codes if codes is None else codes[texts.codes])[chosen]
            )
        self._values.append(batch.values[chosen])

    def _codes_of(self, name: str, texts: Sequence[str]) -> npt.NDArray[np.int32] | None:
        """Return the number of each text, or None if they are numbered like that already.

        Batches often share their texts, as those of the columns of a wide table do.
        """
        last, codes = self._last.get(name, ((), None))
        if last is not texts:
            known = self._known[name]
            numbers = [known.setdefault(text, len(known)) for text in texts]
            is_same = numbers == list(range(len(numbers)))
            codes = None if is_same else np.array(numbers, dtype=np.int32)
            self._last[name] = texts, codes
        return codes


def _batch_of(rows: Sequence[int], results: Sequence[Result]) -> ResultBatch:
    """Return results as columns."""
    columns = zip(*results, strict=True)
    series, values, units, directions, orders, commits, times, runs, branches = columns
    known: dict[tuple[SeriesId, int], int] = {}
    described = zip(series, map(int, directions), strict=True)
    owners = [known.setdefault(each, len(known)) for each in described]
    numbers = [NO_ORDER if order is None else order for order in orders]
    return ResultBatch(
        series=[name for name, _ in known],
        directions=[direction for _, direction in known],
        owners=np.array(owners),
        values=np.array(values, dtype=np.float64),
        times=np.array(times),
        rows=np.array(rows),
        orders=np.array(numbers),
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


def _joined(chunks: list[Any]) -> Any:
    if len(chunks) == 1:
        return chunks[0]
    return np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int64)
