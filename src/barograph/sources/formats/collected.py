"""The results of all files as columns, before they are a history."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.sources.report import Place

Mask = npt.NDArray[np.bool_]
NUMBERS = ("owners", "orders", "times", "sources", "rows")
TEXTS = ("commits", "runs", "branches", "units")


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
            `ResultBatch` describes, have an entry for each result.
        sources: The number of the file.
    """

    files: tuple[ReadFile, ...]
    ids: list[SeriesId]
    directions: Ints
    owners: Ints
    values: Floats
    orders: Ints
    times: Ints
    commits: Texts
    runs: Texts
    branches: Texts
    units: Texts
    sources: Ints
    rows: Ints

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
        columns = {name: getattr(self, name)[chosen] for name in (*NUMBERS, "values")}
        texts = {name: getattr(self, name).take(chosen) for name in TEXTS}
        return replace(self, **columns, **texts)

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

    def without_empty(self) -> Collected:
        """Return the same without the series that have no result."""
        used = np.zeros(len(self.ids), dtype=np.bool_)
        used[self.owners] = True
        if used.all():
            return self
        numbers = np.cumsum(used) - 1
        ids = [name for name, keep in zip(self.ids, used.tolist(), strict=True) if keep]
        return replace(self, ids=ids, directions=self.directions[used], owners=numbers[self.owners])


def first_rows(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the first row of each distinct number, by number, and the group of each row.

    Example:
        >>> first_rows(np.array([7, 3, 7]))
        (array([1, 0]), array([1, 0, 1]))
    """
    _, first, group = np.unique(numbers, return_index=True, return_inverse=True)
    return first.astype(np.int64), group.astype(np.int64)
