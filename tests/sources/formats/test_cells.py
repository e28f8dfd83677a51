"""Cells of tables: many distinct times are converted at once, like each of them alone."""

import pytest

from barograph.sources.formats.cells import TimeReader
from barograph.sources.formats.dates import DateParser, time_ms
from barograph.sources.formats.numbers import has_decimal_comma


@pytest.mark.parametrize("form", ["{}", "{}Z", "{}.25", "{}.123456+00:00"])
def test_distinct_times_read_at_once_are_those_read_one_by_one(form: str) -> None:
    moments = [
        f"2024-{1 + k % 12:02}-{1 + k % 28:02}T{k % 24:02}:{k % 60:02}:07" for k in range(2000)
    ]
    cells = [form.format(moment) for moment in moments]
    times, faults = TimeReader("time", DateParser()).read(cells)
    assert times.tolist() == [time_ms(cell, "time") for cell in cells]
    assert not faults


@pytest.mark.parametrize("odd", ["2024-02-30T00:00:00", "0000-01-01T00:00:00", "soon", ["2024"]])
def test_time_that_no_calendar_has_is_named_among_distinct_times(odd: object) -> None:
    cells: list[object] = [f"2024-01-31T{k // 60:02}:{k % 60:02}:00" for k in range(1200)]
    cells[700] = odd
    times, faults = TimeReader("time", DateParser()).read(cells)
    assert [*faults] == [700]
    assert times[701] == time_ms("2024-01-31T11:41:00", "time")


def test_comma_of_a_spread_is_no_decimal_sign_of_the_value() -> None:
    assert not has_decimal_comma([["12 \u00b1 0,5 ms", "12.5 \u00b1 0,5 ms"]])
    assert has_decimal_comma([["12 \u00b1 0,5 ms", "12,5 \u00b1 0,5 ms"]])
