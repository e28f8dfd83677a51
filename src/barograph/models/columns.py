"""Read a matrix whose columns may have names: names decide, never the order.

Data frames of pandas and Polars and tables of Arrow have names. Arrays have none, so their columns
count by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, as_floats
from barograph.runtime.errors import DataError

SHOWN = 6  # names in an error message


def select_columns(matrix: Any, columns: Sequence[str], what: str) -> Floats:
    """Return the columns of a matrix in a given order.

    Args:
        matrix: A table with exactly these columns in any order, or an array with as many columns
            in this order.
        columns: The names of the columns.
        what: What the columns are, for error messages.

    Raises:
        DataError: A column is missing, unknown or not numeric, or an array has another shape.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"after": [2.0], "before": [1.0]})
        >>> select_columns(frame, ("before", "after"), "the example")
        array([[1., 2.]])
    """
    names = column_names(matrix)
    if names is None:
        return _by_position(matrix, columns, what)
    missing = [name for name in columns if name not in names]
    unknown = [name for name in names if name not in columns]
    if missing or unknown or len(names) > len(columns):
        faults = [f"misses the columns {_shown(missing)}"] if missing else []
        faults += [f"has the unknown columns {_shown(unknown)}"] if unknown else []
        fault = " and ".join(faults) or f"has the columns {_shown(names)}"
        raise DataError(f"the matrix {fault}; {what} has {len(columns)} columns")
    parts = [as_floats(matrix[name], f"matrix[{name!r}]") for name in columns]
    return np.column_stack(parts) if parts else np.empty((len(matrix), 0))


def column_names(matrix: Any) -> list[str] | None:
    """Return the names of the columns of a table; None if they have none, as in an array."""
    names = list(getattr(matrix, "column_names", getattr(matrix, "columns", ())))
    return names if names and all(isinstance(name, str) for name in names) else None


def _shown(names: Sequence[str]) -> str:
    rest = len(names) - SHOWN
    return f"{list(names[:SHOWN])}" + (f" and {rest} more" if rest > 0 else "")


def _by_position(matrix: npt.ArrayLike, columns: Sequence[str], what: str) -> Floats:
    if isinstance(matrix, np.ma.MaskedArray):
        matrix = np.ma.filled(matrix.astype(np.float64), np.nan)
    try:
        rows = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the matrix must have a number in every cell: {error}") from error
    if rows.ndim != 2 or rows.shape[1] != len(columns):
        raise DataError(
            f"the matrix has the shape {rows.shape}; {what} needs one row per candidate and "
            f"{len(columns)} columns: {_shown(columns)}"
        )
    return rows
