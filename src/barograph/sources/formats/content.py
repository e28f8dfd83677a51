"""The bytes of a file or of the standard input: decompressed, and limited in size."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import cast

from barograph.runtime.errors import DataError
from barograph.sources.formats.base import InputFile, ReadOptions
from barograph.sources.formats.json_text import MEBIBYTE

GZIP = b"\x1f\x8b"


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
