"""The model file: arrays and a JSON header, without pickle.

A zip file of `header.json` and one `.npy` file per array, read with `allow_pickle=False`. The
header states the use of the model, the columns that it expects, its versions, and the SHA-256 of
header and arrays.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph import __version__
from barograph.features import FEATURE_SETS, FEATURES_VERSION
from barograph.runtime.errors import ArtifactError

FORMAT = "barograph-model"
VERSION = 1
SHORT = 16  # hexadecimal digits of a hash that identifies a model or its file
HEADER = "header.json"
NEVER = float(np.nextafter(1.0, 2.0))  # the threshold above every probability
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
    entries = {HEADER: json.dumps(full, indent=2, sort_keys=True).encode()}
    for name in sorted(arrays):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), (1, 0), False)
        entries[f"{name}.npy"] = buffer.getvalue()
    from barograph.runtime.files import whole

    with whole(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
        check_size(path, archive)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of a model file.

    Raises:
        ArtifactError: The file is not a model, is damaged, or was altered.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            check_size(path, archive)
            entries = {name: _bytes(archive, name) for name in archive.namelist()}
        header = _checked_header(path, json.loads(entries.pop(HEADER)))
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(content), allow_pickle=False)
            for name, content in entries.items()
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
    members: dict[str, dict[str, npt.NDArray[Any]]] = {name: {} for name in header[MEMBERS]}
    for key, array in arrays.items():
        name, _, part = key.partition("/")
        members[name][part] = array
    return [(header[MEMBERS][name], parts) for name, parts in members.items()]


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

    known = {"barograph": __version__, "features": FEATURES_VERSION}
    return known | {name: version(name) for name in PACKAGES}


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


def check_range(name: str, array: npt.NDArray[Any]) -> None:
    """Raise an ArtifactError if a number is NaN or outside 0 to 1."""
    if not np.all((array >= 0) & (array <= 1)):
        raise ArtifactError(f"array {name!r}: a number is outside 0 to 1")


def check_size(place: str | Path, archive: zipfile.ZipFile) -> None:
    """Raise an ArtifactError if the entries of an archive take too much memory."""
    size = sum(entry.file_size for entry in archive.infolist())
    if size > MAX_BYTES:
        raise ArtifactError(f"{place}: {size:,} bytes unpacked; allowed are {MAX_BYTES:,}")


def _bytes(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an entry, and never more than the size that was checked."""
    with archive.open(name) as file:
        return file.read(archive.getinfo(name).file_size)


def _checked_header(path: str | Path, header: Any) -> dict[str, Any]:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ArtifactError(f"{path}: {HEADER} does not have the format {FORMAT!r}")
    if header.get("format_version") != VERSION:
        stated = header.get("format_version")
        raise ArtifactError(f"{path}: format version {stated!r}; this program reads {VERSION}")
    return header


def read_inputs(
    header: Mapping[str, Any], uses: Collection[str]
) -> tuple[str, str, tuple[str, ...], float]:
    """Return use, feature set, columns and threshold, if this program knows them.

    Args:
        header: The header of a model.
        uses: The allowed uses.

    Raises:
        ArtifactError: An entry is missing or invalid, or made for another version.
    """
    try:
        use, feature_set = str(header["use"]), str(header["feature_set"])
        columns = tuple(map(str, header["columns"]))
        threshold = float(header["threshold"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"missing or invalid in the header: {error}") from error
    if use not in uses:
        raise ArtifactError(f"unknown use {use!r}; known uses: {uses}")
    if feature_set not in FEATURE_SETS:
        raise ArtifactError(
            f"unknown feature set {feature_set!r:.60}; this program has {list(FEATURE_SETS)}"
        )
    version = header.get("versions", {}).get("features", FEATURES_VERSION)
    if version != FEATURES_VERSION or columns != FEATURE_SETS[feature_set]:
        raise ArtifactError(
            f"made for other columns of the feature set {feature_set!r}, version {version!r} of "
            f"the features; this program has version {FEATURES_VERSION!r}: train the model again"
        )
    if not 0 <= threshold <= NEVER:
        raise ArtifactError(f"the threshold must be from 0 to 1, not {threshold}")
    return use, feature_set, columns, threshold
