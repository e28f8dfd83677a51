"""A live MongoDB as a source: reads the two collections in the order of `_id`."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import unquote_plus

from bson.codec_options import CodecOptions
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from barograph.results.series import LABELS
from barograph.runtime.errors import ConfigError, SourceError
from barograph.sources.documents import OPTIONS, DocumentSource

ENVIRONMENT = "BAROGRAPH_MONGODB_URI"
SCHEMES = ("mongodb://", "mongodb+srv://")
HIDDEN = "***"
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


class MongoDB(DocumentSource):
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
        named = "" if "://" in location else location
        self._address = Address("" if named else location)
        self._database = database or named or self._address.database
        if not re.fullmatch(r"[\w-]+", self._database):
            # Not quoted: it may be a password in the wrong place.
            raise ConfigError(
                f"location: {self._address.name} names no database, or one whose name has other "
                "characters than letters, digits, _ and -"
            )
        super().__init__(time_series, change_points)

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
        """Stream the documents of a collection by `_id`."""
        number = 0
        with closing(self._client()) as client:
            stored = client[self._database].get_collection(collection, RAW)
            try:
                for document in stored.find({}, dict.fromkeys(fields, 1), sort=[("_id", 1)]):
                    number += 1
                    yield bytes(document.raw)
                return
            except (PyMongoError, BSONError) as error:
                reason = self._address.redact(f"{type(error).__name__}: {error}")
        # Outside of the except block, so that the client's error is not chained to ours.
        raise SourceError(f"{name}: the connection broke off after document {number}: {reason}")

    def _client(self) -> MongoClient[RawBSONDocument]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                client, reason = self._connect(self._address.reveal()), ""
            except (PyMongoError, ValueError, TypeError, OSError) as error:
                # The message may quote the password: report only the type of the error.
                client, reason = None, type(error).__name__
        for warning in caught:
            warnings.warn(self._address.redact(str(warning.message)), UserWarning, stacklevel=3)
        if client is None:
            raise SourceError(
                f"{self._address.name}: cannot be opened: {reason}: check the address; in a user "
                "name or a password every : / ? # [ ] @ % must be percent-encoded"
            )
        return client

    def _connect(self, uri: str) -> MongoClient[RawBSONDocument]:
        return MongoClient(uri, appname="barograph", document_class=RawBSONDocument)


class Address:
    """A MongoDB URI whose credentials never appear in messages; only the hosts do.

    Args:
        uri: `mongodb://...` or `mongodb+srv://...`. Defaults to the one in the environment.
    """

    def __init__(self, uri: str) -> None:
        origin = "location" if uri else ENVIRONMENT
        self._uri = uri or os.environ.get(ENVIRONMENT, "")
        if not self._uri:
            raise ConfigError(f"location: empty, and {ENVIRONMENT} is not set either")
        scheme = next((known for known in SCHEMES if self._uri.startswith(known)), None)
        if scheme is None:
            raise ConfigError(f"{origin}: not a URI that starts with {' or '.join(SCHEMES)}")
        # Up to the last @, so that a password with an unescaped / or @ never counts as a host.
        credentials, _, rest = self._uri.removeprefix(scheme).rpartition("@")
        hosts, _, path = rest.partition("?")[0].partition("/")
        sound = all(HOST.fullmatch(host) for host in hosts.split(","))
        self.name = f"{scheme}{hosts if sound else HIDDEN}"
        self.database = path if re.fullmatch(r"[\w-]+", path) else ""
        options = re.findall("(?i)(?:password|properties)=([^&;]*)", rest)
        secrets = [credentials, *credentials.split(":", 1), *options]
        secrets += [pair.partition(":")[2] for text in options for pair in text.split(",")]
        texts = {text for secret in secrets for text in (secret, unquote_plus(secret)) if text}
        self._secrets = sorted(texts, key=len, reverse=True)

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
