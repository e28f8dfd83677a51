"""Numbers that took long to compute, on disk as soon as they are known.

One JSON line per number, appended and handed to the system at once: a process that is killed at
any moment loses at most the line that it was writing, and the next one goes on from there.
"""

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class Memory:
    """What is known so far, by key; numbers are written down while it is entered."""

    def __init__(self, path: Path) -> None:
        self.known: dict[str, float] = {}
        self._path = path
        for line in self._whole().splitlines():
            key, value = json.loads(line)
            self.known[key] = value

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put what was written on the disk, and close."""
        os.fsync(self._file.fileno())
        self._file.close()
