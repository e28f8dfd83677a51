"""Shapes of tables that are not read give an error with row and value, never a wrong number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barograph.results.fields import FieldError
from barograph.runtime.errors import DataError
from barograph.sources.formats.cells import NOT_PLAIN, measured
from tests.sources.formats.tables import read, values

PLAIN = "value is not a plain number: write it without separators, multiple and spread"


@pytest.mark.parametrize(
    "cell",
    [
        "1,204", "1,5", "12,34,567", "1,234,567.5", "1'234.5", "1 204", "1\u202f204.25", "1,204 ns",
        "12.5 \u00b1 3", "12.5 +- 3", "12.5\u00b13 ms", "1,204 +- 3 us", "12.5 ms +/- 2%",
        "1.2 K", "3.4 Mil", "512Mi", "2 Ki", "1.2 \u00b5", "1.2 K \u00b1 0.1 K",
    ],
)  # fmt: skip
@pytest.mark.parametrize("header", ["test,value", "commit,p50"])
def test_number_that_is_not_plain_is_an_error_with_its_line(
    tmp_path: Path, cell: str, header: str
) -> None:
    content = f'{header}\na,1.5\nb,"{cell}"\n'
    with pytest.raises(DataError) as error:
        read(tmp_path / "t.csv", content, max_skipped_share=0.05)
    column = header.partition(",")[2]
    assert f"{PLAIN} (1 time, first {tmp_path / 't.csv'}: line 3: {column} = {cell!r}" in str(
        error.value
    )


@pytest.mark.parametrize("cell", ["1.204,5", "1.5", "1.204"])
def test_point_beside_decimal_commas_is_an_error_with_its_line(tmp_path: Path, cell: str) -> None:
    with pytest.raises(DataError, match=rf"line 3: value = '{cell}'"):
        read(tmp_path / "t.csv", f"test;value\na;1,5\na;{cell}\n", max_skipped_share=0.05)


@pytest.mark.parametrize("cell", ["1.2K req/s", "2.5 B ops/s", "1.2 K apples", "1.2.3", "4K"])
def test_other_text_is_no_number(cell: str) -> None:
    with pytest.raises(FieldError, match="value is not a number") as error:
        measured(cell, "value")
    assert error.value.reason != NOT_PLAIN


@pytest.mark.parametrize("width", [1, 20])
def test_header_in_the_middle_is_an_error_with_its_line(tmp_path: Path, width: int) -> None:
    header = ",".join(["commit", "date", *(f"m{k}" for k in range(width))])
    rows = [f"c{k},2026-01-{k + 1:02}" + f",{k}" * width for k in range(12)]
    with pytest.raises(DataError, match=r"not a time .*line 5: date = 'date'"):
        read(
            tmp_path / "t.csv",
            "\n".join([header, *rows[:3], header, *rows[3:]]),
            max_skipped_share=0.0,
        )


@pytest.mark.parametrize(
    "cell",
    ["31.1.24", "1/31/2024 12:00:00 AM", "Jan 5, 2026", "Wed, 31 Jan 2024 00:00:00 +0000"],
)
def test_date_that_is_not_read_is_an_error_with_its_line(tmp_path: Path, cell: str) -> None:
    with pytest.raises(DataError, match=rf"not a time .*: line 2: date = {re.escape(repr(cell))}"):
        read(tmp_path / "t.csv", f'test,date,value\na,"{cell}",1\n')


def test_other_encodings_are_an_error(tmp_path: Path) -> None:
    content = "Date;Dur\u00e9e (ms)\r\n05/01/2026;10234,5\r\n"
    with pytest.raises(DataError, match="not valid UTF-8 at byte 8"):
        read(tmp_path / "t.csv", content.encode("cp1252"))
    assert values(read(tmp_path / "t.csv", content)) == {"t/Dur\u00e9e": [10234.5]}
    assert values(read(tmp_path / "t.csv", content.encode("utf-16"))) == {"t/Dur\u00e9e": [10234.5]}


DATES = "test,date,value\na,{},1\na,{},2\n"


@pytest.mark.parametrize(
    ("dates", "time"),
    [("day-first", 1_704_153_600_000), ("month-first", 1_706_745_600_000)],
)
def test_option_says_the_order_of_day_and_month(tmp_path: Path, dates: str, time: int) -> None:
    content = DATES.format("02/01/2024", "03/02/2024")
    loaded = read(tmp_path / "t.csv", content, dates=dates)
    assert loaded.history.times.tolist()[0] == time
    assert not [note for note in loaded.notes if "dates such as" in note]


def test_iso_refuses_other_dates(tmp_path: Path) -> None:
    content = DATES.format("02/01/2024", "2024-01-03")
    with pytest.raises(DataError, match=r"not a time .* line 2: date = '02/01/2024'"):
        read(tmp_path / "t.csv", content, dates="iso", max_skipped_share=0.0)


def test_dates_of_both_orders_are_an_error(tmp_path: Path) -> None:
    content = DATES.format("13/01/2024", "01/14/2024")
    with pytest.raises(DataError, match="are mixed: '13/01/2024' and '01/14/2024'; write them as"):
        read(tmp_path / "t.csv", content)
