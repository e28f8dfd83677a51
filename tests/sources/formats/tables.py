"""Read one table of results: helpers of the table tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files
from barograph.sources.git import Repository

HEAD = "project,test,order,commit,time,value\n"


NOWHERE = Repository("/")


def read(path: Path, content: str | bytes, **options: Any) -> FilesRead:
    """Read one file; half of the rows may be unusable."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    options = {"max_skipped_share": 0.5, **options}
    return read_files([path], ReadOptions(**options), NOWHERE, RunContext())


def values(files: FilesRead) -> dict[str, list[float]]:
    return {str(series.id): series.values.tolist() for series in files.history}


def skips(files: FilesRead) -> dict[str, tuple[str, int, int]]:
    """Return the kind, the count and the first line of the skips of each reason."""
    return {
        reason: (kind, files.report.skipped[kind][reason], examples[0].place.document)
        for (kind, reason), examples in files.report.examples.items()
    }
