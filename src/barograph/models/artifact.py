"""The model file: arrays and a JSON header, without pickle.

A zip file of `header.json` and one `.npy` file per array, read with `allow_pickle=False`. The
header states the use of the model, the columns that it expects, its versions, and the SHA-256 of
header and arrays.
"""

import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph import __version__
from barograph.features import FEATURES_VERSION
from barograph.runtime.errors import ArtifactError
from barograph.runtime.files import whole

FORMAT = "barograph-model"
VERSION = 1
SHORT = 16  # hexadecimal digits of a hash that identifies a model or its file
HEADER = "header.json"
MAX_BYTES = 64 << 20  # of all entries, unpacked; the built-in models have half a MiB
# The date of every zip entry, so that equal models give equal bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)

Arrays = Mapping[str, npt.NDArray[Any]]
Content = tuple[Mapping[str, Any], Arrays]  # the header and the arrays of one model
MEMBERS = "members"
PACKAGES = ("numpy", "scikit-learn")  # whose versions a header states


def write(path: str | Path, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write one model; equal headers and arrays give equal bytes.

    Raises:
        ArtifactError: It is larger than `read` accepts.
    """
    full = {"format": FORMAT, "format_version": VERSION, **header}
    full["sha256"] = seal(full, arrays)
    with whole(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, HEADER, json.dumps(full, indent=2, sort_keys=True).encode())
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), (1, 0), False)
            _add(archive, f"{name}.npy", buffer.getvalue())
        checked_names(path, archive)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of a model file.

    Raises:
        ArtifactError: The file is not a model, is damaged, or was altered.
    """
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):  # opening a pipe would block
            raise ArtifactError(f"{path}: not a regular file")
        with zipfile.ZipFile(path) as archive:
            names = checked_names(path, archive)
            header = _header(path, archive)
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(_bytes(archive, name)), allow_pickle=False
                )
                for name in names
                if name != HEADER
            }
    except FileNotFoundError as error:
        raise ArtifactError(f"{path}: no such file") from error
    except ArtifactError:
        raise
    except Exception as error:  # zipfile, zlib, JSON and NumPy raise a dozen kinds
        reason = str(error).partition("\n")[0]
        raise ArtifactError(f"{path}: not a model file, or damaged: {reason}") from error
    stated = header.pop("sha256", None)
    if seal(header, arrays) != stated:
        raise ArtifactError(f"{path}: the SHA-256 in the header does not match the contents")
    return header, arrays


def pack(members: Mapping[str, Content]) -> Content:
    """Combine several models into one header and one set of arrays, sealed together by `write`."""
    headers = {name: dict(header) for name, (header, _) in members.items()}
    parts = {name: arrays for name, (_, arrays) in members.items()}
    joined = {f"{name}/{key}": part for name in parts for key, part in parts[name].items()}
    return {MEMBERS: headers}, joined


def unpack(header: Mapping[str, Any], arrays: Arrays) -> list[Content]:
    """Return the models of a file: those that `pack` combined, or the single one."""
    if MEMBERS not in header:
        return [(header, arrays)]
    members = header[MEMBERS]
    if not isinstance(members, dict) or not all(isinstance(h, dict) for h in members.values()):
        raise ArtifactError(f"the header's {MEMBERS!r} is {members!r}; expected a header per name")
    return [
        (
            member,
            {
                key.removeprefix(f"{name}/"): array
                for key, array in arrays.items()
                if key.startswith(f"{name}/")
            },
        )
        for name, member in members.items()
    ]


def seal(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 of the header, after a round trip through JSON, and of the arrays."""
    content = json.loads(json.dumps([dict(header), digest(arrays)]))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def digest(arrays: Arrays) -> str:
    """Return the SHA-256 of the names, shapes, types and bytes of all arrays."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name}:{array.dtype.str}:{array.shape};".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def file_digest(path: Path) -> str:
    """Return a hash of the whole file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:SHORT]


def versions() -> dict[str, str]:
    """Return the versions of this program, its features, and the packages it is built on."""
    from importlib.metadata import version

    return {
        "barograph": __version__,
        "features": FEATURES_VERSION,
        **{name: version(name) for name in PACKAGES},
    }


def typed_array(
    arrays: Arrays, name: str, dtype: npt.DTypeLike, dimensions: int
) -> npt.NDArray[Any]:
    """Return an array of an artifact.

    Raises:
        ArtifactError: It is missing, or has another type or number of dimensions.
    """
    if name not in arrays:
        raise ArtifactError(f"the array {name!r} is missing; the model has {sorted(arrays)}")
    array = arrays[name]
    if array.dtype != dtype or array.ndim != dimensions:
        raise ArtifactError(
            f"array {name!r}: expected {dimensions} dimensions of {np.dtype(dtype)}, "
            f"got {array.ndim} of {array.dtype}"
        )
    return np.ascontiguousarray(array)


def finite_array(arrays: Arrays, name: str, *shape: int) -> npt.NDArray[np.float64]:
    """Return an array of finite float64 with the given shape; -1 allows any length."""
    array = typed_array(arrays, name, np.float64, len(shape))
    if any(length not in (-1, size) for length, size in zip(shape, array.shape, strict=True)):
        raise ArtifactError(f"array {name!r}: expected the shape {shape}, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ArtifactError(f"array {name!r} contains a number that is not finite")
    return array


def check_range(name: str, array: npt.NDArray[Any], high: float = 1.0) -> None:
    """Raise an ArtifactError if a number is NaN or outside 0 to `high`."""
    if not np.all((array >= 0) & (array <= high)):
        raise ArtifactError(f"array {name!r}: a number is outside 0 to {high:g}")


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def checked_names(
    place: str | Path,
    archive: zipfile.ZipFile,
    methods: Collection[int] = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
) -> list[str]:
    """Return the names of the entries, all of which can be read within the limit on memory.

    Args:
        place: Where the archive is, for error messages.
        archive: The archive.
        methods: The allowed methods of compression. Others than these two allocate what they like,
            whatever size an entry states.

    Raises:
        ArtifactError: The entries take too much memory, or are compressed in another way.
    """
    entries = archive.infolist()
    size = sum(entry.file_size for entry in entries)
    if size > MAX_BYTES:
        raise ArtifactError(f"{place}: {size:,} bytes unpacked; allowed are {MAX_BYTES:,}")
    for entry in entries:
        if entry.compress_type not in methods:
            raise ArtifactError(
                f"{place}: {entry.filename!r} is compressed by the method {entry.compress_type}; "
                f"allowed: {', '.join(map(str, methods))}"
            )
    return [entry.filename for entry in entries]


def _bytes(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an entry, and never more than the size that was checked."""
    with archive.open(name) as file:
        return file.read(archive.getinfo(name).file_size)


def _header(path: str | Path, archive: zipfile.ZipFile) -> dict[str, Any]:
    header = json.loads(_bytes(archive, HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ArtifactError(f"{path}: {HEADER} does not have the format {FORMAT!r}")
    if header.get("format_version") != VERSION:
        stated = header.get("format_version")
        raise ArtifactError(f"{path}: format version {stated!r}; this program reads {VERSION}")
    return header
