"""The interface of databases as sources: collections of documents.

A source yields documents as data/README.md describes them, one at a time and in any order. The
loader does the rest: identities, types, labels, order, duplicates, tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError

from barograph.sources.report import Place, Skip

DAMAGE = (BSONError, ValueError, OverflowError, RecursionError)  # of a document
# Times that Python's datetime cannot hold must not affect the rest of their document.
OPTIONS: CodecOptions[Mapping[str, Any]] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_AUTO
)


class Document(NamedTuple):
    """One time series or change point, as a decoded mapping; any field may be missing."""

    place: Place
    fields: Mapping[str, Any]


class Source(ABC):
    """Two collections of BSON documents. Each can be read again.

    Args:
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points, or None if there is none.

    Attributes:
        name: The name of this source in messages and reports; never contains a credential.
    """

    name: str

    def __init__(self, time_series: str, change_points: str | None) -> None:
        self._time_series, self._change_points = time_series, change_points

    @abstractmethod
    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents.

        Raises:
            DataError: The input is damaged and cannot be read any further.
            SourceError: The source cannot be reached, or the connection breaks off.
        """

    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the series; damaged documents are skipped."""
        return self._decoded(self._time_series)

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the change points; damaged documents are skipped."""
        return iter(()) if self._change_points is None else self._decoded(self._change_points)

    def _decoded(self, collection: str) -> Iterator[Document | Skip]:
        name, documents = self.documents(collection)
        for number, document in enumerate(documents, 1):
            place = Place(name, number)
            try:
                yield Document(place, bson.decode(document, OPTIONS))
            except DAMAGE as error:
                yield Skip(place, "(document)", str(error), "damaged BSON")
