"""The checksum of the archives that mongodump writes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barograph.runtime.compiled import kernel

Words = npt.NDArray[np.uint64]
POLYNOMIAL = 0xC96C5795D7870F42


def _table() -> Words:
    """Return what each byte contributes to the state."""
    words = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        words = (words >> np.uint64(1)) ^ (words & np.uint64(1)) * np.uint64(POLYNOMIAL)
    return words


TABLE = _table()


def crc64(data: bytes, before: int = 0) -> int:
    """Return the CRC-64 of mongodump archives (ECMA-182, reflected, all ones before and after).

    Args:
        data: The next bytes.
        before: The CRC of the bytes before them.
    """
    ones = 2**64 - 1
    state = np.uint64(before ^ ones)
    return int(updated(np.frombuffer(data, dtype=np.uint8), state)) ^ ones


@kernel
def updated(data: npt.NDArray[np.uint8], state: np.uint64) -> np.uint64:
    """Return the state after all bytes."""
    for byte in data:
        state = TABLE[(state ^ np.uint64(byte)) & np.uint64(255)] ^ (state >> np.uint64(8))
    return state
