"""One file over HTTP: resumed where it broke off, and not believed before its checksum."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import TextIO

from requests import RequestException, Response, Session
from urllib3.exceptions import HTTPError

from barograph.errors import SourceError

CHUNK = 1 << 16  # what of an answer may be lost when it breaks off
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes that are here, and the bytes of the whole."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file to fetch, and what it must turn out to be."""

    name: str
    url: str
    size: int
    md5: str


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to wait for a server.

    Args:
        attempts: Tries that bring not one new byte before giving up.
        pause: Seconds before the second try, doubled before each further one.
        longest: Seconds to wait at most, whatever the server asks for.
        timeout: Seconds to wait for a connection, or for the next bytes.
        sleep: How to wait.
    """

    attempts: int = 6
    pause: float = 1.0
    longest: float = 120.0
    timeout: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def wait(self, attempt: int, asked: float | None = None) -> None:
        """Wait after the failure of this attempt, the first being 1."""
        wanted = self.pause * 2.0 ** (attempt - 1) if asked is None else asked
        self.sleep(min(max(wanted, 0.0), self.longest))


class PassingError(Exception):
    """An attempt broke off in a way that may pass."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def fetch(
    file: RemoteFile, path: Path, session: Session, patience: Patience, progress: Progress
) -> Path:
    """Download to `path`, unless it is there already.

    What has arrived waits in `path` + `.part` and is taken up again by the next call, even after
    this process was killed. Only a file of the right size and checksum gets its name.

    Raises:
        SourceError: the server does not deliver, or delivers something else.
    """
    if path.is_file() and path.stat().st_size == file.size:
        return path
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab+") as sink:
            _claim(sink, part)
            _refuse_full_disk(file, sink, path.parent)
            _complete(file, sink, session, patience, progress)
            os.fsync(sink.fileno())
            part.replace(path)
    except OSError as error:
        raise SourceError(f"{part}: {error.strerror}") from error
    return path


def _claim(sink: BufferedRandom, part: Path) -> None:
    try:
        fcntl.flock(sink, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SourceError(f"{part}: another process is downloading this file") from None


def _refuse_full_disk(file: RemoteFile, sink: BufferedRandom, folder: Path) -> None:
    free, needed = shutil.disk_usage(folder).free, file.size - sink.tell()
    if needed > free:
        raise SourceError(f"{file.name}: {needed} bytes to come, but {folder} has {free} free")


def _complete(
    file: RemoteFile, sink: BufferedRandom, session: Session, patience: Patience, progress: Progress
) -> None:
    """Fill the part file, and check it; a wrong one is fetched anew once."""
    fresh = sink.tell() == 0
    _fill(file, sink, session, patience, progress)
    if (found := _md5_of(sink)) == file.md5:
        return
    sink.truncate(0)
    if not fresh:  # perhaps only what lay here from before was wrong
        _fill(file, sink, session, patience, progress)
        if (found := _md5_of(sink)) == file.md5:
            return
        sink.truncate(0)
    raise SourceError(
        f"{file.url}: md5 of what arrived is {found}, but the record promises {file.md5}"
    )


def _md5_of(sink: BufferedRandom) -> str:
    sink.seek(0)
    digest = hashlib.file_digest(sink, lambda: hashlib.md5(usedforsecurity=False))
    return digest.hexdigest()


def _fill(
    file: RemoteFile, sink: BufferedRandom, session: Session, patience: Patience, progress: Progress
) -> None:
    """Ask again and again, from where the last answer broke off, until all bytes are here."""
    attempt = 0
    while (before := sink.seek(0, os.SEEK_END)) != file.size:
        if before > file.size:
            sink.truncate(0)
            continue
        attempt += 1
        try:
            _ask(file, sink, session, patience.timeout, progress)
            reason, wait = "the answer ended early", None
        except PassingError as error:
            reason, wait = str(error), error.wait
        here = sink.seek(0, os.SEEK_END)
        if here > before:
            attempt = 1
        if here != file.size:
            if attempt >= patience.attempts:
                raise SourceError(
                    f"{file.url}: gave up after {attempt} attempts with {here} of {file.size} "
                    f"bytes here: {reason}"
                )
            patience.wait(attempt, wait)


def _ask(
    file: RemoteFile, sink: BufferedRandom, session: Session, timeout: float, progress: Progress
) -> None:
    """One request for all that is missing, written as it arrives."""
    here = sink.tell()
    headers = {"Accept-Encoding": "identity"}
    if here:
        headers["Range"] = f"bytes={here}-"
    try:
        with session.get(file.url, headers=headers, stream=True, timeout=timeout) as response:
            _accept(response, file, sink, here)
            _pour(response, file, sink, progress)
    except (RequestException, HTTPError) as error:
        raise PassingError(f"{type(error).__name__}: {error}") from error


def _accept(response: Response, file: RemoteFile, sink: BufferedRandom, here: int) -> None:
    """Judge an answer by its status; afterwards the sink stands where its bytes belong."""
    status = response.status_code
    if status in PASSING:
        raise PassingError(f"HTTP status {status}", asked_wait(response))
    if status == 206 and here:
        start = response.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
        if start != str(here):
            sink.truncate(0)
            raise PassingError(f"asked from byte {here}, got from {start!r}", 0.0)
    elif status == 416:
        sink.truncate(0)
        raise PassingError("the server does not know the part asked for", 0.0)
    elif status == 200:
        sink.truncate(0)  # asked for the rest or not, this is all of it
    else:
        raise SourceError(f"{file.url}: HTTP status {status}, expected 200 or 206")


def asked_wait(response: Response) -> float | None:
    """The seconds that a server asks to wait, where it says so."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _pour(response: Response, file: RemoteFile, sink: BufferedRandom, progress: Progress) -> None:
    here = sink.seek(0, os.SEEK_END)
    for chunk in response.iter_content(CHUNK):
        here += len(chunk)
        if here > file.size:
            sink.truncate(0)
            raise SourceError(
                f"{file.url}: sends more than the {file.size} bytes that the record promises"
            )
        sink.write(chunk)
        sink.flush()
        progress(file.name, here, file.size)


def show_progress(stream: TextIO | None = None) -> Progress:
    """Tell of a download on stderr: ten times in all, or every half second on a terminal."""
    told: dict[str, float] = {}

    def tell(name: str, here: int, size: int) -> None:
        out = stream or sys.stderr
        live = out.isatty()
        step = time.monotonic() * 2 // 1 if live else here * 10 // size
        if told.get(name) == step and here < size:
            return
        told[name] = step
        line = f"{name}: {here / 2**20:.1f} of {size / 2**20:.1f} MiB"
        out.write(f"\r{line}" + ("\n" if here == size else "") if live else f"{line}\n")
        out.flush()

    return tell
