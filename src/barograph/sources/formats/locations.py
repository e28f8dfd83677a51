"""From what the user typed to files: globs, folders, the standard input, gzip."""

from __future__ import annotations

import glob
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from barograph.errors import DataError
from barograph.sources.formats.base import (
    HEAD,
    EndsEarlyError,
    Format,
    InputFile,
    ReadOptions,
    Sample,
)
from barograph.sources.formats.registry import named, recognise, recognised
from barograph.sources.formats.urls import is_url, shown_url, with_json_format

STDIN = "-"
GZIP = b"\x1f\x8b"
MEBIBYTE = 1 << 20


def opened(
    locations: Sequence[str | Path], options: ReadOptions
) -> Iterator[tuple[InputFile, Format]]:
    """Open and recognise one file after the other.

    Args:
        locations: Paths, patterns such as `runs/*.json`, folders, URLs, or `-` for the standard
            input. A folder that is no format of its own stands for the files in it.
        options: The format and the limits.

    Raises:
        DataError: A file is missing, too large or of no known format.
    """
    for location in map(str, locations):
        if is_url(location):
            from barograph.sources.formats.download import download

            yield _recognised(
                shown_url(location), None, download(with_json_format(location)), options
            )
            continue
        for path in _paths(location):
            if path is None:
                yield _file(None, options)
            elif path.is_dir():
                yield from _folder(path, options)
            else:
                yield _file(path, options)


def _paths(location: str) -> list[Path | None]:
    if location == STDIN:
        return [None]
    path = Path(location)
    if path.exists() or not glob.has_magic(location):
        return [path]
    paths = [Path(name) for name in sorted(glob.glob(location, recursive=True))]  # noqa: PTH207
    if not paths:
        raise DataError(f"{location}: no file matches this pattern")
    return [*paths]


def _folder(path: Path, options: ReadOptions) -> Iterator[tuple[InputFile, Format]]:
    """Return a folder of a known format as such, or else the files in it."""
    sample = Sample(path, b"")
    form = named(options.kind) if options.kind else recognised(sample)
    if form is not None and form.matches(sample):
        yield InputFile(str(path), path, None, options), form
        return
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name[:1] != ".")
    if not files:
        raise DataError(f"{path}: the folder holds no files")
    for file in files:
        yield _file(file, options)


def _file(path: Path | None, options: ReadOptions) -> tuple[InputFile, Format]:
    name = STDIN if path is None else str(path)
    return _recognised(name, path, content_of(path, name, options.max_bytes), options)


def _recognised(
    name: str, path: Path | None, content: bytes, options: ReadOptions
) -> tuple[InputFile, Format]:
    file = InputFile(name, path, content, options)
    if options.kind:
        return file, named(options.kind)
    try:
        return file, recognise(Sample(path, content[:HEAD]), name)
    except DataError:
        _refuse_cut_off(file)
        raise


def _refuse_cut_off(file: InputFile) -> None:
    """Refuse JSON that ends before what would make its format known.

    Raises:
        EndsEarlyError: The file is such JSON.
    """
    try:
        if file.text().lstrip()[:1] in ("{", "["):
            file.json()
    except EndsEarlyError:
        raise
    except DataError:
        pass  # then the error about the unknown format says more


def content_of(path: Path | None, name: str, limit: int) -> bytes:
    """Return the bytes of a file, decompressed.

    Raises:
        DataError: The file is missing, damaged or too large.
    """
    try:
        if path is None:
            content = sys.stdin.buffer.read(limit + 1)
        else:
            with path.open("rb") as stream:
                content = stream.read(limit + 1)
    except FileNotFoundError:
        raise DataError(f"{name}: no such file") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from None
    if content[:2] == GZIP and len(content) <= limit:
        content = decompressed(content, name, limit)
    if len(content) > limit:
        raise DataError(
            f"{name}: larger than {limit // MEBIBYTE:,} MiB; --max-size MIB allows more"
        )
    return content


def decompressed(content: bytes, name: str, limit: int) -> bytes:
    """Return decompressed bytes, at most one more than the limit.

    Raises:
        DataError: The content is damaged.

    Example:
        >>> import gzip
        >>> decompressed(gzip.compress(b"value"), "results.csv.gz", 3)
        b'valu'
    """
    parts: list[bytes] = []
    left = limit + 1
    try:
        while content and left > 0:
            member = zlib.decompressobj(16 + zlib.MAX_WBITS)
            parts.append(member.decompress(content, left))
            left -= len(parts[-1])
            if left and not member.eof:
                raise DataError(f"{name}: the gzip file ends early")
            content = member.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise DataError(f"{name}: damaged gzip file: {error}") from None
    return b"".join(parts) if len(parts) != 1 else parts[0]
