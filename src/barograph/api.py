"""The short way in: `detect` for one series, `read` for files and databases."""

from __future__ import annotations

import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import numpy.typing as npt

from barograph.detection import Triaged
from barograph.models.columns import column_names
from barograph.results.history import History
from barograph.results.series import LABELS, ChangePoint, Floats, as_floats
from barograph.runtime.errors import ConfigError, DataError

VALUE, ORDER = "value", "order"


def detect(values: Any) -> list[ChangePoint]:
    """Find the change points of one series with the default method, `Triaged()`.

    Args:
        values: The results, oldest first: a list, an array, a Series, or a data frame with a
            column `value`.

    Returns:
        The change points by index. Each has `index` (0-based, the first point of the new level),
        `probability` (how likely a person would call it real), `is_new` (whether so few points
        follow that the next ones may move or withdraw it), and the regions `before` and `after`
        with their mean, median, variance and `level`: the median of the at most 30 points nearest
        to the change.

    Raises:
        DataError: There are no values, or one of them is not a finite number.

    Example:
        >>> [point] = detect([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20)
        >>> point.index, point.before.level, point.after.level
        (60, 10.0, 12.0)
        >>> point.probability > 0.9
        True
    """
    return Triaged().detect(as_values(values))


def read(
    location: str | Path, kind: str = "files", *, max_skipped_share: float = 0.05, **options: Any
) -> History:
    r"""Read a file, a folder of tables, a dump or a database into memory.

    Warns if results were skipped as unusable.

    Args:
        location: A path, or the name of a database, as the kind defines it.
        kind: `files` for result files of any known format, `mongodump`, `mongodb` or `zenodo`.
        max_skipped_share: The maximum share of the results that may be skipped.
        **options: Options of the kind, such as `delimiter` for `files`.

    Returns:
        The history; iterate over it, or index it by number, for the series.

    Raises:
        DataError: The input is damaged, has no series, or too much of it is unusable.
        SourceError: The source cannot be reached.
        ConfigError: There is no such kind or option.

    Example:
        >>> rows = ["order,value", *(f"{order},{10 + order % 3}" for order in range(30))]
        >>> size = Path("results.csv").write_text("\n".join(rows))
        >>> history = read("results.csv")
        >>> [(str(series.id), len(series)) for series in history]
        [('results', 30)]
    """
    if not isinstance(location, str | PathLike):
        raise ConfigError(f"location is {location!r}: give a path, or the name of a database")
    from barograph.sources import open_source
    from barograph.sources.loader import Files
    from barograph.sources.report import KINDS

    source = open_source(kind, str(location), **options)
    if isinstance(source, Files):
        collected = source.read(max_skipped_share)
        history, report = collected.history, collected.report
    else:
        from barograph.sources import read_source

        history, report = read_source(source, max_skipped_share=max_skipped_share)
    for name in KINDS:
        if share := report.skipped_share(name):
            count = round(share * report.read[name])
            warnings.warn(
                f"{source.name}: skipped {count:,} of {report.read[name]:,} {name}: "
                f"{report.first_skip(name)}",
                stacklevel=2,
            )
    return history


def as_values(values: Any) -> Floats:
    """Return the values of one series as an array.

    Args:
        values: A list, an array, a Series, or a data frame with a column `value`.

    Raises:
        DataError: The values are empty, or not one-dimensional, or one is not a number; a data
            frame has no column `value`, is not sorted by its column `order`, or has several
            series.
    """
    if isinstance(values, History):
        raise DataError(f"values is a history of {len(values)} series; pass one, such as values[0]")
    name = "values"
    columns = column_names(values) if getattr(values, "ndim", 2) == 2 else None
    if columns is not None:
        values, name = _value_column(values, columns), f"values[{VALUE!r}]"
    numbers = as_floats(values, name)
    if numbers.size == 0:
        raise DataError(f"{name} is empty; there must be at least one value")
    return numbers


def _value_column(frame: Any, columns: list[str]) -> npt.ArrayLike:
    """Return the column `value` of a data frame that holds one series in order."""
    if VALUE not in columns:
        raise DataError(f"values has no column {VALUE!r}; its columns are {columns}")
    naming = [c for c in columns if c in (*LABELS, "args") or str(c).startswith("args.")]
    several = [column for column in naming if len({str(cell) for cell in frame[column]}) > 1]
    if several:
        raise DataError(
            f"values holds several series, by the columns {several}; read them with "
            "History.from_frame, or pass one"
        )
    if ORDER in columns:
        orders = as_floats(frame[ORDER], f"values[{ORDER!r}]")
        falls = (~(orders[1:] > orders[:-1])).nonzero()[0]  # NaN does not rise
        if falls.size:
            row = int(falls[0]) + 1
            raise DataError(
                f"values[{ORDER!r}] must rise from row to row, but is {orders[row]:g} after "
                f"{orders[row - 1]:g} at row {row}; sort the rows, or use History.from_frame"
            )
    column: npt.ArrayLike = frame[VALUE]
    return column
