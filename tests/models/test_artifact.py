import json
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from barograph import __version__
from barograph.features import FEATURES_VERSION
from barograph.models import artifact
from barograph.runtime.errors import ArtifactError

ARRAYS = {"a": np.arange(5.0), "b": np.ones((2, 3), dtype=np.float32)}


def test_read_returns_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "model.baro"
    artifact.write(path, {"use": "online"}, ARRAYS)
    header, arrays = artifact.read(path)
    assert header["use"] == "online"
    assert arrays.keys() == ARRAYS.keys()
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)


def test_write_gives_equal_bytes_for_equal_models(tmp_path: Path) -> None:
    for name in ("one", "two"):
        artifact.write(tmp_path / name, {"use": "online"}, ARRAYS)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_write_leaves_no_file_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        artifact.write(tmp_path / "model", {"use": {1, 2}}, ARRAYS)
    assert list(tmp_path.iterdir()) == []


def test_read_refuses_any_altered_byte(tmp_path: Path) -> None:
    path = tmp_path / "model"
    artifact.write(path, {"use": "online"}, ARRAYS)
    sound = path.read_bytes()
    original = artifact.read(path)
    for k in range(len(sound)):
        path.write_bytes(sound[:k] + bytes([sound[k] ^ 0xFF]) + sound[k + 1 :])
        try:
            header, arrays = artifact.read(path)
        except ArtifactError:
            continue
        # Some bytes of a zip file have no effect, such as the date of an entry.
        assert header == original[0]
        assert artifact.digest(arrays) == artifact.digest(original[1])


@pytest.mark.parametrize("change", [("0.5", "0.6"), ("online", "onlime"), ("[2]", "[3]")])
def test_read_refuses_an_altered_header(tmp_path: Path, change: tuple[str, str]) -> None:
    artifact.write(tmp_path / "model", {"use": "online", "threshold": 0.5, "parts": (2,)}, ARRAYS)
    assert artifact.read(tmp_path / "model")[0]["threshold"] == 0.5
    with (
        zipfile.ZipFile(tmp_path / "model") as sound,
        zipfile.ZipFile(tmp_path / "altered", "w") as altered,
    ):
        for name in sound.namelist():
            content = sound.read(name)
            if name == artifact.HEADER:
                text = json.dumps(json.loads(content))
                content = text.replace(*change).encode()
                assert text.encode() != content
            altered.writestr(name, content)
    with pytest.raises(ArtifactError, match="the SHA-256 in the header does not match"):
        artifact.read(tmp_path / "altered")


@pytest.mark.parametrize("kept", [0, 1, 30, 200])
def test_read_refuses_a_truncated_file(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "model"
    artifact.write(path, {}, ARRAYS)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ArtifactError, match="not a model file, or damaged"):
        artifact.read(path)


class Trap:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("sprung"),))


def test_read_refuses_pickles_without_running_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ArtifactError):
        artifact.read("plain")
    np.save("objects.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    header = {"format": artifact.FORMAT, "format_version": artifact.VERSION}
    with zipfile.ZipFile("zipped", "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("a.npy", Path("objects.npy").read_bytes())
    with pytest.raises(ArtifactError, match=r"Object arrays cannot be loaded"):
        artifact.read("zipped")
    assert not Path("sprung").exists()


def test_read_names_a_missing_file_and_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no such file"):
        artifact.read(tmp_path / "none")
    path = tmp_path / "other"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", '{"format": "barograph-model", "format_version": 99}')
    with pytest.raises(ArtifactError, match="format version 99; this program reads 1"):
        artifact.read(path)


@pytest.mark.parametrize("entry", ["zeros.npy", artifact.HEADER])
def test_read_refuses_a_small_file_that_would_unpack_to_a_large_one(
    tmp_path: Path, entry: str
) -> None:
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry, bytes(artifact.MAX_BYTES + 1))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(ArtifactError, match="865 bytes unpacked; allowed are 67,108,864"):
            artifact.read(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_write_leaves_no_file_that_read_would_refuse(tmp_path: Path) -> None:
    zeros = np.zeros(artifact.MAX_BYTES // 8)
    with pytest.raises(ArtifactError, match=r"model: 67,1.* bytes unpacked"):
        artifact.write(tmp_path / "model", {}, {"zeros": zeros})
    assert list(tmp_path.iterdir()) == []


def test_read_unpacks_no_more_of_an_entry_than_its_stated_size(tmp_path: Path) -> None:
    path, zeros, stated = tmp_path / "model", 100_000_000, 1000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(artifact.HEADER, bytes(zeros))
    sizes = zeros.to_bytes(4, "little"), stated.to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(*sizes))
    tracemalloc.start()
    try:
        with pytest.raises(ArtifactError, match="Bad CRC"):
            artifact.read(path)
        assert tracemalloc.get_traced_memory()[1] < zeros / 10
    finally:
        tracemalloc.stop()


def add_array(path: Path, header: str, content: bytes) -> None:
    """Add an array with a header of any text to a model file."""
    text = header.ljust(117) + "\n"
    start = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("c.npy", start + content)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1%s)}" % ("0" * 30),
        "{'descr': '|V0', 'fortran_order': False, 'shape': (True,)}",
        "\n\n  x\n y",
        "'''",
        "[" * 5000,
        "(" + "{'descr': '<f8', 'fortran_order': False, 'shape': ()}".rjust(20_000) + ")",
    ],
)
def test_read_refuses_headers_of_arrays_in_one_line(tmp_path: Path, header: str) -> None:
    path = tmp_path / "model"
    artifact.write(path, {}, ARRAYS)
    add_array(path, header, b"")
    with pytest.raises(ArtifactError, match="model: ") as raised:
        artifact.read(path)
    assert "\n" not in str(raised.value)


def test_read_refuses_arrays_larger_than_their_entry(tmp_path: Path) -> None:
    path = tmp_path / "model"
    artifact.write(path, {}, ARRAYS)
    claim = "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }"
    add_array(path, claim, bytes(8))
    with pytest.raises(ArtifactError, match="model: not a model file, or damaged: "):
        artifact.read(path)


def test_versions_name_the_program_its_features_and_numpy() -> None:
    versions = artifact.versions()
    assert (versions["barograph"], versions["features"]) == (__version__, FEATURES_VERSION)
    assert versions["numpy"] == np.__version__
