"""The rows of a text, and the lines by which messages name them."""

from __future__ import annotations

import csv
import io

import pytest

from barograph.sources.formats.base import InputFile
from barograph.sources.formats.rows import TableRows, read_delimited

ROWS = {
    "plain": "a,1\nb,2\n",
    "no last line end": "a,1\nb,2",
    "carriage returns": "a,1\r\nb,2\r\n",
    "old line ends": "a,1\rb,2\r",
    "spaces before cells": "a, 1\n b,2\n",
    "spaces within cells": "a b,1 \nc d,2 \n",
    "empty lines": "a,1\n\nb,2\n\n",
    "empty first line": "\na,1\n",
    "empty cells": ",\n,2\n",
    "too few cells": "a\nb,2\n",
    "as many cells in all": "a\nb,2,3\n",
    "quotes": '"a\nb",1\nc,2\n',
}


def table_of(content: str) -> TableRows:
    return read_delimited(InputFile("t", None, content.encode()))


def cells_of(content: str) -> list[tuple[str, ...]]:
    return list(zip(*table_of(content).cells.values(), strict=True))


@pytest.mark.parametrize("shape", ROWS)
def test_cells_are_those_of_the_csv_module(shape: str) -> None:
    stream = io.StringIO(ROWS[shape], newline="")
    rows = csv.reader(stream, skipinitialspace=True, strict=True)
    assert cells_of(f"x,y\n{ROWS[shape]}") == [tuple(row) for row in rows if len(row) == 2]


@pytest.mark.parametrize("rows", ["1\n2\n", "1\n\n2\n", "\n1\n2"])
def test_empty_lines_are_no_rows_of_a_single_column(rows: str) -> None:
    assert cells_of(f"x\n{rows}") == [("1",), ("2",)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_after_a_cell_of_several_lines_keep_their_numbers(end: str) -> None:
    table = table_of(end.join(["", "x,y", '"1', '1",2', '"', "", '",4', "5", '"6",7', ""]))
    assert table.rows == [3, 5, 9]
    assert [str(skip.place) for skip in table.skips] == ["t: line 8"]


def test_rows_after_lines_without_cells_keep_their_numbers() -> None:
    assert table_of("x,y\n1,2\n\n3\n4,5\n").rows == [2, 5]


@pytest.mark.parametrize("content", ['x,y\n1,2\n# moved\n"3",4\n', "x\n1\n# moved\n3\n"])
def test_comments_between_rows_are_no_rows(content: str) -> None:
    table = table_of(content)
    assert (table.rows, table.skips, table.cells["x"]) == ([2, 4], [], ("1", "3"))


def test_rows_may_begin_like_comments() -> None:
    """Names and numbers such as "#12" in the first column are no comments."""
    assert table_of("build,y\n#1,2\n#2,3\n").cells["build"] == ("#1", "#2")
