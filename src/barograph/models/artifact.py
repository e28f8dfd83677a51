"""The safe artifact: arrays and a JSON header in one file, and nothing that runs on loading.

A zip of `header.json` and one `.npy` per array, read with `allow_pickle=False`. The header says
what the model is for, what it expects, where it comes from, and the SHA-256 over all of it.
"""

import hashlib
import io
import json
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError
from barograph.files import whole

FORMAT = "barograph-model"
VERSION = 1
SHORT = 16  # hexadecimal digits that name a model or its file
HEADER = "header.json"
MAX_BYTES = 1 << 31
# A zip entry carries a date; a fixed one keeps equal models equal to the byte.
EPOCH = (1980, 1, 1, 0, 0, 0)

# What zipfile raises on bytes that are no zip, or no longer one.
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, RuntimeError)

Arrays = Mapping[str, npt.NDArray[Any]]
Content = tuple[Mapping[str, Any], Arrays]  # the header and the arrays of one model
MEMBERS = "members"


def write(path: str | Path, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write one model; equal headers and arrays give equal bytes."""
    full = {"format": FORMAT, "format_version": VERSION, **header}
    full["sha256"] = seal(full, arrays)
    with whole(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, HEADER, json.dumps(full, indent=2, sort_keys=True).encode())
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), (1, 0), False)
            _add(archive, f"{name}.npy", buffer.getvalue())


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read a model back; anything that is not exactly what `write` makes is refused."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):  # to open a pipe would wait for a writer
            raise ArtifactError(f"{path}: not a regular file")
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > MAX_BYTES:
                raise ArtifactError(f"{path}: unpacks to {size} bytes, allowed are {MAX_BYTES}")
            header = _header(path, archive)
            names = [name for name in archive.namelist() if name != HEADER]
            arrays = {name.removesuffix(".npy"): _array(path, archive, name) for name in names}
    except FileNotFoundError as error:
        raise ArtifactError(f"{path}: no such model") from error
    except DAMAGE as error:
        raise ArtifactError(f"{path}: not a model file, or a damaged one: {error}") from error
    stated = header.pop("sha256", None)
    if seal(header, arrays) != stated:
        raise ArtifactError(f"{path}: header and arrays do not match the SHA-256 stated there")
    return header, arrays


def pack(members: Mapping[str, Content]) -> Content:
    """Combine several models into one header and one set of arrays, sealed together by `write`."""
    header = {MEMBERS: {name: dict(own) for name, (own, _) in members.items()}}
    arrays = {
        f"{name}/{key}": array for name, (_, own) in members.items() for key, array in own.items()
    }
    return header, arrays


def unpack(header: Mapping[str, Any], arrays: Arrays) -> list[Content]:
    """Return the models of a file: those that `pack` combined, or the single one."""
    if MEMBERS not in header:
        return [(header, arrays)]
    members = header[MEMBERS]
    if not isinstance(members, dict) or not all(isinstance(own, dict) for own in members.values()):
        raise ArtifactError(f"the header's {MEMBERS!r} is {members!r}; expected a header per name")
    return [
        (
            own,
            {
                key.removeprefix(f"{name}/"): array
                for key, array in arrays.items()
                if key.startswith(f"{name}/")
            },
        )
        for name, own in members.items()
    ]


def seal(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 over the header, as JSON gives it back, and the digest of the arrays."""
    told = json.loads(json.dumps([dict(header), digest(arrays)]))
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def digest(arrays: Arrays) -> str:
    """Return the SHA-256 over the names, shapes, types and bytes of all arrays."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name}:{array.dtype.str}:{array.shape};".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def file_digest(path: Path) -> str:
    """Return what tells the file of one model, header and all, from every other."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:SHORT]


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _header(path: str | Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        header = json.loads(archive.read(HEADER))
    except (KeyError, ValueError) as error:
        raise ArtifactError(f"{path}: has no readable {HEADER}: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ArtifactError(f"{path}: {HEADER} does not say format {FORMAT!r}")
    if header.get("format_version") != VERSION:
        found = header.get("format_version")
        raise ArtifactError(f"{path}: format version {found!r}; this program reads {VERSION}")
    return header


def _array(path: str | Path, archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.lib.format.read_array(
            io.BytesIO(archive.read(name)), allow_pickle=False
        )
    except (ValueError, zipfile.BadZipFile) as error:
        raise ArtifactError(f"{path}: {name} is not a plain array: {error}") from error
    return array
