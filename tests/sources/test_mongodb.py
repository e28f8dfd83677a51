"""MongoDB as a source: a fake client that drops the connection, a wire server, a real server."""

import logging
import os
import pickle
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import bson
import pytest
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.errors import AutoReconnect, CursorNotFound, OperationFailure

from barograph.results.history import History
from barograph.runtime.errors import BarographError, ConfigError, SourceError
from barograph.sources import Document, Skip, open_source
from barograph.sources.mongodb import MongoDB, parts_of
from tests.same import assert_same
from tests.sources.documents import Memory, change_point, load, series
from tests.sources.wire import talking

URI = "mongodb://baron:hunter%2F2%40x@db.example:27017,db2.example/perf?replicaSet=rs"
SECRETS = ("hunter%2F2%40x", "hunter/2@x", "baron")
TYPES = [float, str, dict, bson.ObjectId]  # how a server orders values of several types


def rank(key: Any) -> tuple[int, Any]:
    return (0, key) if isinstance(key, int) else (TYPES.index(type(key)), key)


def projected(value: Any, paths: list[list[str]]) -> Any:
    """Apply an inclusive projection like a server, to each element of an array."""
    if isinstance(value, list):
        return [projected(item, paths) for item in value if isinstance(item, dict)]
    kept = {}
    for name, inner in value.items():
        below = [path[1:] for path in paths if path[0] == name]
        if [] in below:
            kept[name] = inner
        elif below and isinstance(inner, (dict, list)):
            kept[name] = projected(inner, below)
    return kept


@dataclass
class Fake:
    """A server whose cursors break with the next of `failures` after three documents."""

    collections: dict[str, list[Mapping[str, Any]]]
    failures: list[Exception] = field(default_factory=list, repr=False)
    finds: list[dict[str, Any]] = field(default_factory=list)
    uris: list[str] = field(default_factory=list, repr=False)
    hangs: int = 0

    def connect(self, uri: str) -> Any:
        self.uris.append(uri)
        return self

    def __getitem__(self, database: str) -> Self:
        assert database == "perf"
        return self

    def get_collection(self, name: str, _: object) -> Any:
        return FakeCollection(self, self.collections[name])

    def close(self) -> None:
        self.hangs += 1


@dataclass
class FakeCollection:
    server: Fake
    documents: list[Mapping[str, Any]]

    def find(
        self, query: Mapping[str, Any], projection: Mapping[str, int], **options: Any
    ) -> Iterator[RawBSONDocument]:
        assert query == {}
        assert options["sort"] == [("_id", 1)]
        self.server.finds.append(options)
        paths = [name.split(".") for name in projection]
        ordered = sorted(self.documents, key=lambda fields: rank(fields["_id"]))
        for count, document in enumerate(ordered):
            if count == 3 and self.server.failures:
                raise self.server.failures.pop(0)
            raw = document.get("raw") or bson.encode(projected(document, paths))
            yield RawBSONDocument(raw, CodecOptions(document_class=RawBSONDocument))


def server(count: int = 10, *failures: Exception) -> Fake:
    documents: list[Mapping[str, Any]] = [
        {"_id": bson.ObjectId(f"{n:024x}"), **series(f"t{n}")} for n in range(count)
    ]
    candidates: list[Mapping[str, Any]] = [
        {"_id": n, "message": "x", **change_point(f"t{n}")} for n in range(count)
    ]
    collections = {"time_series": documents[::-1], "change_points": candidates}
    return Fake(collections, list(failures))


def source(fake: Fake, location: str = URI, **options: Any) -> MongoDB:
    """Return a source whose client is a fake server."""
    found = MongoDB(location, **options)
    found._connect = fake.connect  # type: ignore[method-assign]
    return found


def names_of(stream: Iterator[Document | Skip]) -> list[str]:
    return [item.fields["test"] for item in stream if isinstance(item, Document)]


def hidden(error: BaseException | None) -> bool:
    """Return whether no secret is in an error, its causes, or its traceback."""
    texts = ["".join(traceback.format_exception(error))] if error else []
    while error is not None:
        texts += [str(error), repr(error), repr(error.args)]
        error = error.__cause__ or error.__context__
    return not any(secret in text for text in texts for secret in SECRETS)


def test_mongodb_gives_the_same_tables_as_memory(tmp_path: Path) -> None:
    fake = server(10)
    report = load(source(fake), tmp_path / "live")
    plain = Memory(fake.collections["time_series"][::-1], fake.collections["change_points"])
    load(plain, tmp_path / "plain")
    assert_same(History.read(tmp_path / "live"), History.read(tmp_path / "plain"))
    assert report.kept == {"series": 10, "points": 50, "candidates": 10}
    assert fake.hangs == len(fake.uris) == 2


def test_mongodb_reads_only_the_needed_fields() -> None:
    fake = server(1)
    first = next(source(fake).time_series())
    assert isinstance(first, Document)
    assert "updateFailures" not in first.fields
    assert set(first.fields["data"][0]) == {
        "order", "value", "commit", "commit_date", "evg_create_date",
    }  # fmt: skip
    candidate = next(source(fake).change_points())
    assert isinstance(candidate, Document)
    assert "message" not in candidate.fields


def test_places_name_the_server_and_count_from_one() -> None:
    places = [item.place[:2] for item in source(server(3)).change_points()]
    name = "mongodb://db.example:27017,db2.example/perf.change_points"
    assert places == [(name, 1), (name, 2), (name, 3)]


def test_documents_are_read_by_ids_of_all_types() -> None:
    fake = server(0)
    ids = [1, 2.5, 3, "a", "b", bson.ObjectId()]
    fake.collections["time_series"] = [{"_id": key, **series(str(key))} for key in ids]
    assert names_of(source(fake).time_series()) == [str(key) for key in ids]


@pytest.mark.parametrize("failure", [AutoReconnect("reset"), CursorNotFound("gone")])
def test_dropped_connection_is_an_error_that_names_the_document(failure: Exception) -> None:
    fake = server(10, failure)
    with pytest.raises(
        SourceError, match=rf"broke off after document 3: {type(failure).__name__}$"
    ):
        list(source(fake).time_series())
    assert fake.hangs == len(fake.finds) == 1


def test_permanent_failure_is_not_retried() -> None:
    fake = server(10, OperationFailure("not authorized on perf", 13, {"codeName": "Unauthorized"}))
    with pytest.raises(SourceError, match=r"after document 3: Unauthorized$"):
        list(source(fake).time_series())
    assert len(fake.finds) == 1


def test_damaged_document_affects_only_itself() -> None:
    fake = server(4)
    broken = bson.encode({"_id": 5, "test": "abcd"}).replace(b"abcd", b"a\xff\xfed")
    nameless = b"\x10\0\0\0\x02x\0\x7f\0\0\0a\0\0\0\0"
    fake.collections["time_series"] += [{"_id": 5, "raw": broken}, {"_id": 6, "raw": nameless}]
    items = list(source(fake).time_series())
    skips = [item for item in items if isinstance(item, Skip)]
    assert {skip.reason for skip in skips} == {"damaged BSON"}
    assert len(names_of(iter(items))) == 4


def test_mongodb_without_change_points_has_no_candidates() -> None:
    fake = server(1)
    assert list(source(fake, change_points=None).change_points()) == []
    assert fake.uris == []


def test_uri_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = server(1)
    monkeypatch.delenv("BAROGRAPH_MONGODB_URI", raising=False)
    with pytest.raises(ConfigError, match="BAROGRAPH_MONGODB_URI is not set"):
        source(fake, "")
    monkeypatch.setenv("BAROGRAPH_MONGODB_URI", URI)
    assert names_of(source(fake, "").time_series()) == ["t0"]
    assert fake.uris == [URI]
    assert source(fake, "mongodb://other/perf").name == "mongodb://other/perf"
    assert source(fake, "more").name == "mongodb://db.example:27017,db2.example/more"
    misplaced = "baron:hunter/2@x@host"
    with pytest.raises(ConfigError, match="names no database") as caught:
        source(fake, misplaced)
    assert hidden(caught.value)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("mongodb://host/db", "mongodb://host"),
        ("mongodb://u:p%40@[::1]:27017,b:1/db?x=1", "mongodb://[::1]:27017,b:1"),
        ("mongodb+srv://u:p@cluster.example", "mongodb+srv://cluster.example"),
        ("mongodb://u:p/q?r#s@t@host/db", "mongodb://host"),
        ("mongodb://baron:hunter", "mongodb://***"),
        ("mongodb://baron:hun ter/x", "mongodb://***"),
    ],
)
def test_name_contains_only_hosts(uri: str, name: str) -> None:
    assert parts_of(uri)[0] == name


def test_secrets_never_appear(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.DEBUG)
    message = f"auth failed for {URI} as baron with hunter/2@x (hunter%2F2%40x)"
    for failure in (AutoReconnect(message), OperationFailure(message), bson.InvalidBSON(message)):
        live = source(server(5, failure))
        with pytest.raises(SourceError) as caught:
            load(live, tmp_path / "out")
        assert hidden(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None
    texts = [repr(live), str(live), live.name, repr(vars(live)), caplog.text]
    assert not any(secret in text for text in texts for secret in SECRETS)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(live)


@pytest.mark.parametrize(
    "uri",
    [
        "mongodb://baron:hunter/2@x@host/perf",
        "mongodb://baron:hunter%2F2%40x@host:port/perf",
        "mongodb://baron:hunter%2F2%40x@/perf",
        "mongodb://baron:hunter%zz@host/perf",
        "mongodb://baron:hunter/2@x@host/perf?wtimeoutMS=hunter/2@x",
    ],
)
def test_invalid_uri_is_reported_without_secrets(uri: str) -> None:
    with pytest.raises(SourceError, match="must be percent-encoded") as caught:
        list(MongoDB(uri, database="perf").time_series())
    assert hidden(caught.value)
    assert "hunter" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_unreachable_server_is_reported_without_secrets() -> None:
    uri = "mongodb://baron:hunter%2F2%40x@127.0.0.1:1/perf?serverSelectionTimeoutMS=20&baron=1"
    with pytest.raises(SourceError, match=r"ServerSelectionTimeoutError$") as caught:
        list(MongoDB(uri).time_series())
    assert hidden(caught.value)


@pytest.mark.parametrize(
    ("location", "options"),
    [
        ("http://host/db", {}),
        ("baron:hunter/2@x", {}),
        ("mongodb://host", {}),
        ("mongodb://host/", {}),
        (URI, {"attempts": 2}),
    ],
)
def test_invalid_options_are_refused(location: str, options: dict[str, int]) -> None:
    with pytest.raises(ConfigError) as caught:
        open_source("mongodb", location, **options)
    assert hidden(caught.value)


def test_source_error_is_a_barograph_error() -> None:
    assert issubclass(SourceError, BarographError)


def test_real_client_reads_all_batches(tmp_path: Path) -> None:
    with talking(server(10).collections["time_series"]) as wire:
        live = MongoDB(f"mongodb://{wire.address}/perf", change_points=None)
        report = load(live, tmp_path / "out")
        assert (report.kept["series"], report.kept["points"]) == (10, 50)
        assert report.skipped == {"series": {}, "points": {}, "candidates": {}}
        [first] = [command for command in wire.commands if "find" in command]
        assert first["projection"]["data.value"] == 1


def test_failed_authentication_does_not_reveal_the_password() -> None:
    with talking([]) as wire:
        uri = f"mongodb://baron:hunter%2F2%40x@{wire.address}/perf?authMechanism=PLAIN"
        with pytest.raises(SourceError, match=r"AuthenticationFailed$") as caught:
            list(MongoDB(uri).time_series())
        assert hidden(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None


needs_server = pytest.mark.skipif(
    "BAROGRAPH_TEST_MONGODB" not in os.environ, reason="BAROGRAPH_TEST_MONGODB names no server"
)


@needs_server
def test_real_server_gives_the_same_tables(tmp_path: Path) -> None:
    uri, database = os.environ["BAROGRAPH_TEST_MONGODB"], f"barograph_test_{os.getpid()}"
    fake = server(50)
    with MongoClient[dict[str, Any]](uri) as client:
        try:
            for name, documents in fake.collections.items():
                client[database][name].insert_many([dict(fields) for fields in documents])
            live = MongoDB(uri, database=database)
            report = load(live, tmp_path / "out")
            assert report.kept == {"series": 50, "points": 250, "candidates": 50}
        finally:
            client.drop_database(database)
