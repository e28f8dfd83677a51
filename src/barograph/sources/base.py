"""The interface of sources.

A source subclasses `Source` and yields documents as data/README.md describes them, one at a time
and in any order. The loader does the rest: identities, types, labels, order, duplicates, tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from barograph.sources.report import Place, Skip


class Document(NamedTuple):
    """One time series or change point, as a decoded mapping; any field may be missing."""

    place: Place
    fields: Mapping[str, Any]


class Source(ABC):
    """Where series and change points come from. Each stream can be started again.

    Attributes:
        name: The name of this source in messages and reports; never contains a credential.
    """

    name: str

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
