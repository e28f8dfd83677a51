"""Take the columns out of raw time series documents without making an object for each point.

The kernel steps through the elements of each document (bsonspec.org, version 1.1), keeps what the
tables need and steps over the rest by its length. It takes only what is exactly as it should be;
a document with anything else is left to the general reader, which says what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.compiled import kernel
from barograph.series import LABELS, Floats, Ints
from barograph.sources.documents.frames import Frames
from barograph.sources.fields import TIME_RANGE

Bytes = npt.NDArray[np.uint8]

DOUBLE, TEXT, DOCUMENT, ARRAY, BINARY, DATETIME, INT32, INT64 = 1, 2, 3, 4, 5, 9, 16, 18
CODE, SYMBOL, CODE_WITH_SCOPE = 13, 14, 15

# The size of each type's value; -1 where it starts with a length, -2 where it is left alone.
SIZES = np.full(256, -2, dtype=np.int64)
for _kind, _size in {1: 8, 6: 0, 7: 12, 8: 1, 9: 8, 10: 0, 16: 4, 17: 8, 18: 8, 19: 16}.items():
    SIZES[_kind] = _size
SIZES[[TEXT, DOCUMENT, ARRAY, BINARY, CODE, SYMBOL, CODE_WITH_SCOPE]] = -1


def _table(names: tuple[str, ...]) -> Bytes:
    """Names as rows of bytes, each with its length in front."""
    rows = np.zeros((len(names), 1 + max(map(len, names))), dtype=np.uint8)
    for row, name in zip(rows, names, strict=True):
        row[0] = len(name)
        row[1 : 1 + len(name)] = np.frombuffer(name.encode(), dtype=np.uint8)
    return rows


PARTS = (*LABELS, "args")  # what a document's spans are of
SERIES_NAMES = _table((*PARTS, "data", "direction"))
ARGS, DATA = 5, 6
POINT_NAMES = _table(("order", "value", "commit", "commit_date"))
ORDER, VALUE, COMMIT, COMMIT_DATE = 0, 1, 2, 3
COMPLETE = 15  # one bit for each of the four
SMALLEST_POINT = 60  # bytes with all four fields; bounds how many points some bytes can hold
FIRST_TIME, LAST_TIME = TIME_RANGE
SMALLEST_ORDER = np.iinfo(np.int64).min  # stands for no order, and is none


class Points(NamedTuple):
    """The columns that the kernel fills."""

    orders: Ints
    times: Ints
    bits: Ints  # of the values
    reals: Floats  # the same memory as `bits`
    ends: npt.NDArray[np.int32]  # of the commits in `text`, with a 0 in front, as Arrow has it
    text: Bytes


@dataclass(frozen=True)
class Scanned:
    """What a batch of documents holds; `counts` is -1 where the general reader must look."""

    counts: Ints
    spans: Ints  # for each document, where each of `PARTS` starts and ends; -1 where missing
    orders: Ints
    times: Ints
    values: Floats
    commit_ends: npt.NDArray[np.int32]
    commit_bytes: Bytes


def scan(frames: Frames) -> Scanned:
    """Scan a batch of whole documents; points of documents left alone take no room."""
    data = np.frombuffer(frames.data, dtype=np.uint8)
    starts = np.array(frames.starts, dtype=np.int64)
    room = data.size // SMALLEST_POINT + 1
    counts = np.empty(starts.size - 1, dtype=np.int64)
    spans = np.full((starts.size - 1, len(PARTS), 2), -1, dtype=np.int64)
    orders, times, bits = np.empty((3, room), dtype=np.int64)
    ends = np.zeros(room + 1, dtype=np.int32)
    text = np.empty(data.size, dtype=np.uint8)
    points = Points(orders, times, bits, bits.view(np.float64), ends, text)
    size = scan_documents(data, starts, counts, spans, points)
    return Scanned(
        counts,
        spans,
        orders[:size].copy(),
        times[:size].copy(),
        bits[:size].view(np.float64).copy(),
        ends[: size + 1].copy(),
        text[: ends[size]].copy(),
    )


@kernel
def scan_documents(data: Bytes, starts: Ints, counts: Ints, spans: Ints, points: Points) -> int:
    """Fill the columns; return how many points there are."""
    size = 0
    for number in range(starts.size - 1):
        array = scan_fields(data, starts[number], starts[number + 1], spans[number])
        counts[number] = scan_points(data, array, size, points) if array > 0 else -1
        size += max(counts[number], 0)
    return size


@kernel
def scan_fields(data: Bytes, start: int, stop: int, spans: Ints) -> int:
    """Find the identity's parts; return where the array of points starts, or -1."""
    at, last, array = start + 4, stop - 1, -1
    while at < last:
        kind, name = data[at], at + 1
        value = text_end(data, name, last) + 1
        after = value_end(data, kind, value, last)
        if value == 0 or after < 0:
            return -1
        which = name_index(data, name, value - 1 - name, SERIES_NAMES)
        if 0 <= which < ARGS:
            if kind != TEXT or not is_ascii(data, value + 4, after - 1):
                return -1
            spans[which, 0], spans[which, 1] = value + 4, after - 1
        elif which == ARGS:
            if kind != DOCUMENT:
                return -1
            spans[which, 0], spans[which, 1] = value, after
        elif which == DATA:
            if kind != ARRAY:
                return -1
            array = value
        elif which > DATA:
            return -1
        at = after
    return array


@kernel
def scan_points(data: Bytes, start: int, size: int, points: Points) -> int:
    """Append the points of one array; return how many, or -1 where one is not sound."""
    at, last, row = start + 4, start + length_at(data, start) - 1, size
    while at < last:
        value = text_end(data, at + 1, last) + 1
        if data[at] != DOCUMENT or value == 0 or row == points.orders.size:
            return -1
        after = value_end(data, data[at], value, last)
        if after < 0 or not scan_point(data, value, after, row, points):
            return -1
        if row > size and points.orders[row] <= points.orders[row - 1]:
            return -1
        row += 1
        at = after
    return row - size if row > size else -1


@kernel
def scan_point(data: Bytes, start: int, stop: int, row: int, points: Points) -> bool:
    """Read one point into its row; whether all four fields are there and sound."""
    at, last, found = start + 4, stop - 1, 0
    while at < last:
        name = at + 1
        value = text_end(data, name, last) + 1
        after = value_end(data, data[at], value, last)
        if value == 0 or after < 0:
            return False
        which = name_index(data, name, value - 1 - name, POINT_NAMES)
        if which >= 0:
            if not take(data, which, data[at], value, after, row, points):
                return False
            found |= 1 << which
        at = after
    return found == COMPLETE


@kernel
def take(
    data: Bytes, which: int, kind: int, start: int, stop: int, row: int, points: Points
) -> bool:
    """Take one of the four fields into its column; whether it is sound."""
    whole = kind in (INT32, INT64)
    if which == ORDER and whole:
        points.orders[row] = integer_at(data, start, stop - start)
        return bool(points.orders[row] > SMALLEST_ORDER)
    if which == VALUE and whole:
        points.reals[row] = float(integer_at(data, start, stop - start))
        return True
    if which == VALUE and kind == DOUBLE:
        points.bits[row] = integer_at(data, start, 8)
        return bool((points.bits[row] >> 52) & 0x7FF != 0x7FF)  # neither infinite nor not a number
    if which == COMMIT_DATE and kind == DATETIME:
        points.times[row] = integer_at(data, start, 8)
        return bool(FIRST_TIME <= points.times[row] <= LAST_TIME)
    if which == COMMIT and kind == TEXT:
        points.ends[row + 1] = copied(data, start + 4, stop - 1, points.text, points.ends[row])
        return bool(points.ends[row + 1] > points.ends[row])
    return False


@kernel
def text_end(data: Bytes, at: int, last: int) -> int:
    """Where the zero behind a name stands, or -1 where there is none before `last`."""
    while at < last:
        if data[at] == 0:
            return at
        at += 1
    return -1


@kernel
def value_end(data: Bytes, kind: int, at: int, last: int) -> int:
    """Where a value ends; -1 where it would pass `last`, or is of a type left alone."""
    size = SIZES[kind]
    if size == -2 or at + max(size, 4 if size < 0 else 0) > last:
        return -1
    if size >= 0:
        return int(at + size)
    length = length_at(data, at)
    if kind == BINARY:
        return at + 5 + length if 0 <= length <= last - at - 5 else -1
    # A text's length counts its final zero, a document's all of it.
    size = length if kind in (DOCUMENT, ARRAY, CODE_WITH_SCOPE) else 4 + length
    if size < 5 or size > last - at or data[at + size - 1] != 0:
        return -1
    return at + size


@kernel
def length_at(data: Bytes, at: int) -> int:
    """The signed little-endian integer of 32 bits at a place."""
    number = np.int32(0)
    for place in range(4):
        number |= np.int32(data[at + place]) << np.int32(8 * place)
    return int(number)


@kernel
def integer_at(data: Bytes, at: int, size: int) -> int:
    """The signed little-endian integer of 4 or 8 bytes at a place."""
    if size == 4:
        return length_at(data, at)
    number = np.int64(0)
    for place in range(8):
        number |= np.int64(data[at + place]) << np.int64(8 * place)
    return int(number)


@kernel
def name_index(data: Bytes, at: int, length: int, names: Bytes) -> int:
    """The row of a table of names that stands at a place, or -1."""
    for row in range(names.shape[0]):
        if names[row, 0] == length:
            place = 0
            while place < length and data[at + place] == names[row, 1 + place]:
                place += 1
            if place == length:
                return row
    return -1


@kernel
def is_ascii(data: Bytes, start: int, stop: int) -> bool:
    """Whether a text needs no decoding."""
    highest = np.uint8(0)
    for place in range(start, stop):
        highest |= data[place]
    return bool(highest < 128)


@kernel
def copied(data: Bytes, start: int, stop: int, text: Bytes, to: int) -> int:
    """Copy a text; return where its copy ends, or -1 where it is not ASCII."""
    highest = np.uint8(0)
    for place in range(stop - start):
        byte = data[start + place]
        text[to + place] = byte
        highest |= byte
    return to + stop - start if highest < 128 else -1
