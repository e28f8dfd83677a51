"""The interface of sources.

A source subclasses `Source` and yields documents as data/README.md describes them, one at a time
and in any order. The loader does the rest: identities, types, labels, order, duplicates, tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.sources.report import Place, Skip


class Document(NamedTuple):
    """One time series or change point, as a decoded mapping; any field may be missing."""

    place: Place
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeriesColumns:
    """Several valid series as columns: in each, orders increase strictly and values are finite.

    Args:
        file: Where they were read.
        first: The number of the first document; the others follow without a gap.
        ids: The identities.
        directions: The directions, -1, 0 or 1.
        counts: The number of points of each series, at least 1.
        orders: The orders of all points, series after series, like the next three columns.
        times: Milliseconds since 1970, or `UNKNOWN_TIME`.
        values: The measured values.
        commits: The commits, empty where unknown.
    """

    file: str
    first: int
    ids: list[SeriesId]
    directions: list[int]
    counts: Ints
    orders: Ints
    times: Ints
    values: Floats
    commits: Texts

    def only(self, chosen: npt.NDArray[np.bool_]) -> SeriesColumns:
        """Return the series that a mask chooses; their numbers are no longer consecutive."""
        points = np.repeat(chosen, self.counts)
        return SeriesColumns(
            file=self.file,
            first=self.first,
            ids=list(compress(self.ids, chosen)),
            directions=list(compress(self.directions, chosen)),
            counts=self.counts[chosen],
            orders=self.orders[points],
            times=self.times[points],
            values=self.values[points],
            commits=self.commits.take(points),
        )


class Source(ABC):
    """Where series and change points come from. Each stream can be started again."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of this source in messages and reports; never contains a credential."""

    @abstractmethod
    def time_series(self) -> Iterator[SeriesColumns | Document | Skip]:
        """Stream the time series: documents or, faster, valid series as columns.

        Raises:
            DataError: The input is damaged and cannot be read any further.
            SourceError: The source cannot be reached, or the connection breaks off.
        """

    @abstractmethod
    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the change point documents; the loader calls this after reading all series."""
