"""A live MongoDB as a source: reads the two collections in the order of `_id`.

Messages name the hosts and the kind of an error, never the text of the client's error or the URI:
both may hold a password.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing

from bson.codec_options import CodecOptions
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from barograph.results.series import LABELS
from barograph.runtime.errors import ConfigError, SourceError
from barograph.sources.mongodump import OPTIONS, Source

ENVIRONMENT = "BAROGRAPH_MONGODB_URI"
URI = re.compile(r"(mongodb(?:\+srv)?://)(.*)", re.DOTALL)
DATABASE = re.compile(r"[\w-]+")
HOST = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d+)?")
# Only what the tables need; versions, builds and result ids stay on the server.
POINT = ("order", "value", "commit", "commit_date", "evg_create_date")
SERIES_FIELDS = (*LABELS, "args", "direction", *(f"data.{field}" for field in POINT))
POSITION = ("time_series_info", "order", "commit")
CANDIDATE_FIELDS = (*LABELS, "args", *POSITION, "calculated_on", "triage", "algorithm")
# Documents arrive undecoded, so that a damaged document affects only itself.
RAW = CodecOptions(
    document_class=RawBSONDocument,
    datetime_conversion=OPTIONS.datetime_conversion,
    unicode_decode_error_handler="replace",
)


class MongoDB(Source):
    """The collections of series and of change points in a live database.

    Args:
        location: The name of the database, empty for the one that the URI names. The URI is read
            from BAROGRAPH_MONGODB_URI, so that no file holds credentials. Or a whole URI.
        database: The name of the database, if the location is a URI that names none.
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points, or None if there is none.
    """

    def __init__(
        self,
        location: str = "",
        *,
        database: str = "",
        time_series: str = "time_series",
        change_points: str | None = "change_points",
    ) -> None:
        super().__init__(time_series, change_points)
        named = "" if "://" in location else location
        uri = os.environ.get(ENVIRONMENT, "") if named or not location else location
        if not uri:
            raise ConfigError(f"location: empty, and {ENVIRONMENT} is not set either")
        self._hosts, of_uri = parts_of(uri)
        self._database = database or named or of_uri
        if not DATABASE.fullmatch(self._database):
            # Not quoted: it may be a password in the wrong place.
            raise ConfigError(
                f"location: {self._hosts} names no database, or one whose name has other "
                "characters than letters, digits, _ and -"
            )
        self.name = f"{self._hosts}/{self._database}"
        self._reveal: Callable[[], str] = lambda: uri  # a function, so that no repr has it

    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents by `_id`."""
        name = f"{self.name}.{collection}"
        fields = SERIES_FIELDS if collection == self._time_series else CANDIDATE_FIELDS
        return name, self._stream(collection, name, fields)

    def _stream(self, collection: str, name: str, fields: tuple[str, ...]) -> Iterator[bytes]:
        number = 0
        with closing(self._client()) as client:
            stored = client[self._database].get_collection(collection, RAW)
            try:
                for document in stored.find({}, dict.fromkeys(fields, 1), sort=[("_id", 1)]):
                    number += 1
                    yield bytes(document.raw)
                return
            except (PyMongoError, BSONError) as error:
                details = error.details if isinstance(error, OperationFailure) else None
                reason = (details or {}).get("codeName") or type(error).__name__
        # Outside of the except block, so that the client's error is not chained to ours.
        raise SourceError(f"{name}: the connection broke off after document {number}: {reason}")

    def _client(self) -> MongoClient[RawBSONDocument]:
        try:
            with warnings.catch_warnings(action="ignore"):
                return self._connect(self._reveal())
        except (PyMongoError, ValueError, TypeError, OSError) as error:
            reason = type(error).__name__
        raise SourceError(
            f"{self._hosts}: cannot be opened: {reason}: check the address; in a user "
            "name or a password every : / ? # [ ] @ % must be percent-encoded"
        )

    def _connect(self, uri: str) -> MongoClient[RawBSONDocument]:
        return MongoClient(uri, appname="barograph", document_class=RawBSONDocument)


def parts_of(uri: str) -> tuple[str, str]:
    """Return the scheme and the hosts of a URI, and its database; empty if it names none.

    Raises:
        ConfigError: It is no URI of MongoDB.

    Example:
        >>> parts_of("mongodb://me:secret@db.example:27017/perf?replicaSet=rs")
        ('mongodb://db.example:27017', 'perf')
    """
    match = URI.fullmatch(uri)
    if match is None:
        raise ConfigError("location: not a URI that starts with mongodb:// or mongodb+srv://")
    # After the last @, so that a password with an unescaped / or @ never counts as a host.
    hosts, _, path = match[2].rpartition("@")[2].partition("?")[0].partition("/")
    sound = all(HOST.fullmatch(host) for host in hosts.split(","))
    return match[1] + (hosts if sound else "***"), path if DATABASE.fullmatch(path) else ""
