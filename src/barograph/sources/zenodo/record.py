"""A record of Zenodo: its files downloaded, checked, unpacked, and the mongodump in them found.

The record's page for programs, `/api/records/ID`, lists `files` with `key`, `size`, `checksum`
(`md5:...`) and `links` (`content`, or `self` where there is no `content`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests

from barograph import __version__
from barograph.errors import ConfigError, DataError, SourceError
from barograph.files import whole
from barograph.sources.mongodump.archive import is_archive
from barograph.sources.zenodo.download import (
    PASSING,
    Patience,
    Progress,
    RemoteFile,
    asked_wait,
    fetch,
    show_progress,
)
from barograph.sources.zenodo.unpack import Limits, kind_of, safe_path, unpack

MONGODB = 5138516  # the raw MongoDB set: Daly et al. 2020
ANNOTATED = 18889836  # SAP HANA, MongoDB and Graal histories with people's marks
LONGEST_ANSWER = 8 << 20


@dataclass(frozen=True)
class Record:
    """Where a record is, and where its files are kept.

    Args:
        number: The record's number.
        cache: The folder in which downloads and what they unpack to stay.
        base: The server.
        inside: The path of the dump below the record's folder, needed where there are several.
        limits: How much a download, and each archive in it, may come to.
        patience: How to wait for the server.
        progress: Told of every piece that arrives; by default a line on stderr.
    """

    number: int
    cache: Path
    base: str = "https://zenodo.org"
    inside: str = ""
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    progress: Progress = field(default_factory=show_progress)

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ConfigError(f"record: {self.number}, but a record's number is 1 or more")
        if urlsplit(self.base).scheme not in ("http", "https"):
            raise ConfigError(f"base: {self.base!r}, but only http and https are allowed")

    @property
    def folder(self) -> Path:
        """Everything of this record."""
        return self.cache / f"zenodo-{self.number}"

    def obtain(self, collection: str = "time_series") -> Path:
        """The folder or file of the mongodump with this collection, fetched if it is not here."""
        with requests.Session() as session:
            session.headers["User-Agent"] = f"barograph/{__version__}"
            session.max_redirects = 5
            places = [self._fetched(file, session) for file in self.files(session)]
        return self._dump(places, collection)

    def _fetched(self, file: RemoteFile, session: requests.Session) -> Path:
        """A file, or the folder of what was packed in it."""
        path = safe_path(self.folder / "files", file.name, self._url)
        fetch(file, path, session, self.patience, self.progress)
        if kind_of(path) is None:
            return path
        target = safe_path(self.folder / "unpacked", file.name, self._url)
        return unpack(path, target, self.limits)

    @property
    def _url(self) -> str:
        return f"{self.base.rstrip('/')}/api/records/{self.number}"

    def files(self, session: requests.Session) -> list[RemoteFile]:
        """The record's files; the list is kept, for a published record never changes its files."""
        kept = self.folder / "record.json"
        if kept.is_file():
            return self._listed(kept.read_bytes())
        answer = self._answer(session)
        files = self._listed(answer)
        with whole(kept) as draft:
            draft.write_bytes(answer)
        return files

    def _answer(self, session: requests.Session) -> bytes:
        for attempt in range(1, self.patience.attempts + 1):
            try:
                with session.get(
                    self._url,
                    headers={"Accept": "application/json"},
                    stream=True,
                    timeout=self.patience.timeout,
                ) as response:
                    if response.status_code == 200:
                        return self._body(response)
                    reason, wait = f"HTTP status {response.status_code}", asked_wait(response)
                    if response.status_code not in PASSING:
                        break
            except requests.RequestException as error:
                reason, wait = f"{type(error).__name__}: {error}", None
            if attempt < self.patience.attempts:
                self.patience.wait(attempt, wait)
        raise SourceError(f"{self._url}: cannot list the record's files: {reason}")

    def _body(self, response: requests.Response) -> bytes:
        body = b""
        for chunk in response.iter_content(1 << 16):
            body += chunk
            if len(body) > LONGEST_ANSWER:
                raise SourceError(f"{self._url}: answers with more than {LONGEST_ANSWER} bytes")
        return body

    def _listed(self, answer: bytes) -> list[RemoteFile]:
        try:
            record = json.loads(answer)
        except (ValueError, RecursionError):
            start = answer[:60].decode("utf-8", "replace")
            raise SourceError(f"{self._url}: not JSON, but {start!r}") from None
        listed = record.get("files") if isinstance(record, dict) else None
        if not isinstance(listed, list) or not listed:
            raise SourceError(
                f"{self._url}: lists no files: is the record restricted, or withdrawn?"
            )
        files = [self._file(number, entry) for number, entry in enumerate(listed)]
        names = [file.name.casefold() for file in files]
        if len(set(names)) < len(names):
            raise SourceError(f"{self._url}: lists two files of one name")
        total = sum(file.size for file in files)
        if total > self.limits.total:
            raise SourceError(
                f"{self._url}: {total} bytes to download, allowed are {self.limits.total}"
            )
        return files

    def _file(self, number: int, entry: object) -> RemoteFile:
        """One entry of the list, believed in nothing."""
        where = f"{self._url}: files[{number}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("links"), dict):
            raise SourceError(f"{where}: expected an object with key, size, checksum and links")
        key, size, checksum = entry.get("key"), entry.get("size"), entry.get("checksum")
        link = entry["links"].get("content") or entry["links"].get("self")
        if not isinstance(key, str) or not key:
            raise SourceError(f"{where}: key is {key!r}, expected a file's name")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise SourceError(f"{where}: size is {size!r}, expected bytes")
        if not isinstance(checksum, str) or not re.fullmatch("md5:[0-9a-fA-F]{32}", checksum):
            raise SourceError(f"{where}: checksum is {checksum!r}, expected md5:...")
        url = urljoin(f"{self._url}/", link) if isinstance(link, str) else ""
        secure = urlsplit(self.base).scheme == "https"
        if urlsplit(url).scheme not in (("https",) if secure else ("http", "https")):
            raise SourceError(f"{where}: link is {link!r}, expected an address like the record's")
        return RemoteFile(key, url, size, checksum.removeprefix("md5:").lower())

    def _dump(self, places: list[Path], collection: str) -> Path:
        """The one mongodump among the files."""
        if self.inside:
            path = safe_path(self.folder, self.inside, "inside")
            if not path.exists():
                raise ConfigError(f"inside: {path} does not exist; there are {self._contents()}")
            return path
        found = sorted(path for place in places for path in find_dumps(place, collection))
        if len(found) == 1:
            return found[0]
        if found:
            names = [str(path.relative_to(self.folder)) for path in found]
            raise ConfigError(f"{self.folder}: several mongodumps: set `inside` to one of {names}")
        raise DataError(f"{self.folder}: no mongodump in the record; it holds {self._contents()}")

    def _contents(self) -> list[str]:
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        names = [str(path.relative_to(self.folder)) for path in files]
        return names if len(names) <= 12 else [*names[:12], f"and {len(names) - 12} more"]


def find_dumps(place: Path, collection: str) -> set[Path]:
    """Folders with this collection dumped, and single-file archives of mongodump."""
    found = set()
    for path in [place] if place.is_file() else place.rglob("*"):
        if path.is_file():
            if path.name in (f"{collection}.bson", f"{collection}.bson.gz"):
                found.add(path.parent)
            elif _is_archive(path):
                found.add(path)
    return found


def _is_archive(path: Path) -> bool:
    try:
        return is_archive(path)
    except DataError:  # a damaged file is no dump; whether it matters is not known here
        return False
