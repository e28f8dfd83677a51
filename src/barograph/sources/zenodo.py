"""A Zenodo record as a source: downloaded, verified, unpacked, and read as a mongodump.

pooch downloads the files of the record and verifies their checksums. It keeps finished files, so a
second run downloads only what is missing; a file whose download broke off starts again. The
standard library unpacks archives, but does not bound how much a hostile archive writes: that limit
is here.
"""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import requests

from barograph import __version__
from barograph.runtime.errors import ConfigError, DataError, SourceError
from barograph.runtime.files import whole
from barograph.sources.documents import DocumentSource
from barograph.sources.mongodump import MongoDump, is_archive

MONGODB = 5138516  # the performance data of MongoDB: Daly et al. 2020
MAX_BYTES = 64 << 30
TIMEOUT = (5.0, 60.0)  # seconds to connect, and to wait for the next bytes
HEADERS = {"User-Agent": f"barograph/{__version__}", "Accept-Encoding": "identity"}


class Zenodo(DocumentSource):
    """Downloads a record when its first document is requested, then reads the mongodump in it.

    Args:
        location: The folder that keeps the downloaded and unpacked files.
        record: The number of the record. Defaults to MongoDB's performance data.
        base: The URL of the server.
        inside: The path of the dump below the record's folder. Required if the record has several.
        max_bytes: The maximum size of the download, and of what each archive unpacks to.
        time_series: The name of the collection of series.
        change_points: The name of the collection of change points, or None if there is none.
    """

    def __init__(
        self,
        location: str,
        *,
        record: int = MONGODB,
        base: str = "https://zenodo.org",
        inside: str = "",
        max_bytes: int = MAX_BYTES,
        time_series: str = "time_series",
        change_points: str | None = "change_points",
    ) -> None:
        if type(record) is not int or record < 1:
            raise ConfigError(f"record: {record!r}; expected the number of a Zenodo record")
        if not location:
            raise ConfigError("location: empty; expected a folder for the downloaded files")
        self._folder = Path(location) / f"zenodo-{record}"
        self._record, self._inside, self._max_bytes = record, inside, max_bytes
        self._url = f"{base.rstrip('/')}/api/records/{record}"
        super().__init__(time_series, change_points)

    @property
    def name(self) -> str:
        """The record, wherever its files are kept."""
        return f"zenodo:{self._record}"

    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents."""
        return self._dump.documents(collection)

    @cached_property
    def _dump(self) -> MongoDump:
        path = self._find_dump([self._fetch(file) for file in self._files()])
        return MongoDump(str(path))

    def _files(self) -> list[RemoteFile]:
        """Return the files of the record; a published record never changes its list."""
        kept = self._folder / "record.json"
        if kept.is_file():
            return list_files(kept.read_bytes(), self._url, self._max_bytes)
        try:
            response = requests.get(self._url, headers=HEADERS, timeout=TIMEOUT)
            response.raise_for_status()
        except requests.RequestException as error:
            raise SourceError(f"{self._url}: cannot be listed: {_reason(error)}") from error
        files = list_files(response.content, self._url, self._max_bytes)
        with whole(kept) as draft:
            draft.write_bytes(response.content)
        return files

    def _fetch(self, file: RemoteFile) -> Path:
        """Return the downloaded file, or the folder that it was unpacked to."""
        import pooch  # slow to import, and rarely needed

        folder = self._folder / "files"
        download = pooch.HTTPDownloader(
            progressbar=sys.stderr.isatty(), chunk_size=1 << 16, timeout=TIMEOUT, headers=HEADERS
        )
        try:
            pooch.retrieve(file.url, file.checksum, file.name, folder, downloader=download)
        except requests.RequestException as error:
            raise SourceError(f"{file.url}: cannot be downloaded: {_reason(error)}") from error
        except ValueError as error:
            raise SourceError(
                f"{file.url}: the downloaded file does not match the checksum {file.checksum} "
                "that the record lists"
            ) from error
        except OSError as error:
            raise SourceError(f"{folder / file.name}: {error.strerror or error}") from error
        return unpack(folder / file.name, self._folder / "unpacked" / file.name, self._max_bytes)

    def _find_dump(self, places: list[Path]) -> Path:
        if self._inside:
            path = self._folder / self._inside
            if not path.exists():
                raise ConfigError(f"inside: {path} does not exist; found {self._contents()}")
            return path
        dumps = sorted(path for place in places for path in find_dumps(place, self._time_series))
        if not dumps:
            raise DataError(f"{self._folder}: no mongodump in the record; found {self._contents()}")
        if len(dumps) > 1:
            names = [str(path.relative_to(self._folder)) for path in dumps]
            raise ConfigError(f"{self._folder}: several mongodumps; set `inside` to one of {names}")
        return dumps[0]

    def _contents(self) -> str:
        paths = (path for path in sorted(self._folder.rglob("*")) if path.is_file())
        names = [str(path.relative_to(self._folder)) for path in paths]
        return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


class RemoteFile(NamedTuple):
    """A file to download; `checksum` is `ALGORITHM:HEXDIGITS`."""

    name: str
    url: str
    size: int
    checksum: str


def list_files(answer: bytes, url: str, max_bytes: int) -> list[RemoteFile]:
    """Read the files of a record from the answer of Zenodo's API; trust none of its fields."""
    try:
        files = [
            RemoteFile(
                entry["key"],
                entry["links"].get("content") or entry["links"]["self"],
                entry["size"],
                entry["checksum"],
            )
            for entry in json.loads(answer)["files"]
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{url}: does not list the files of a public record") from error
    for file in files:
        types = [type(field) for field in file]
        if types != [str, str, int, str] or ":" not in file.checksum or file.size < 0:
            raise SourceError(f"{url}: lists an unusable file: {file}")
        if (
            Path("x", file.name).name != file.name
            or file.name == ".."
            or not file.name.isprintable()
        ):
            raise SourceError(f"{url}: lists {file.name!r}, which is not a plain file name")
    if not files or len({file.name.casefold() for file in files}) < len(files):
        raise SourceError(f"{url}: lists no files, or two of the same name")
    total = sum(file.size for file in files)
    if total > max_bytes:
        raise SourceError(f"{url}: {total} bytes to download; at most {max_bytes} are allowed")
    return files


def _reason(error: requests.RequestException) -> str:
    """Describe a failed request in a few words; the library's messages span several lines."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, requests.Timeout):
        return "the server does not respond"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, requests.ConnectionError):
        return "cannot connect; is this machine online?"
    return f"{type(error).__name__}: {error}"


def unpack(archive: Path, target: Path, max_bytes: int) -> Path:
    """Unpack a tar or a zip into the folder `target`, unless that exists.

    Returns:
        The folder, or the file itself if it is neither a tar nor a zip.

    Raises:
        DataError: A path leads out of the folder, a member is a link or a device, the content is
            larger than `max_bytes`, or the archive is damaged.
        SourceError: The disk is full, or cannot be written to.
    """
    if target.exists():
        return target
    damage = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as draft:
            folder = Path(draft, "content").resolve()
            folder.mkdir()
            if not (_untar(archive, folder, max_bytes) or _unzip(archive, folder, max_bytes)):
                return archive
            folder.replace(target)
    except DataError:
        raise
    except damage as error:
        raise DataError(f"{archive}: cannot be unpacked: {error}") from error
    except OSError as error:
        if not target.is_dir():  # else another process was faster
            raise SourceError(f"{archive}: cannot be unpacked: {error.strerror}") from error
    return target


def _untar(archive: Path, folder: Path, max_bytes: int) -> bool:
    """Unpack a tar, compressed or not; return False if the file is not a tar."""
    try:
        # As a stream, so that no header can send tarfile backwards.
        package = tarfile.open(archive, "r|*")  # noqa: SIM115 (closed below)
    except (tarfile.TarError, EOFError, TypeError):  # the last for a gzip header that is cut off
        return False
    total = 0
    with package:
        for member in package:
            if not (member.isreg() or member.isdir()) or member.issparse() or member.size < 0:
                raise DataError(f"{archive}: {member.name!r} is a link, a device or a sparse file")
            total += member.size
            _check_size(archive, total, max_bytes)
            place = _place(archive, folder, member.name)
            if member.isdir():
                place.mkdir(parents=True, exist_ok=True)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            # Not `extract`: its filter for foreign archives is missing in the Python of Debian 12.
            content = package.extractfile(member)
            assert content is not None  # noqa: S101 - it is a regular file
            with place.open("wb") as file:
                shutil.copyfileobj(content, file)
    return True


def _unzip(archive: Path, folder: Path, max_bytes: int) -> bool:
    """Unpack a zip; return False if the file is not a zip."""
    if not zipfile.is_zipfile(archive):
        return False
    with zipfile.ZipFile(archive) as package:
        members = package.infolist()
        # zipfile never writes more than the declared size of a member.
        _check_size(archive, sum(member.file_size for member in members), max_bytes)
        for member in members:
            _place(archive, folder, member.filename)
            package.extract(member, folder)
    return True


def _place(archive: Path, folder: Path, name: str) -> Path:
    """Return where a member belongs."""
    place = (folder / name).resolve()
    if not place.is_relative_to(folder):
        raise DataError(f"{archive}: {name!r} leads out of the archive's folder")
    return place


def _check_size(archive: Path, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise DataError(f"{archive}: unpacks to more than the allowed {max_bytes} bytes")


def find_dumps(place: Path, collection: str) -> set[Path]:
    """Find the folders that hold a dump of this collection, and single-file mongodump archives."""
    dumps = set()
    for path in [place] if place.is_file() else place.rglob("*"):
        if path.name in (f"{collection}.bson", f"{collection}.bson.gz"):
            dumps.add(path.parent)
        elif path.is_file():
            with suppress(DataError):  # a damaged file may not matter here
                if is_archive(path):
                    dumps.add(path)
    return dumps
