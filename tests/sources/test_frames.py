import gzip
import io
from pathlib import Path

import bson
import pytest

from barograph.errors import DataError
from barograph.sources.documents import frames
from barograph.sources.documents.frames import framed, opened

DOCUMENTS = [bson.encode({"a": "x" * size}) for size in (0, 5, 100, 3)]
DATA = b"".join(DOCUMENTS)


def test_batches_hold_whole_documents_and_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (1, 3, 20, 50, 1000):
        monkeypatch.setattr(frames, "CHUNK", chunk)
        found = {}
        for data, starts, first in framed(io.BytesIO(DATA), "f"):
            for place in range(len(starts) - 1):
                found[first + place] = data[starts[place] : starts[place + 1]]
        assert found == dict(enumerate(DOCUMENTS, 1))


@pytest.mark.parametrize("cut", [1, 3, 4, 30])
def test_a_truncated_document_is_named(cut: int) -> None:
    data = DATA + DOCUMENTS[2][:cut]
    with pytest.raises(DataError, match="f: document 5: truncated"):
        list(framed(io.BytesIO(data), "f"))


def test_a_place_counts_from_the_start_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "CHUNK", 50)
    with pytest.raises(DataError, match=f"document 9: byte {2 * len(DATA)}: "):
        list(framed(io.BytesIO(DATA + DATA + bytes(4)), "f"))


@pytest.mark.parametrize("length", [-1, 0, 4, 2**31 - 1, 20 << 20])
def test_a_length_that_no_document_has_is_named(length: int) -> None:
    data = DATA + length.to_bytes(4, "little", signed=True) + DOCUMENTS[0][4:]
    with pytest.raises(DataError, match=rf"f: document 5: byte {len(DATA)}: .* says {length};"):
        list(framed(io.BytesIO(data), "f"))


def test_a_length_that_leads_astray_is_named() -> None:
    lying = (len(DOCUMENTS[2]) - 3).to_bytes(4, "little") + DOCUMENTS[2][4:]
    with pytest.raises(DataError, match=r"f: document 2: byte 13: .*no document ends there"):
        list(framed(io.BytesIO(DOCUMENTS[0] + lying + DATA), "f"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_unpacked_by_what_it_holds(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "f.bson"
    path.write_bytes(gzip.compress(DATA) if packed else DATA)
    with opened(path) as file:
        assert file.read() == DATA


@pytest.mark.parametrize("keep", [11, 40, -9, -1])
def test_damaged_gzip_data_is_named(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "f.bson.gz"
    path.write_bytes(gzip.compress(DATA)[:keep])
    with pytest.raises(DataError, match=r"f\.bson\.gz: damaged gzip data"), opened(path) as file:
        file.read()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone: no such file"), opened(tmp_path / "gone"):
        pass


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"), opened(tmp_path):
        pass
