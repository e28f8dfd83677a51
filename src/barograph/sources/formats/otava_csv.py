"""The CSV file of a test of Otava: a table whose configuration says what its columns are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from barograph.runtime.errors import DataError
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import InputFile, Note, ResultBatch
from barograph.sources.formats.delimited import layout_of, read_delimited
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.otava_metrics import Metric, metrics_of
from barograph.sources.formats.roles import Roles, ValueColumn
from barograph.sources.formats.tables import TableReader
from barograph.sources.report import Skip

COMMITS = ("commit", "git_commit", "commit_id", "commit_hash", "git_hash", "sha", "revision")


def read(
    data: InputFile, config: Node, name: str, test: Node
) -> Iterator[ResultBatch | Note | Skip]:
    """Yield the results of one CSV file.

    Args:
        data: The CSV file.
        config: The whole configuration, for options of all CSV files.
        name: The name of the test.
        test: The test, with its templates.

    Raises:
        DataError: The file is not valid, or lacks a column.
    """
    metrics = metrics_of(test, "column")
    delimiter, quote = _dialect(config, test)
    data = replace(data, options=replace(data.options, delimiter=delimiter, quote=quote))
    fields = _fields(data.name, layout_of(data).names, metrics, test)
    chunks = read_delimited(data)
    first = next(chunks, None)
    if first is None or not metrics:
        return
    notes: list[str] = []
    values = [ValueColumn(metric.source, metric.name, metric.unit) for metric in metrics]
    reader = TableReader(data, Roles(fields, {}, values), first, notes, name)
    yield from map(Note, notes)
    scales = np.array([metric.scale for metric in metrics])
    directions = [int(metric.direction) for metric in metrics]
    for chunk in itertools.chain([first], chunks):
        yield from chunk.skips
        for item in reader.read(chunk):
            if isinstance(item, Skip):
                yield item
                continue
            with np.errstate(over="ignore"):  # an error that names the file follows
                scaled = item.values * scales[item.owners]
            yield item._replace(values=scaled, directions=directions)


def _fields(
    name: str, header: Sequence[str], metrics: Sequence[Metric], test: Node
) -> dict[str, str]:
    """Return the columns of time, commit, branch and run.

    Raises:
        DataError: The header lacks a column that the test names.
    """
    stated = [item.label() for item in test.get("attributes", []).entries()]
    needed = [metric.source for metric in metrics] + stated
    fields = {role: role for role in ("time", "branch", "run") if role in header}
    if test["time_column"].value is not None:
        fields["time"] = test["time_column"].text()
        needed.append(fields["time"])
    known = set(header)
    missing = next((title for title in needed if title not in known), None)
    if missing is not None:
        raise DataError(f"{name}: no column {missing!r} in the first line")
    commit = next((title for title in (*stated, *header) if title.lower() in COMMITS), None)
    return fields if commit is None else fields | {"commit": commit}


def _dialect(config: Node, test: Node) -> tuple[str, str]:
    """Return the delimiter and the quote character; those of all files have priority."""
    places = (config.get("csv", {}), test.get("csv_options", {}))

    def character(keys: Sequence[str], default: str) -> str:
        stated = [options[key] for options in places for key in keys if key in options]
        if not stated:
            return default
        value = stated[0].value
        if not isinstance(value, str) or len(value) != 1 or value in "\r\n\0":
            raise FieldError(stated[0].where, value, "is not a single character")
        return value

    return character(("delimiter",), ","), character(("quote_char", "quotechar"), '"')
