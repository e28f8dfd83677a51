"""The column `results` of the loader's points: the value of each run by its name, as JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa

from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.tabular.convert import Faults, texts
from barograph.sources.tabular.reading import TableRows


def ignored(array: pa.Array, field: str) -> tuple[pa.Array, Faults]:  # noqa: ARG001 - a converter
    """Convert every cell to null: the loader computes the column again."""
    return pa.nulls(len(array)), {}


def run_results(array: pa.Array, field: str) -> tuple[pa.Array, Faults]:
    """Convert to the text of a JSON object of finite numbers; empty cells become null."""
    found, faults = texts(array, field)
    for row, text in enumerate(found.to_pylist()):
        if text is not None and not _is_valid(text):
            faults[row] = FieldError(field, text, "not a JSON object of the value of each run")
    return found, faults


def _is_valid(text: str) -> bool:
    try:
        found = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(found, dict)
        and bool(found)
        and all(type(value) is float and math.isfinite(value) for value in found.values())
    )


def one_row_per_run(rows: TableRows | Skip) -> TableRows | Skip:
    """Replace each row with several results by a row for each of them."""
    if isinstance(rows, Skip) or "results" not in rows.columns:
        return rows
    columns = {
        name: column
        for name, column in rows.columns.items()
        if name not in ("runs", "spread", "results")
    }
    found = [
        None if text is None else json.loads(text) for text in rows.columns["results"].to_pylist()
    ]
    if not any(found):
        return TableRows(columns, rows.numbers)
    own = columns["value"].to_pylist()
    names = columns["run"].to_pylist() if "run" in columns else [None] * len(own)
    counts = [1 if runs is None else len(runs) for runs in found]
    place = np.repeat(np.arange(len(found)), counts)
    columns = {name: column.take(pa.array(place)) for name, column in columns.items()}
    pairs = [
        pair
        for runs, name, value in zip(found, names, own, strict=True)
        for pair in ([(name, value)] if runs is None else runs.items())
    ]
    # The first run without a name is "" among the names of several.
    columns["run"] = pa.array([name or None for name, _ in pairs], pa.string())
    columns["value"] = pa.array([float(value) for _, value in pairs], pa.float64())
    return TableRows(columns, rows.numbers[place])
