import gzip
import io
from pathlib import Path

import bson
import pytest

from barograph.runtime.errors import DataError
from barograph.sources.documents import opened, read_documents

DOCUMENTS = [bson.encode({"a": "x" * size}) for size in (0, 5, 100, 3)]
DATA = b"".join(DOCUMENTS)


def test_read_documents_yields_whole_documents() -> None:
    assert list(read_documents(io.BytesIO(DATA), "f")) == DOCUMENTS


@pytest.mark.parametrize("cut", [1, 3, 4, 30])
def test_read_documents_refuses_a_truncated_document(cut: int) -> None:
    data = DATA + DOCUMENTS[2][:cut]
    with pytest.raises(DataError, match=r"f: document 5: byte \d+: truncated"):
        list(read_documents(io.BytesIO(data), "f"))


def test_read_documents_reports_bytes_from_the_start_of_the_file() -> None:
    with pytest.raises(DataError, match=f"document 9: byte {2 * len(DATA)}: "):
        list(read_documents(io.BytesIO(DATA + DATA + bytes(4)), "f"))


@pytest.mark.parametrize("length", [-1, 0, 4, 2**31 - 1, 20 << 20])
def test_read_documents_refuses_an_impossible_length(length: int) -> None:
    data = DATA + length.to_bytes(4, "little", signed=True) + DOCUMENTS[0][4:]
    with pytest.raises(DataError, match=rf"f: document 5: byte {len(DATA)}: .* says {length};"):
        list(read_documents(io.BytesIO(data), "f"))


def test_read_documents_refuses_a_wrong_length() -> None:
    lying = (len(DOCUMENTS[2]) - 3).to_bytes(4, "little") + DOCUMENTS[2][4:]
    with pytest.raises(DataError, match=r"f: document 2: byte 13: .*no document ends there"):
        list(read_documents(io.BytesIO(DOCUMENTS[0] + lying + DATA), "f"))


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
    with pytest.raises(DataError, match="gone: no such file"), opened(tmp_path / "gone"):
        pass


def test_opened_reports_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"), opened(tmp_path):
        pass
