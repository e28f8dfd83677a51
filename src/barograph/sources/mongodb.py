"""A live MongoDB as a source: reads the two collections in the order of `_id`, batch by batch."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import unquote_plus

from bson.codec_options import CodecOptions
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import AutoReconnect, CursorNotFound, PyMongoError

from barograph.results.series import LABELS
from barograph.runtime.errors import ConfigError, SourceError
from barograph.sources.documents import OPTIONS, DocumentSource

ENVIRONMENT = "BAROGRAPH_MONGODB_URI"
SCHEMES = ("mongodb://", "mongodb+srv://")
HIDDEN = "***"
HOST = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d+)?")
SECRET_OPTIONS = ("tlscertificatekeyfilepassword", "authmechanismproperties", "proxypassword")
# Only what the tables need; versions, builds and result ids stay on the server.
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
# Documents arrive undecoded, so that a damaged document affects only itself.
RAW = CodecOptions(
    document_class=RawBSONDocument,
    datetime_conversion=OPTIONS.datetime_conversion,
    unicode_decode_error_handler="replace",
)


def connect_client(uri: str) -> MongoClient[RawBSONDocument]:
    """Return a pymongo client for a URI."""
    return MongoClient(uri, appname="barograph", document_class=RawBSONDocument)


class MongoDB(DocumentSource):
    """The collections of series and of change points in a live database.

    Args:
        location: The name of the database, empty for the one that the URI names. The URI is read
            from BAROGRAPH_MONGODB_URI, so that no file holds credentials. Or a whole URI.
        database: The name of the database, if the location is a URI that names none.
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points, or None if there is none.
        batch_size: The number of documents in a batch.
        attempts: The number of attempts without a new document before giving up.
        pause: Seconds before the second attempt, doubled before each further one.
        connect: Returns a client for a URI.
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
        connect: Callable[[str], MongoClient[RawBSONDocument]] = connect_client,
    ) -> None:
        named = "" if "://" in location else location
        self._address = Address("" if named else location)
        self._database = database or named or self._address.database
        if not re.fullmatch(r"[\w-]+", self._database):
            # Not quoted: it may be a password in the wrong place.
            raise ConfigError(
                f"location: {self._address.name} names no database, or one whose name has other "
                "characters than letters, digits, _ and -"
            )
        for option, number in (("batch_size", batch_size), ("attempts", attempts)):
            if number < 1:
                raise ConfigError(f"{option}: {number}; allowed: at least 1")
        super().__init__(time_series, change_points)
        self._batch_size, self._attempts, self._pause = batch_size, attempts, pause
        self._connect = connect

    @property
    def name(self) -> str:
        """The hosts and the database."""
        return f"{self._address.name}/{self._database}"

    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents."""
        name = f"{self.name}.{collection}"
        fields = SERIES_FIELDS if collection == self._time_series else CANDIDATE_FIELDS
        return name, self._stream(collection, name, fields)

    def _stream(self, collection: str, name: str, fields: tuple[str, ...]) -> Iterator[bytes]:
        """Stream every document once, even if the connection drops and is opened again."""
        with closing(self._client()) as client:
            reader = _Reader(client[self._database].get_collection(collection, RAW), fields)
            number, attempt = 0, 0
            while True:
                before = number
                try:
                    for raw in reader.after_last(self._batch_size):
                        number += 1
                        yield raw
                    return
                except (PyMongoError, BSONError) as error:
                    passing = isinstance(error, (AutoReconnect, CursorNotFound))
                    reason = self._address.redact(f"{type(error).__name__}: {error}")
                # Outside of the except block, so that the client's error is not chained to ours.
                attempt = 1 if number > before else attempt + 1
                if not passing or attempt >= self._attempts:
                    raise SourceError(
                        f"{name}: the connection broke off after document {number}: {reason}"
                    )
                time.sleep(self._pause * 2.0 ** (attempt - 1))

    def _client(self) -> MongoClient[RawBSONDocument]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            client, reason = self._attempt_client()
        for warning in caught:
            warnings.warn(self._address.redact(str(warning.message)), UserWarning, stacklevel=3)
        if client is None:
            raise SourceError(f"{self._address.name}: cannot be opened: {reason}")
        return client

    def _attempt_client(self) -> tuple[MongoClient[RawBSONDocument] | None, str]:
        try:
            return self._connect(self._address.reveal()), ""
        except (PyMongoError, ValueError, TypeError, OSError) as error:
            # The message quotes parts of an invalid URI, perhaps of the password: report only the
            # type of the error.
            return None, (
                f"{type(error).__name__}: check the address; in a user name or a password "
                "every : / ? # [ ] @ % must be percent-encoded"
            )


class _Reader:
    """Reads a collection in the order of `_id` and remembers the last one."""

    def __init__(self, collection: Collection[RawBSONDocument], fields: tuple[str, ...]) -> None:
        self._collection = collection
        self._projection = dict.fromkeys(("_id", *fields), 1)
        self._last: list[Any] = []

    def after_last(self, batch_size: int) -> Iterator[bytes]:
        """Stream the documents after the last one that was read, or all."""
        options: dict[str, Any] = {"sort": [("_id", 1)], "batch_size": batch_size}
        last = self._last
        if last:
            # Not {"$gt": last}: that finds only documents whose _id is of the same type.
            options |= {"min": {"_id": last[0]}, "hint": {"_id": 1}}
        cursor = self._collection.find({}, self._projection, **options)
        with closing(cursor):
            for document in cursor:
                identifier = _id_of(document)
                if identifier and identifier == last:
                    continue  # `min` is inclusive
                self._last = identifier or self._last
                yield bytes(document.raw)


def _id_of(document: RawBSONDocument) -> list[Any]:
    """Return the `_id` in a list, which is empty if the document is too damaged."""
    try:
        return [document["_id"]]
    except (BSONError, ValueError, OverflowError, KeyError):
        return []


class Address:
    """A MongoDB URI whose credentials never appear in messages; only the hosts do.

    Args:
        uri: `mongodb://...` or `mongodb+srv://...`. Defaults to the one in the environment.
    """

    def __init__(self, uri: str) -> None:
        origin = "location" if uri else ENVIRONMENT
        uri = uri or os.environ.get(ENVIRONMENT, "")
        if not uri:
            raise ConfigError(f"location: empty, and {ENVIRONMENT} is not set either")
        scheme = next((known for known in SCHEMES if uri.startswith(known)), None)
        if scheme is None:
            raise ConfigError(f"{origin}: not a URI that starts with {' or '.join(SCHEMES)}")
        self._uri = uri
        # Up to the last @, so that a password with an unescaped / or @ never counts as a host.
        credentials, _, self._rest = uri.removeprefix(scheme).rpartition("@")
        self._secrets = _secrets(credentials, self._rest)
        hosts = re.split("[/?]", self._rest)[0]
        sound = all(HOST.fullmatch(host) for host in hosts.split(","))
        self.name = f"{scheme}{hosts if sound else HIDDEN}"

    @property
    def database(self) -> str:
        """The database that the URI names, or an empty string."""
        path = self._rest.partition("?")[0].partition("/")[2]
        return path if re.fullmatch(r"[\w-]+", path) else ""

    def reveal(self) -> str:
        """Return the whole URI, for the client only."""
        return self._uri

    def redact(self, text: str) -> str:
        """Return a message without the secrets of this URI."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return re.sub(r"//[^/\s]*@", f"//{HIDDEN}@", text)

    def __repr__(self) -> str:
        return f"Address({self.name!r})"

    def __reduce__(self) -> str:
        raise TypeError("an address may contain a password and cannot be pickled")


def _secrets(credentials: str, rest: str) -> list[str]:
    """Return all secret texts, escaped and unescaped, the longest first."""
    user, _, password = credentials.partition(":")
    secrets = [credentials, user, password]
    for option in re.split("[&;]", rest.partition("?")[2]):
        name, _, value = option.partition("=")
        if name.lower() in SECRET_OPTIONS:
            secrets += [value, *(pair.partition(":")[2] for pair in value.split(","))]
    texts = {text for secret in secrets for text in (secret, unquote_plus(secret)) if text}
    return sorted(texts, key=len, reverse=True)
