"""Read the two collections from a server, in the order of `_id`, batch by batch."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, Protocol, cast

from bson.codec_options import CodecOptions
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.errors import AutoReconnect, CursorNotFound, PyMongoError

from barograph.errors import ConfigError, SourceError
from barograph.series import LABELS
from barograph.sources.contract import Document, SeriesColumns, Skip, Source
from barograph.sources.documents.columns import OPTIONS, columns, decoded
from barograph.sources.documents.frames import Batch, Frames
from barograph.sources.mongodb.address import Address

# Only what the tables are made of; a point's version, build and result ids stay on the server.
POINT = ("order", "value", "commit", "commit_date", "evg_create_date")
SERIES_FIELDS = (*LABELS, "args", "direction", *(f"data.{field}" for field in POINT))
CANDIDATE_FIELDS = (
    *LABELS,
    "args",
    "time_series_info",
    "order",
    "commit",
    "calculated_on",
    "triage",
    "algorithm",
)
# Documents arrive as they are on the wire, so that one damaged document costs only itself.
RAW = CodecOptions(
    document_class=RawBSONDocument,
    datetime_conversion=OPTIONS.datetime_conversion,
    unicode_decode_error_handler="replace",
)


class Collection(Protocol):
    """What is asked of pymongo's collection."""

    def find(self, *args: Any, **kwargs: Any) -> Iterable[RawBSONDocument]:
        """Open a cursor."""
        ...


class Client(Protocol):
    """What is asked of pymongo's client."""

    def collection(self, database: str, name: str) -> Collection:
        """One collection, whose documents stay undecoded."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class Connection:
    """A client of pymongo."""

    def __init__(self, uri: str) -> None:
        self._client: MongoClient[RawBSONDocument] = MongoClient(
            uri, appname="barograph", document_class=RawBSONDocument
        )

    def collection(self, database: str, name: str) -> Collection:
        """One collection, whose documents stay undecoded."""
        found = self._client.get_database(database).get_collection(name, codec_options=RAW)
        return cast("Collection", found)

    def close(self) -> None:
        """Hang up."""
        self._client.close()


class MongoDB(Source):
    """The collections of series and of change points in a live database.

    Args:
        location: The database's name, or nothing for the one that the URI names; the URI is that
            of BAROGRAPH_MONGODB_URI, so that credentials stand in no file. Or a whole URI.
        database: The database, where the location is a URI that names none.
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points; None where there is none.
        batch_size: How many documents a batch has.
        attempts: Tries that bring no new document before giving up.
        pause: Seconds before the second try, doubled before each further one.
        connect: Makes a client for a URI.
    """

    def __init__(
        self,
        location: str = "",
        *,
        database: str = "",
        time_series: str = "time_series",
        change_points: str | None = "change_points",
        batch_size: int = 200,
        attempts: int = 5,
        pause: float = 1.0,
        connect: Callable[[str], Client] = Connection,
    ) -> None:
        named = "" if "://" in location else location
        self._address = Address("" if named else location)
        self._database = database or named or self._address.database
        if not re.fullmatch(r"[\w-]+", self._database):
            # Not quoted: what stands there by mistake may be a password.
            raise ConfigError(
                f"location: {self._address.name} names no database, and none is given whose name "
                "is made of letters, digits, _ and -"
            )
        for option, number in (("batch_size", batch_size), ("attempts", attempts)):
            if number < 1:
                raise ConfigError(f"{option}: {number}; allowed: 1 or more")
        self._time_series, self._change_points = time_series, change_points
        self._batch_size, self._attempts, self._pause = batch_size, attempts, pause
        self._connect = connect

    @property
    def name(self) -> str:
        """The hosts and the database."""
        return f"{self._address.name}/{self._database}"

    def time_series(self) -> Iterator[Document | Skip]:
        """Stream the collection of series."""
        for frames in self._frames(self._time_series, SERIES_FIELDS):
            yield from decoded(frames, self._called(self._time_series))

    def columns(self) -> Iterator[SeriesColumns | Document | Skip]:
        """Stream the collection of series, sound ones as columns."""
        for frames in self._frames(self._time_series, SERIES_FIELDS):
            yield from columns(frames, self._called(self._time_series))

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the collection of change points."""
        if self._change_points is None:
            return
        for frames in self._frames(self._change_points, CANDIDATE_FIELDS):
            yield from decoded(frames, self._called(self._change_points))

    def _called(self, collection: str) -> str:
        return f"{self.name}.{collection}"

    def _frames(self, collection: str, fields: tuple[str, ...]) -> Iterator[Frames]:
        """Every document once, however often the connection drops."""
        with closing(self._client()) as client:
            reader = _Reader(client.collection(self._database, collection), fields)
            batch, first, number, attempt = Batch(), 1, 0, 0
            while True:
                before = number
                try:
                    for raw in reader.after_last(self._batch_size):
                        number += 1
                        if batch.add(raw):
                            yield batch.taken(first)
                            first = number + 1
                    break
                except (PyMongoError, BSONError) as error:
                    passing = isinstance(error, (AutoReconnect, CursorNotFound))
                    reason = self._address.redact(f"{type(error).__name__}: {error}")
                # Outside of the except: nothing of the client's error hangs on to ours.
                attempt = 1 if number > before else attempt + 1
                if not passing or attempt >= self._attempts:
                    name = self._called(collection)
                    raise SourceError(f"{name}: breaks off after document {number}: {reason}")
                time.sleep(self._pause * 2.0 ** (attempt - 1))
            yield batch.taken(first)

    def _client(self) -> Client:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            client, reason = self._attempt_client()
        for warning in caught:
            warnings.warn(self._address.redact(str(warning.message)), UserWarning, stacklevel=3)
        if client is None:
            raise SourceError(f"{self._address.name}: cannot be opened: {reason}")
        return client

    def _attempt_client(self) -> tuple[Client | None, str]:
        try:
            return self._connect(self._address.reveal()), ""
        except (PyMongoError, ValueError, TypeError, OSError) as error:
            # A URI that cannot be read is quoted in part by the message, and not always where
            # the password stands by our own reading: only the kind of the error is told.
            return None, (
                f"{type(error).__name__}: check the address; in a user name or a password "
                "every : / ? # [ ] @ % must be percent-encoded"
            )


class _Reader:
    """One collection in the order of `_id`, which remembers how far it came."""

    def __init__(self, collection: Collection, fields: tuple[str, ...]) -> None:
        self._collection = collection
        self._projection = dict.fromkeys(("_id", *fields), 1)
        self._last: list[Any] = []

    def after_last(self, batch_size: int) -> Iterator[bytes]:
        """The documents behind the last one that was given, or all."""
        options: dict[str, Any] = {"sort": [("_id", 1)], "batch_size": batch_size}
        last = self._last
        if last:
            # Not {"$gt": last}: that finds only documents whose _id is of the same type.
            options |= {"min": {"_id": last[0]}, "hint": {"_id": 1}}
        cursor = self._collection.find({}, self._projection, **options)
        with closing(cast("Any", cursor)):
            for document in cursor:
                found = _id_of(document)
                if found and found == last:
                    continue  # where `min` starts
                self._last = found or self._last
                yield bytes(document.raw)


def _id_of(document: RawBSONDocument) -> list[Any]:
    """The `_id` in a list, which is empty where the document is too damaged to tell."""
    try:
        return [document["_id"]]
    except (BSONError, ValueError, OverflowError, KeyError):
        return []
