"""Result files of any known format as a source, for the loader of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property

import numpy as np

from barograph.errors import ConfigError
from barograph.repeats import AGGREGATES
from barograph.series import UNKNOWN_TIME
from barograph.sources.base import Document, SeriesColumns, Source
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import FilesRead, read_files
from barograph.sources.report import LoadReport, Place, Skip

GROUP = 10_000  # series in one item


class Files(Source):
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
        self._location = location
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

    @property
    def name(self) -> str:
        """The location, as given."""
        return self._location

    def read(self, max_skipped_share: float = 1.0) -> FilesRead:
        """Read the files into memory.

        Args:
            max_skipped_share: The maximum share of results that may be unusable.
        """
        options = replace(self._options, max_skipped_share=max_skipped_share)
        return read_files([self._location], options, context=RunContext())

    def time_series(self) -> Iterator[SeriesColumns | LoadReport]:
        """Stream the series as columns, after the report of what was read and skipped."""
        history = self._loaded.history
        report = deepcopy(self._loaded.report)
        report.read["candidates"] -= len(history.candidates)  # the loader counts them
        yield report
        for first in range(0, len(history), GROUP):
            last = min(first + GROUP, len(history))
            start, stop = int(history.offsets[first]), int(history.offsets[last])
            repeats = history.repeats
            yield SeriesColumns(
                file=self.name,
                first=first + 1,
                ids=list(history.ids[first:last]),
                directions=history.directions[first:last].tolist(),
                counts=np.diff(history.offsets[first : last + 1]),
                orders=history.orders[start:stop],
                times=history.times[start:stop],
                values=history.values[start:stop],
                commits=history.commits[start:stop],
                repeats=None if repeats is None else repeats.part(start, stop),
                units=history.units[first:last],
                read=0,  # the report counts them
            )

    def change_points(self) -> Iterator[Document | Skip]:
        """Stream the candidates."""
        history = self._loaded.history
        candidates = history.candidates
        for number in range(len(candidates)):
            series = history.ids[int(candidates.series[number])]
            dates = (int(candidates.calculated_on[number]), int(candidates.triaged_on[number]))
            calculated, triaged = (None if date == UNKNOWN_TIME else date for date in dates)
            info = {**series.labels, "args": dict(series.args)}
            fields = {
                "time_series_info": info,
                "order": int(candidates.orders[number]),
                "commit": candidates.commits[number] or None,
                "calculated_on": calculated,
                "algorithm": candidates.algorithms[number] or None,
                "triage": {"triage_status": str(candidates.verdict[number]), "triaged_on": triaged},
            }
            yield Document(Place(self.name, number + 1), fields)

    @cached_property
    def _loaded(self) -> FilesRead:
        return self.read()
