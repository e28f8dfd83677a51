"""From what the user typed to files: globs, folders, the standard input, gzip."""

from __future__ import annotations

import glob
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from barograph.errors import DataError
from barograph.sources.formats.base import (
    HEAD,
    UTF_16,
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
BLOCK = MEBIBYTE  # read at once; no limit is smaller, so a line that is too long has no end in one
PACKED = 1 << 16  # compressed bytes read at once; each member copies the rest of them
LINE_ENDS = (b"\n", b"\r")
JSON_LINES = (".ndjson", ".jsonl")
JSON_SPACE = b"\xef\xbb\xbf \t\r\n"


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
    return _recognised(name, path, content_of(path, name, options), options)


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


def content_of(path: Path | None, name: str, options: ReadOptions) -> bytes:
    """Return the bytes of a file, decompressed.

    Raises:
        DataError: The file is missing or damaged, or it or one of its lines is too large.
    """
    try:
        if path is None:
            return _bounded(sys.stdin.buffer, name, options)
        with path.open("rb") as stream:
            return _bounded(stream, name, options)
    except FileNotFoundError:
        raise DataError(f"{name}: no such file") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from None


def _bounded(stream: IO[bytes], name: str, options: ReadOptions) -> bytes:
    """Return the decompressed bytes of a stream; the limits are checked block by block."""
    content = io.BytesIO()  # it grows in place: joined blocks would need the memory twice
    open_line = 0  # bytes since the last line end
    has_lines = False
    for block in _blocks(stream, name, options.max_bytes):
        if not content.tell():
            has_lines = _has_lines(name, block)
        content.write(block)
        if content.tell() > options.max_bytes:
            raise _too_large(name, options.max_bytes)
        if not has_lines:
            continue
        ends = [end for end in map(block.find, LINE_ENDS) if end >= 0]
        if open_line + min(ends, default=len(block)) > options.max_line:
            raise DataError(
                f"{name}: a line is longer than {options.max_line // MEBIBYTE:,} MiB; "
                "--max-line MIB allows more"
            )
        last = max(map(block.rfind, LINE_ENDS))
        open_line = len(block) - last - 1 if ends else open_line + len(block)
    return content.getvalue()


def _has_lines(name: str, head: bytes) -> bool:
    """Whether a file has lines of limited length: text that is not one JSON document."""
    is_json = head.lstrip(JSON_SPACE)[:1] in (b"{", b"[")
    is_text = b"\0" not in head or head[:2] in UTF_16
    return is_text and (not is_json or name.lower().removesuffix(".gz").endswith(JSON_LINES))


def _blocks(stream: IO[bytes], name: str, limit: int) -> Iterator[bytes]:
    """Yield the blocks of a file, decompressed.

    Raises:
        DataError: The compressed file is damaged or too large.
    """
    head = stream.read(PACKED)
    if head[:2] != GZIP:
        yield head
        yield from iter(lambda: stream.read(BLOCK), b"")
        return
    read, data = len(head), head
    member = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        while data:
            if block := member.decompress(data, BLOCK):
                yield block
            data = member.unconsumed_tail
            if member.eof:
                data = member.unused_data.lstrip(b"\0")
            if not data:
                data = stream.read(PACKED)
                read += len(data)
                data = data.lstrip(b"\0") if member.eof else data
            if read > limit:
                raise _too_large(name, limit)
            if member.eof and data:
                member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        if not member.eof:
            raise DataError(f"{name}: the gzip file ends early")
    except zlib.error as error:
        raise DataError(f"{name}: damaged gzip file: {error}") from None


def _too_large(name: str, limit: int) -> DataError:
    return DataError(f"{name}: larger than {limit // MEBIBYTE:,} MiB; --max-size MIB allows more")
