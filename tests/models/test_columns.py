"""Matrices with named columns are read by name, all others by position."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from barograph.models.columns import select_columns
from barograph.runtime.errors import DataError

NAMES = ("before", "after")
TABLE = {"after": [2.0, 4.0], "before": [1.0, 3.0]}
EXPECTED = [[1.0, 2.0], [3.0, 4.0]]


def select(matrix: object) -> list[list[float]]:
    rows: list[list[float]] = select_columns(matrix, NAMES, "the set").tolist()
    return rows


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(TABLE),
        pa.table(TABLE),
        pa.record_batch(TABLE),
    ],
    ids=["pandas", "arrow", "batch"],
)
def test_tables_are_read_by_name(table: object) -> None:
    assert select(table) == EXPECTED


@pytest.mark.parametrize("matrix", [EXPECTED, np.array(EXPECTED), pd.DataFrame(EXPECTED)])
def test_matrices_without_names_are_read_by_position(matrix: object) -> None:
    assert select(matrix) == EXPECTED


def test_what_is_masked_or_missing_is_nan() -> None:
    masked: object = np.ma.array(EXPECTED, mask=[[False, True], [False, False]])
    for matrix in (masked, [[1.0, None], [3.0, 4.0]]):
        assert np.isnan(select(matrix)).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"after": [1.0]}), r"misses the columns \['before'\]; the set has 2 columns"),
        (pd.DataFrame({**TABLE, "id": 1}), r"has the unknown columns \['id'\]"),
        (pd.DataFrame(np.zeros((1, 9)), columns=list("abcdefghi")), r"'f'\] and 3 more; the set"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["after", "after", "before"]),
            r"has the columns \['after', 'after', 'before'\]; the set has 2 columns",
        ),
        (pd.DataFrame({**TABLE, "after": ["x", "y"]}), r"matrix\['after'\]\[0\] is 'x'"),
        (pd.DataFrame(np.zeros((1, 3))), r"has the shape \(1, 3\); the set needs"),
        (3.0, r"has the shape \(\); the set needs"),
        ([[1.0], [2.0, 3.0]], "must have a number in every cell: "),
        ([["a", "b"]], "must have a number in every cell: "),
    ],
)
def test_wrong_tables_are_refused_by_name(table: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        select(table)
