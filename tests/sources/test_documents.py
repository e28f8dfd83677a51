import gzip
from pathlib import Path

import bson
import pytest

from barograph.runtime.errors import DataError
from barograph.sources.mongodump import MongoDump, opened

DOCUMENTS = [bson.encode({"a": "x" * size}) for size in (0, 5, 100, 3)]
DATA = b"".join(DOCUMENTS)


def read(folder: Path, data: bytes) -> list[bytes]:
    """Return the documents of a dump of one collection."""
    (folder / "f.bson").write_bytes(data)
    return list(MongoDump(str(folder), time_series="f").documents("f")[1])


def test_whole_documents_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, DATA) == DOCUMENTS


@pytest.mark.parametrize("cut", [1, 3, 4, 30])
def test_truncated_document_is_refused(tmp_path: Path, cut: int) -> None:
    data = DATA + DOCUMENTS[2][:cut]
    with pytest.raises(DataError, match=r"f.bson: document 5: byte \d+: truncated"):
        read(tmp_path, data)


def test_bytes_are_counted_from_the_start_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"document 9: byte {2 * len(DATA)}: "):
        read(tmp_path, DATA + DATA + bytes(4))


@pytest.mark.parametrize("length", [-1, 0, 4, 2**31 - 1, 20 << 20])
def test_impossible_length_is_refused(tmp_path: Path, length: int) -> None:
    data = DATA + length.to_bytes(4, "little", signed=True) + DOCUMENTS[0][4:]
    with pytest.raises(
        DataError, match=rf"f.bson: document 5: byte {len(DATA)}: .* says {length};"
    ):
        read(tmp_path, data)


def test_wrong_length_is_refused(tmp_path: Path) -> None:
    lying = (len(DOCUMENTS[2]) - 3).to_bytes(4, "little") + DOCUMENTS[2][4:]
    with pytest.raises(DataError, match=r"f.bson: document 2: byte 13: .*no document ends there"):
        read(tmp_path, DOCUMENTS[0] + lying + DATA)


@pytest.mark.parametrize("packed", [False, True])
def test_opened_decompresses_by_content(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "f.bson"
    path.write_bytes(gzip.compress(DATA) if packed else DATA)
    with opened(path) as file:
        assert file.read() == DATA


@pytest.mark.parametrize("keep", [11, 40, -9, -1])
def test_opened_reports_damaged_gzip_data(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "f.bson.gz"
    path.write_bytes(gzip.compress(DATA)[:keep])
    with pytest.raises(DataError, match=r"f\.bson\.gz: damaged gzip data"), opened(path) as file:
        file.read()


def test_opened_reports_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone: cannot be read: No such"), opened(tmp_path / "gone"):
        pass


def test_opened_reports_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"), opened(tmp_path):
        pass
