"""The CRC-64 of mongodump archives: ECMA-182's polynomial, reflected, all ones before and after."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barograph.compiled import kernel

Words = npt.NDArray[np.uint64]

POLYNOMIAL = 0xC96C5795D7870F42
STRIDE = 8


def _tables() -> Words:
    """Row k: what a byte contributes when k further bytes follow it in the stride."""
    rows = np.zeros((STRIDE, 256), dtype=np.uint64)
    for byte in range(256):
        word = byte
        for _ in range(8):
            word = (word >> 1) ^ (POLYNOMIAL if word & 1 else 0)
        rows[0, byte] = word
    for row in range(1, STRIDE):
        before = rows[row - 1]
        rows[row] = rows[0, before & np.uint64(255)] ^ (before >> np.uint64(8))
    return rows


TABLES = _tables()


def crc64(data: bytes, before: int = 0) -> int:
    """Return the CRC of what `before` is the CRC of, with the data behind it."""
    ones = 2**64 - 1
    state = np.uint64(before ^ ones)
    return int(updated(np.frombuffer(data, dtype=np.uint8), state)) ^ ones


@kernel
def updated(data: npt.NDArray[np.uint8], state: np.uint64) -> np.uint64:
    """Take in all bytes: eight at a time, then the rest one by one."""
    byte, bits = np.uint64(255), np.uint64(8)
    whole = data.size - data.size % STRIDE
    for at in range(0, whole, STRIDE):
        next_state = np.uint64(0)
        for place in range(STRIDE):
            one = np.uint64(data[at + place]) ^ (state & byte)
            state >>= bits
            next_state ^= TABLES[STRIDE - 1 - place, one]
        state = next_state
    for at in range(whole, data.size):
        state = TABLES[0, (state ^ np.uint64(data[at])) & byte] ^ (state >> bits)
    return state
