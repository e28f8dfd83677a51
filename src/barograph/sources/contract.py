"""What every source follows: a stream of documents, each with its place.

A source subclasses `Source` and yields documents as data/README.md describes them, in any order,
one at a time. The loader does the rest: identities, types, labels, order, duplicates, the tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barograph.series import Floats, Ints, SeriesId


class Readable(Protocol):
    """Bytes from somewhere."""

    def read(self, size: int = -1, /) -> bytes:
        """Read at most `size` bytes; none at the end."""
        ...


class Place(NamedTuple):
    """Where a document was read: what a person needs to find it again."""

    file: str  # a path, or a name such as "mongodb://host/db.time_series", never a credential
    document: int  # counted from 1

    def __str__(self) -> str:
        """`FILE: document N`."""
        return f"{self.file}: document {self.document}"


class Document(NamedTuple):
    """One time series or change point, as a decoded mapping; any field may be missing."""

    place: Place
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Skip:
    """Something that was left out, and why; a source yields one in the place of a document.

    Args:
        place: Where it was read.
        field: The field at fault, dotted ("data.3.value").
        value: What stood there.
        reason: Why it cannot be used: one of few short texts, they are counted by it.
        kind: What it is, where it is not what its stream is of: "points" among series.
    """

    place: Place
    field: str
    value: object
    reason: str
    kind: str = ""

    def __str__(self) -> str:
        """`FILE: document N: field: reason (got VALUE)`."""
        return f"{self.place}: {self.field}: {self.reason} (got {shortened(self.value)})"


def shortened(value: object, width: int = 60) -> str:
    """A value as a message shows it: its repr, cut where it is long."""
    if isinstance(value, (Mapping, list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value[:width] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= width else f"{text[:width]}..."


@dataclass(frozen=True, slots=True)
class SeriesColumns:
    """Whole series as columns, sound: orders rise strictly in each, values are finite.

    Args:
        file: Where they were read.
        first: The number of the first one's document; the others follow it without a gap.
        ids: Their identities.
        directions: Their directions, -1, 0 or 1.
        counts: How many points each one has, at least one.
        orders: The orders of all points, series after series, as are the next three.
        times: Milliseconds since 1970, the smallest integer where unknown.
        values: The measured values.
        commits: Text, null where unknown.
    """

    file: str
    first: int
    ids: list[SeriesId]
    directions: list[int]
    counts: Ints
    orders: Ints
    times: Ints
    values: Floats
    commits: pa.Array

    def part(self, start: int, stop: int) -> SeriesColumns:
        """Some of these series that follow each other, without a copy."""
        first, last = int(self.counts[:start].sum()), int(self.counts[:stop].sum())
        return SeriesColumns(
            file=self.file,
            first=self.first + start,
            ids=self.ids[start:stop],
            directions=self.directions[start:stop],
            counts=self.counts[start:stop],
            orders=self.orders[first:last],
            times=self.times[first:last],
            values=self.values[first:last],
            commits=self.commits[first:last],
        )

    def only(self, chosen: npt.NDArray[np.bool_]) -> SeriesColumns:
        """The chosen ones of these series; their numbers no longer follow each other."""
        points = np.repeat(chosen, self.counts)
        return SeriesColumns(
            file=self.file,
            first=self.first,
            ids=[one for one, keep in zip(self.ids, chosen, strict=True) if keep],
            directions=[one for one, keep in zip(self.directions, chosen, strict=True) if keep],
            counts=self.counts[chosen],
            orders=self.orders[points],
            times=self.times[points],
            values=self.values[points],
            commits=self.commits.filter(pa.array(points)),
        )


class Source(ABC):
    """A place that series and change points come from; each stream can be started again."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages and reports call this source; never holds a credential."""

    @abstractmethod
    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the time series documents.

        Raises:
            DataError: The input is damaged so that nothing behind it can be read.
            SourceError: The place cannot be reached, or breaks off.
        """

    @abstractmethod
    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the change point documents; the loader asks after all series were read."""

    def columns(self) -> Iterator[SeriesColumns | Document | Skip]:
        """Stream what `time_series` does; a source may give sound series faster, as columns."""
        return self.time_series()
