"""The interface of sources, and `open_source`.

A source subclasses `Source` and yields documents as data/README.md describes them, one at a time
and in any order. The loader does the rest: identities, types, labels, order, duplicates, tables.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.errors import ConfigError
from barograph.extras import needed
from barograph.repeats import Repeats
from barograph.series import Floats, Ints, SeriesId
from barograph.texts import Texts

if TYPE_CHECKING:
    from barograph.sources.report import LoadReport

SOURCES = {
    "mongodump": ("barograph.sources.mongodump", "MongoDump"),
    "mongodb": ("barograph.sources.mongodb", "MongoDB"),
    "zenodo": ("barograph.sources.zenodo", "Zenodo"),
    "files": ("barograph.sources.files", "Files"),
}


class Place(NamedTuple):
    """Where a document was read.

    Attributes:
        file: A path, or a name such as "mongodb://host/db.time_series"; never a credential.
        document: The number of the document, counted from 1; 0 if the file is a single document.
        unit: What is counted: documents, the lines of a text, or the rows of a table.
    """

    file: str
    document: int
    unit: str = "document"

    def __str__(self) -> str:
        """`FILE: document N`."""
        return f"{self.file}: {self.unit} {self.document}" if self.document else self.file


class Document(NamedTuple):
    """One time series or change point, as a decoded mapping; any field may be missing."""

    place: Place
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Skip:
    """A document or a row that cannot be used; a source yields it instead of the document.

    Args:
        place: Where it was read.
        field: The invalid field, dotted ("data.3.value").
        value: The value of the field.
        reason: Why the value cannot be used. Skips are counted by reason, so it is one of a few
            short texts.
        kind: "series", "points" or "candidates". Defaults to the kind of the stream.
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
    """Return the repr of a value, cut to `width` characters."""
    if isinstance(value, (Mapping, list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value[:width] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= width else f"{text[:width]}..."


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
        repeats: The runs of each point; None if each has one run without a name.
        read: Number of results that these points were read from. Defaults to one for each.
        corrected: Corrections that the source made, by what was corrected.
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
    repeats: Repeats | None = None
    read: int = -1
    corrected: Counter[str] = field(default_factory=Counter)

    @property
    def results(self) -> int:
        """Number of results that were read."""
        return self.values.size if self.read < 0 else self.read

    def part(self, start: int, stop: int) -> SeriesColumns:
        """Return the series from `start` to before `stop`, without a copy."""
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
            repeats=None if self.repeats is None else self.repeats.part(first, last),
        )

    def only(self, chosen: npt.NDArray[np.bool_]) -> SeriesColumns:
        """Return the series that a mask chooses; their numbers are no longer consecutive."""
        points = np.repeat(chosen, self.counts)
        return SeriesColumns(
            file=self.file,
            first=self.first,
            ids=[name for name, keep in zip(self.ids, chosen, strict=True) if keep],
            directions=[sign for sign, keep in zip(self.directions, chosen, strict=True) if keep],
            counts=self.counts[chosen],
            orders=self.orders[points],
            times=self.times[points],
            values=self.values[points],
            commits=self.commits.take(points),
            repeats=None if self.repeats is None else self.repeats.only(points),
        )


class Source(ABC):
    """Where series and change points come from. Each stream can be started again."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of this source in messages and reports; never contains a credential."""

    @abstractmethod
    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the time series documents.

        Raises:
            DataError: The input is damaged and cannot be read any further.
            SourceError: The source cannot be reached, or the connection breaks off.
        """

    @abstractmethod
    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the change point documents; the loader calls this after reading all series."""

    def columns(self) -> Iterator[SeriesColumns | LoadReport | Document | Skip]:
        """Stream the same as `time_series`; a source may yield valid series as columns, faster.

        A source that counts by itself also yields a report of what it read, skipped and corrected.
        """
        return self.time_series()


def open_source(kind: str, location: str, **options: object) -> Source:
    """Open a source by its kind. Only its own module is imported.

    Args:
        kind: One of `SOURCES`.
        location: A path, a URI or a folder, as the kind defines it.
        **options: Keyword arguments of the source's class.

    Raises:
        ConfigError: The kind or an option does not exist.
    """
    if kind not in SOURCES:
        raise ConfigError(f"source: no kind {kind!r}; allowed: {', '.join(SOURCES)}")
    module, name = SOURCES[kind]
    with needed(f"the kind {kind}"):
        source_class = getattr(import_module(module), name)
    signature = inspect.signature(source_class)
    try:
        signature.bind(location, **options)
    except TypeError as error:
        allowed = list(signature.parameters)[1:]
        raise ConfigError(f"source {kind}: {error}; options: {allowed}") from error
    source: Source = source_class(location, **options)
    return source
