"""Result files of any known format: read into memory, or written as the three tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from barograph.errors import ConfigError
from barograph.repeats import AGGREGATES
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files
from barograph.sources.report import KINDS, LoadReport


class Files:
    """A file, a folder or a pattern such as `runs/*.json`, read as one history.

    Args:
        location: The path, the pattern or a URL.
        form: The name of the format; by default it is recognised by the content.
        delimiter: Delimiter of tables; by default it is detected.
        aggregate: How the runs of a commit become one value: `median` or `mean`.
        mapping: The field of columns of tables, such as `{"name": "test"}`.
        value_columns: The columns of tables that hold values.
        order_by: The column of tables that orders their rows.
        base_branch: The branch whose results are read.
        project: The project of results that name none.
        machine: The variant of results that name none.
        metrics: Patterns of the measurements to read.
    """

    def __init__(
        self,
        location: str,
        *,
        form: str = "",
        delimiter: str = "",
        aggregate: str = "median",
        mapping: Mapping[str, str] | None = None,
        value_columns: Sequence[str] = (),
        order_by: str = "",
        base_branch: str = "",
        project: str = "",
        machine: str = "",
        metrics: Sequence[str] = (),
    ) -> None:
        if len(delimiter) > 1 or not delimiter.isascii():
            raise ConfigError(f"delimiter: {delimiter!r}; allowed: one ASCII character")
        if aggregate not in AGGREGATES:
            raise ConfigError(f"aggregate: {aggregate!r}; allowed: {', '.join(AGGREGATES)}")
        self.name = location
        self._options = ReadOptions(
            kind=form,
            mapping=dict(mapping or {}),
            value_columns=tuple(value_columns),
            order_by=order_by,
            delimiter=delimiter,
            aggregate=aggregate,
            project=project,
            machine=machine,
            base_branch=base_branch,
            metrics=tuple(metrics),
        )

    def read(self, max_skipped_share: float = 1.0) -> FilesRead:
        """Read the files into memory.

        Args:
            max_skipped_share: The maximum share of results that may be unusable.
        """
        options = replace(self._options, max_skipped_share=max_skipped_share)
        return read_files([self.name], options, context=RunContext())

    def write(self, folder: str | Path, max_skipped_share: float) -> LoadReport:
        """Write the three tables, all or none; return what was read and skipped.

        Args:
            folder: The folder for the tables.
            max_skipped_share: The maximum share of the series, of the points and of the candidates
                that may be skipped.
        """
        files = self.read()
        history, report = files.history, files.report
        report.read["series"] += len(history)
        sizes = len(history), history.values.size, len(history.candidates)
        report.kept = Counter(dict(zip(KINDS, sizes, strict=True)))
        report.labels = Counter(history.candidates.verdict.tolist())
        report.verdicts = report.labels.copy()
        report.check_shares(KINDS, max_skipped_share)
        history.write(folder)
        return report
