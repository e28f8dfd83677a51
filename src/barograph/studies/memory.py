"""Numbers that took long to compute, on disk as soon as they are known.

One JSON line per number, appended and handed to the system at once: a process that is killed at
any moment loses at most the line that it was writing, and the next one goes on from there.
"""

import json
import os
from pathlib import Path
from typing import Self

from barograph.errors import DataError


class Memory:
    """What is known so far, by key; numbers are written down while it is entered."""

    def __init__(self, path: Path) -> None:
        self.known: dict[str, float] = {}
        self._path = path
        for number, line in enumerate(self._whole().splitlines(), start=1):
            try:
                key, value = json.loads(line)
                self.known[key] = float(value)
            except (TypeError, ValueError) as error:
                raise DataError(
                    f"{path}, line {number}: {line[:60]!r} is not a key and a number; "
                    "without the file the study starts anew"
                ) from error

    def _whole(self) -> bytes:
        """Return what was written, without a torn last line."""
        content = self._path.read_bytes() if self._path.exists() else b""
        return content[: content.rfind(b"\n") + 1]

    def remember(self, key: str, value: float) -> None:
        """Write one number down."""
        self.known[key] = value
        self._file.write(json.dumps([key, value]).encode() + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        """Open the file behind its last whole line."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        size = len(self._whole())
        self._file = self._path.open("ab")
        self._file.truncate(size)
        return self

    def __exit__(self, *error: object) -> None:
        """Put what was written on the disk, and close."""
        os.fsync(self._file.fileno())
        self._file.close()
