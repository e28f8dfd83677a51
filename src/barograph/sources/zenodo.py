"""A Zenodo record as a source: downloaded, verified, unpacked, and read as a mongodump.

pooch downloads the files of the record and verifies their checksums. It keeps finished files, so a
second run downloads only what is missing; a file whose download broke off starts again.
"""

from __future__ import annotations

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
from typing import Annotated

import msgspec
import requests

from barograph import __version__
from barograph.runtime.errors import ConfigError, DataError, SourceError
from barograph.runtime.files import whole
from barograph.sources.mongodump import MongoDump, Source, is_archive

MONGODB = 5138516  # the performance data of MongoDB: Daly et al. 2020
TIMEOUT = (5.0, 60.0)  # seconds to connect, and to wait for the next bytes
HEADERS = {"User-Agent": f"barograph/{__version__}", "Accept-Encoding": "identity"}
ARCHIVE = (shutil.ReadError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
DAMAGE = (*ARCHIVE, EOFError, RuntimeError, ValueError)


class RemoteFile(msgspec.Struct):
    """A file of a record, as Zenodo lists it; `checksum` is `ALGORITHM:HEXDIGITS`."""

    key: Annotated[str, msgspec.Meta(pattern=r"^(?!\.\.?$)[^/\\\x00-\x1f]+$")]
    checksum: Annotated[str, msgspec.Meta(pattern="^[a-z0-9]+:[0-9a-f]+$")]
    links: dict[str, str]


class Listing(msgspec.Struct):
    """The answer of Zenodo's API about a record."""

    files: list[RemoteFile]


class Zenodo(Source):
    """Downloads a record when its first document is requested, then reads the mongodump in it.

    Args:
        location: The folder that keeps the downloaded and unpacked files.
        record: The number of the record. Defaults to MongoDB's performance data.
        base: The URL of the server.
        inside: The path of the dump below the record's folder. Required if the record has several.
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
        time_series: str = "time_series",
        change_points: str | None = "change_points",
    ) -> None:
        super().__init__(time_series, change_points)
        if type(record) is not int or record < 1:
            raise ConfigError(f"record: {record!r}; expected the number of a Zenodo record")
        if not location:
            raise ConfigError("location: empty; expected a folder for the downloaded files")
        self._folder = Path(location) / f"zenodo-{record}"
        self._inside, self.name = inside, f"zenodo:{record}"
        self._url = f"{base.rstrip('/')}/api/records/{record}"

    def documents(self, collection: str) -> tuple[str, Iterator[bytes]]:
        """Return the name of a collection for messages, and its documents."""
        try:
            return MongoDump(str(self._dump)).documents(collection)
        except DataError as error:
            hint = "the option `inside` names the folder or the archive of a dump"
            raise DataError(f"{error}; {hint}") from error

    @cached_property
    def _dump(self) -> Path:
        """The folder of the unpacked files, or the only mongodump archive."""
        files = [self._fetch(file) for file in self._files()]
        archives = [path for path in files if path.is_file() and _is_dump(path)]
        if self._inside or len(archives) != 1:
            return self._folder / self._inside
        return archives[0]

    def _files(self) -> list[RemoteFile]:
        """Return the files of the record; a published record never changes its list."""
        kept = self._folder / "record.json"
        try:
            if kept.is_file():
                return msgspec.json.decode(kept.read_bytes(), type=Listing).files
            response = requests.get(self._url, headers=HEADERS, timeout=TIMEOUT)
            response.raise_for_status()
            files = msgspec.json.decode(response.content, type=Listing).files
        except requests.RequestException as error:
            raise SourceError(f"{self._url}: cannot be listed: {_reason(error)}") from error
        except (ValueError, RecursionError) as error:
            reason = f"does not list the files of a public record: {error}"
            raise SourceError(f"{self._url}: {reason}") from error
        with whole(kept) as draft:
            draft.write_bytes(response.content)
        return files

    def _fetch(self, file: RemoteFile) -> Path:
        """Return the downloaded file, or the folder that it was unpacked to."""
        import pooch  # slow to import, and rarely needed

        url = file.links.get("content") or file.links.get("self", "")
        folder = self._folder / "files"
        download = pooch.HTTPDownloader(
            progressbar=sys.stderr.isatty(), chunk_size=1 << 16, timeout=TIMEOUT, headers=HEADERS
        )
        try:
            pooch.retrieve(url, file.checksum, file.key, folder, downloader=download)
        except requests.RequestException as error:
            raise SourceError(f"{url}: cannot be downloaded: {_reason(error)}") from error
        except ValueError as error:
            reason = f"does not match the checksum {file.checksum} that the record lists"
            raise SourceError(f"{url}: the downloaded file {reason}") from error
        except OSError as error:
            raise SourceError(f"{folder / file.key}: {error.strerror or error}") from error
        return unpack(folder / file.key, self._folder / "unpacked" / file.key)


def _reason(error: requests.RequestException) -> str:
    """Describe a failed request in a few words; the library's messages span several lines."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    return f"{type(error).__name__}; is this machine online?"


def unpack(archive: Path, target: Path) -> Path:
    """Unpack a tar or a zip into the folder `target`, unless that exists.

    Returns:
        The folder, or the file itself if it is neither a tar nor a zip.

    Raises:
        DataError: A path leads out of the folder, a member is a device, or the archive is damaged.
        SourceError: The disk is full, or cannot be written to.
    """
    if target.exists():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as draft:
            folder = Path(draft, "content")
            folder.mkdir()
            if _is_tar(archive):
                shutil.unpack_archive(archive, folder, "tar", filter="data")
            elif zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as package:
                    package.extractall(folder)  # noqa: S202 - it leaves out `..`
            else:
                return archive
            folder.replace(target)
    except DAMAGE as error:
        raise DataError(f"{archive}: cannot be unpacked: {error}") from error
    except OSError as error:
        raise SourceError(f"{archive}: cannot be unpacked: {error.strerror}") from error
    return target


def _is_dump(path: Path) -> bool:
    with suppress(DataError):  # a damaged file may not matter here
        return is_archive(path)
    return False


def _is_tar(archive: Path) -> bool:
    with suppress(EOFError):  # of the header of a gzipped file
        return tarfile.is_tarfile(archive)
    return False
