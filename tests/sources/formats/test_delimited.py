"""Text without quotes is cut as a whole, with the same result as by the csv module."""

from __future__ import annotations

import csv
import io
from itertools import chain

import pytest

from barograph.sources.formats import delimited
from barograph.sources.formats.base import InputFile

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


def cells_of(content: str) -> list[tuple[str, ...]]:
    chunks = delimited.read_delimited(InputFile("t", None, content.encode()))
    return list(chain.from_iterable(zip(*chunk.cells.values(), strict=True) for chunk in chunks))


@pytest.mark.parametrize("part", [1, 1 << 22])
@pytest.mark.parametrize("shape", ROWS)
def test_cells_are_those_of_the_csv_module(
    monkeypatch: pytest.MonkeyPatch, shape: str, part: int
) -> None:
    monkeypatch.setattr(delimited, "PART", part)
    stream = io.StringIO(ROWS[shape], newline="")
    rows = csv.reader(stream, skipinitialspace=True, strict=True)
    assert cells_of(f"x,y\n{ROWS[shape]}") == [tuple(row) for row in rows if len(row) == 2]


@pytest.mark.parametrize("rows", ["1\n2\n", "1\n\n2\n", "\n1\n2"])
def test_empty_lines_are_no_rows_of_a_single_column(rows: str) -> None:
    assert cells_of(f"x\n{rows}") == [("1",), ("2",)]


def test_rows_keep_their_numbers_after_a_part_with_other_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delimited, "PART", 1)
    chunks = delimited.read_delimited(InputFile("t", None, b"x,y\n1,2\n\n3\n4,5\n"))
    assert [row for chunk in chunks for row in chunk.rows] == [0, 3]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_after_a_cell_of_several_lines_keep_their_numbers(
    monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(delimited, "CHUNK", 2)
    content = end.join(["", "x,y", '"1', '1",2', '"', "", '",4', "5", '"6",7', ""])
    chunks = list(delimited.read_delimited(InputFile("t", None, content.encode())))
    lines = [row + chunk.lines for chunk in chunks for row in chunk.rows]
    assert lines == [3, 5, 9]
    [skip] = [skip for chunk in chunks for skip in chunk.skips]
    assert str(skip.place) == "t: line 8"


def test_comments_between_rows_are_no_rows() -> None:
    chunks = delimited.read_delimited(InputFile("t", None, b'x,y\n1,2\n# moved\n"3",4\n'))
    assert [(list(chunk.rows), chunk.skips) for chunk in chunks] == [([0, 2], [])]


def test_comments_in_a_single_column_are_no_rows() -> None:
    chunks = list(delimited.read_delimited(InputFile("t", None, b"x\n1\n# moved\n3\n")))
    cells = [(list(chunk.rows), list(chunk.cells["x"]), chunk.skips) for chunk in chunks]
    assert cells == [([0, 2], ["1", "3"], [])]


def test_rows_may_begin_like_comments() -> None:
    """Names and numbers such as "#12" in the first column are no comments."""
    chunks = delimited.read_delimited(InputFile("t", None, b"build,y\n#1,2\n#2,3\n"))
    assert [list(chunk.cells["build"]) for chunk in chunks] == [["#1", "#2"]]
