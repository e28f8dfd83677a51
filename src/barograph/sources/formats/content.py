"""The bytes of files, of the standard input and of web servers: decompressed, limited in size.

Credentials of a URL go to its host only, and neither they nor queries appear in messages.
"""

from __future__ import annotations

import base64
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from barograph.runtime.errors import DataError, SourceError
from barograph.sources.formats.base import InputFile, ReadOptions
from barograph.sources.formats.json_text import MEBIBYTE

GZIP = b"\x1f\x8b"
TIMEOUT = 30.0  # seconds without an answer
LIMIT = 256 * MEBIBYTE  # of an answer


def content_of(path: Path | None, name: str, options: ReadOptions) -> bytes:
    """Return the bytes of a file, or of the standard input without a path, decompressed.

    Raises:
        DataError: The file is missing or damaged, or too large.
    """
    limit, buffer = options.max_bytes, io.BytesIO()  # joined blocks would need the memory twice
    try:
        if path is None and sys.stdin is None:
            raise DataError(f"{name}: the standard input is closed")
        with path.open("rb") if path else nullcontext(_stdin()) as stream:
            is_packed = stream.peek(2)[:2] == GZIP
            source: io.BufferedIOBase = gzip.GzipFile(fileobj=stream) if is_packed else stream
            while buffer.tell() <= limit and (block := source.read(MEBIBYTE)):
                buffer.write(block)
    except FileNotFoundError:
        raise DataError(f"{name}: no such file") from None
    except EOFError:
        raise DataError(f"{name}: the gzip file ends early") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name}: damaged gzip file: {error}") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from None
    if buffer.tell() > limit:
        raise DataError(
            f"{name}: larger than {limit // MEBIBYTE:,} MiB; "
            "`max-size` in [input] of barograph.toml allows more"
        )
    return buffer.getvalue()


def _stdin() -> io.BufferedReader:
    """Return the standard input, which stays open."""
    return cast("io.BufferedReader", sys.stdin.buffer)


def is_url(location: str) -> bool:
    """Whether a location is a URL that `download` reads.

    Example:
        >>> is_url("https://graphite.example/render?target=a.b"), is_url("results.csv")
        (True, False)
    """
    return location.lower().startswith(("http://", "https://"))


def inner_file(file: InputFile, path: Path, name: str) -> InputFile:
    """Return a file that a folder holds or another file names, within the same limits.

    Args:
        file: The folder, or the other file.
        path: The path.
        name: What messages call it.

    Raises:
        DataError: It is missing, damaged or too large.
    """
    return InputFile(name, path, content_of(path, name, file.options), file.options)


def inner_files(file: InputFile, limit: int | None = None) -> Iterator[InputFile]:
    """Yield the JSON files in a folder: its own by name, then those in folders inside it.

    Args:
        file: The folder. Files are named by their path from it.
        limit: How many files to yield, without those that cannot be read; None for all.

    Raises:
        DataError: A file cannot be read, or is too large, and there is no limit.
    """
    folder = file.path or Path()
    for path in islice(_json_files(folder), limit):
        try:
            yield inner_file(file, path, f"{file.name}/{path.relative_to(folder).as_posix()}")
        except DataError:
            if limit is None:
                raise


def _json_files(folder: Path, depth: int = 6) -> Iterator[Path]:
    """Yield the JSON files in a folder and in `depth` levels inside it, but not behind links."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    yield from (entry for entry in entries if entry.suffix == ".json" and entry.is_file())
    for entry in entries if depth else ():
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            yield from _json_files(entry, depth - 1)


def shown_url(url: str) -> str:
    """Return a URL as messages may show it: without credentials and query.

    Example:
        >>> shown_url("https://me:secret@graphite.example:8080/render?target=a&token=1")
        'https://graphite.example:8080/render'
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host = f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return "URL"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def with_json_format(url: str) -> str:
    """Return the URL of a Graphite render query so that the server answers in JSON.

    Other URLs stay as they are.

    Example:
        >>> with_json_format("http://graphite.example/render?target=a.b&format=png")
        'http://graphite.example/render?target=a.b&format=json'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if not parts.path.rstrip("/").endswith("/render"):
        return url
    query = [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if k != "format"]
    encoded = urlencode([*query, ("format", "json")], safe="*{},()", quote_via=quote)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, encoded, ""))


def project_of_url(url: str) -> str:
    """Return the project that the address of a repository names, without the host.

    Example:
        >>> project_of_url("https://github.com/acme/parser.git")
        'acme/parser'
    """
    path = re.sub(r"^(?:[a-z+]+://)?(?:[^/@]*@)?[^/:]+[:/](?:\d+/)?", "", url.strip())
    return path.removesuffix("/").removesuffix(".git") or url.strip()


def download(url: str) -> bytes:
    """Return the body of the answer to a GET request.

    Args:
        url: A URL of http or https; may hold a user and a password.

    Raises:
        SourceError: The server cannot be reached, answers with an error, or sends more than
            `LIMIT` bytes.
    """
    import http.client
    import urllib.error
    import urllib.request  # importing it takes 0.1 s

    shown = shown_url(url)
    try:
        parts = urlsplit(url)
        _user, sign, host = parts.netloc.rpartition("@")
        bare = urlunsplit((parts.scheme, host, parts.path, parts.query, ""))
        request = urllib.request.Request(bare, headers={"User-Agent": "barograph"})  # noqa: S310
        if sign:
            pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
            token = base64.b64encode(pair.encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {token}")
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
            content: bytes = response.read(LIMIT + 1)
        if len(content) > LIMIT:
            raise SourceError(f"{shown}: more than {LIMIT // MEBIBYTE} MiB")
        return content
    except urllib.error.HTTPError as error:
        error.close()
        raise SourceError(f"{shown}: the server answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise SourceError(f"{shown}: cannot be reached: {error.reason}") from None
    except TimeoutError:
        raise SourceError(f"{shown}: no answer within {TIMEOUT:g} s") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        kind = type(error).__name__  # the text may hold the URL with its credentials
        raise SourceError(f"{shown}: cannot be read ({kind})") from None
