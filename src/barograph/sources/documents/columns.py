"""From raw documents to what the loader takes: columns where all is sound, mappings otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import bson
import numpy as np
import pyarrow as pa
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError

from barograph.series import SeriesId
from barograph.sources.contract import Document, Place, SeriesColumns, Skip
from barograph.sources.documents.frames import Frames
from barograph.sources.documents.scan import Scanned, scan
from barograph.sources.fields import FieldError, args_of

# Times that Python's datetime cannot hold must not stop the rest of their document.
OPTIONS: CodecOptions[Mapping[str, Any]] = CodecOptions(
    datetime_conversion=DatetimeConversion.DATETIME_AUTO
)


def decode(data: bytes, place: Place) -> Document | Skip:
    """Decode one document; one whose inside is damaged is skipped."""
    try:
        return Document(place, bson.decode(data, OPTIONS))
    except (BSONError, ValueError, OverflowError, RecursionError) as error:
        return Skip(place, "(document)", str(error), "damaged BSON")


def decoded(frames: Frames, name: str) -> Iterator[Document | Skip]:
    """Decode a batch, document by document."""
    return (_decoded(frames, number, name) for number in range(len(frames.starts) - 1))


def _decoded(frames: Frames, number: int, name: str) -> Document | Skip:
    data = frames.data[frames.starts[number] : frames.starts[number + 1]]
    return decode(data, Place(name, frames.first + number))


def columns(frames: Frames, name: str) -> Iterator[SeriesColumns | Document | Skip]:
    """Stream a batch of time series: sound ones together as columns, others one by one."""
    scanned = scan(frames)
    ids = [_identity(frames.data, scanned, n) for n in range(scanned.counts.size)]
    sound = np.array([identity is not None for identity in ids], dtype=bool)
    counts = np.maximum(scanned.counts, 0)
    ends = np.concatenate([[0], np.cumsum(counts)])
    commits = _texts(scanned)
    # Where a run of sound or of other documents begins, and the end of the last one.
    borders = np.flatnonzero(np.diff(sound, prepend=~sound[:1], append=~sound[-1:]))
    for start, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        if not sound[start]:
            yield from (_decoded(frames, number, name) for number in range(start, stop))
            continue
        points = slice(ends[start], ends[stop])
        yield SeriesColumns(
            file=name,
            first=frames.first + start,
            ids=[identity for identity in ids[start:stop] if identity is not None],
            directions=[0] * (stop - start),
            counts=counts[start:stop],
            orders=scanned.orders[points],
            times=scanned.times[points],
            values=scanned.values[points],
            commits=commits[points],
        )


def _identity(data: bytes, scanned: Scanned, number: int) -> SeriesId | None:
    """The identity of a document that the scan took, if it has a sound one."""
    if scanned.counts[number] < 0:
        return None
    *named, (start, stop) = scanned.spans[number].tolist()
    parts = [data[first:last].decode("ascii") if first >= 0 else "" for first, last in named]
    try:
        args = _args(data[start:stop]) if start >= 0 else ()
    except (BSONError, ValueError, OverflowError, RecursionError, FieldError):
        return None
    project, variant, task, test, measurement = parts
    if not any(parts):
        return None
    return SeriesId(project, variant, task, test, measurement, args)


def _args(data: bytes) -> tuple[tuple[str, str], ...]:
    # What is remembered must be small, whatever a document brings.
    return _short_args(data) if len(data) <= 1024 else args_of(bson.decode(data, OPTIONS))


@lru_cache(maxsize=4096)
def _short_args(data: bytes) -> tuple[tuple[str, str], ...]:
    """The arguments; few different ones come up again and again."""
    return args_of(bson.decode(data, OPTIONS))


def _texts(scanned: Scanned) -> pa.Array:
    """The commits as an Arrow array over the bytes that the scan copied."""
    buffers = pa.py_buffer(scanned.commit_ends), pa.py_buffer(scanned.commit_bytes)
    return pa.StringArray.from_buffers(scanned.commit_ends.size - 1, *buffers)
