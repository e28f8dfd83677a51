"""A cache on disk of numbers that take long to compute, so that an interrupted study can resume.

Each number is one JSON line, appended and flushed at once. A killed process loses at most the line
that it was writing; the next process drops such a torn line.
"""

import json
import os
from pathlib import Path
from typing import Self

from barograph.errors import DataError


class NumberCache:
    """Numbers by key in a file; `store` needs the cache to be entered as a context manager."""

    def __init__(self, path: Path) -> None:
        self.known: dict[str, float] = {}
        self._path = path
        for number, line in enumerate(self._complete_lines().splitlines(), start=1):
            try:
                key, value = json.loads(line)
                self.known[key] = float(value)
            except (TypeError, ValueError) as error:
                raise DataError(
                    f"{path}, line {number}: {line[:60]!r} is not a key and a number; "
                    "delete the file to restart the study"
                ) from error

    def _complete_lines(self) -> bytes:
        """Return the content without a torn last line."""
        content = self._path.read_bytes() if self._path.exists() else b""
        return content[: content.rfind(b"\n") + 1]

    def store(self, key: str, value: float) -> None:
        """Store a number and append it to the file."""
        self.known[key] = value
        self._file.write(json.dumps([key, value]).encode() + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        """Open the file after its last complete line."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        size = len(self._complete_lines())
        self._file = self._path.open("ab")
        self._file.truncate(size)
        return self

    def __exit__(self, *error: object) -> None:
        """Sync the file to disk and close it."""
        os.fsync(self._file.fileno())
        self._file.close()
