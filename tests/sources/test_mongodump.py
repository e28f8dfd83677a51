import gzip
import json
from pathlib import Path

import bson
import pytest

from barograph.results.history import History
from barograph.runtime.errors import DataError
from barograph.sources import Skip, open_source
from barograph.sources.mongodump import MongoDump
from tests.sources.archives import MAGIC, archive, block, prelude
from tests.sources.documents import change_point, load, series, write_dump

SERIES = [series(f"t{number}", count=3 + number) for number in range(5)]
CHANGE_POINTS = [change_point(f"t{number}", order=10 * number) for number in (1, 2, 3)]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    write_dump(tmp_path / "dump", SERIES, CHANGE_POINTS)
    return tmp_path / "dump"


def tables(source: str, folder: Path) -> dict[str, bytes]:
    load(MongoDump(source), folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_dump_files_writes_the_files_of_mongodump(dump: Path) -> None:
    assert sorted(path.name for path in dump.iterdir()) == [
        "change_points.bson",
        "change_points.metadata.json",
        "time_series.bson",
        "time_series.metadata.json",
    ]
    metadata = json.loads((dump / "time_series.metadata.json").read_text())
    assert metadata["collectionName"] == "time_series"
    assert metadata["indexes"][0]["key"] == {"_id": {"$numberInt": "1"}}
    documents = bson.decode_all((dump / "time_series.bson").read_bytes())
    assert [document["test"] for document in documents] == ["t0", "t1", "t2", "t3", "t4"]
    assert len({document["_id"] for document in documents}) == 5


def test_every_form_of_a_dump_gives_the_same_tables(dump: Path, tmp_path: Path) -> None:
    whole = tables(str(dump), tmp_path / "a")
    below = tmp_path / "root" / "perf"
    below.mkdir(parents=True)
    for name in ("time_series", "change_points"):
        packed = gzip.compress((dump / f"{name}.bson").read_bytes())
        (below / f"{name}.bson.gz").write_bytes(packed)
    plain, packed_archive = tmp_path / "dump.archive", tmp_path / "dump.archive.gz"
    plain.write_bytes(archive(SERIES, CHANGE_POINTS))
    packed_archive.write_bytes(gzip.compress(plain.read_bytes()))
    for source in (tmp_path / "root", plain, packed_archive):
        assert tables(str(source), tmp_path / f"from {source.name}") == whole
    assert History.read(tmp_path / "a").candidates.index.tolist() == [1, 2, 3]


def test_dump_files_writes_nothing_after_an_error(tmp_path: Path) -> None:
    def broken() -> object:
        yield series()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_dump(tmp_path / "dump", broken(), [])  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_collections_may_have_other_names(dump: Path, tmp_path: Path) -> None:
    (dump / "time_series.bson").rename(dump / "series.bson")
    source = open_source("mongodump", str(dump), time_series="series", change_points=None)
    report = load(source, tmp_path / "out")
    assert (report.kept["series"], report.kept["candidates"]) == (5, 0)


def test_missing_dump_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone: no such file or directory"):
        load(MongoDump(str(tmp_path / "gone")), tmp_path / "out")


def test_missing_collection_is_reported(dump: Path, tmp_path: Path) -> None:
    (dump / "change_points.bson").unlink()
    with pytest.raises(DataError, match=r"0 files named change_points\.bson"):
        load(MongoDump(str(dump)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_databases_in_a_dump_are_refused(dump: Path) -> None:
    (dump / "other").mkdir()
    (dump / "other" / "time_series.bson").write_bytes(b"")
    with pytest.raises(DataError, match=r"2 files named .*other/time_series\.bson"):
        list(MongoDump(str(dump)).time_series())


def test_empty_dump_is_refused(tmp_path: Path) -> None:
    write_dump(tmp_path / "dump", [], [])
    with pytest.raises(DataError, match="dump: contains no time series"):
        load(MongoDump(str(tmp_path / "dump")), tmp_path / "out")


def test_damaged_document_is_skipped(dump: Path, tmp_path: Path) -> None:
    path = dump / "time_series.bson"
    data = path.read_bytes()
    start = data.index(b"\x02project\x00") + len(b"\x02project\x00")
    path.write_bytes(data[:start] + b"\xff\xff\xff\x7f" + data[start + 4 :])
    report = load(MongoDump(str(dump)), tmp_path / "out", max_skipped_share=0.5)
    assert report.kept["series"] == 4
    [example] = report.examples["series", "damaged BSON"]
    assert example.place[:2] == (str(path), 1)
    (skip,) = (item for item in MongoDump(str(dump)).time_series() if isinstance(item, Skip))
    assert skip.place.document == 1


BROKEN = {
    "no archive": (b"hello world", "neither a dump directory nor a mongodump archive"),
    "nothing": (b"", "neither"),
    "only magic": (MAGIC, "truncated"),
    "no header": (MAGIC + b"\xff" * 4, "0 collections .*has none"),
    "other collections": (prelude(["users"]), "0 collections named time_series.*has perf.users"),
    "no end": (prelude(["time_series"]), "ends before the collection time_series"),
    "block without header": (prelude(["time_series"]) + b"\xff" * 4, "a block without a header"),
    "open block": (prelude(["time_series"]) + block("time_series", [])[:-4], "truncated"),
    "bad length": (prelude(["time_series"]) + b"\x01\x00\x00\x00", "says 1; allowed"),
    "damaged header": (MAGIC + b"\x06\x00\x00\x00\x02\x00", "damaged archive header"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_archive_is_refused(tmp_path: Path, name: str) -> None:
    data, message = BROKEN[name]
    path = tmp_path / "dump.archive"
    path.write_bytes(data)
    with pytest.raises(DataError, match=rf"dump\.archive.*{message}"):
        list(MongoDump(str(path)).time_series())


def test_truncated_archive_is_refused(tmp_path: Path) -> None:
    path, data = tmp_path / "dump.archive", archive(SERIES, CHANGE_POINTS)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"dump\.archive: byte \d+: truncated"):
        load(MongoDump(str(path)), tmp_path / "out")
    assert not (tmp_path / "out").exists()
