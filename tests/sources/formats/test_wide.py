"""Wide tables converted at once give what the csv module and one number after the other give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from barograph.sources.formats import delimited
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.collected import first_rows
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.dates import iso_times, time_ms
from barograph.sources.formats.read import FilesRead, read_files
from barograph.sources.formats.wide import WIDE

WIDTH = WIDE + 4
NAMES = [f"m{k} (ms)" if k % 3 else f"m{k}" for k in range(WIDTH)]
# What one cell in the middle of the table is, or the first, or the header.
ODD = {
    "plain": "1.5", "empty": "", "exponent": "1e-3", "negative": "-0.25", "large": "9" * 30,
    "plus": "+5", "dot": ".5", "blank": " 5", "underscore": "1_0", "text": "fast", "null": "null",
    "not finite": "1e999", "nan": "nan", "leading zero": "007", "quoted": '"7"', "thousands": "7,5",
}  # fmt: skip


def table(odd: str, delimiter: str = ",", *, last: str = "host") -> str:
    """Return a table with commits, many metrics and a column of texts; one cell is odd."""
    draw = np.random.default_rng(4)
    lines = [delimiter.join(["commit", *NAMES, last])]
    for row, values in enumerate(draw.normal(100, 1, (30, WIDTH)).round(4).tolist()):
        cells = [f"{value:.{k % 5}f}" for k, value in enumerate(values)]
        if row == 17:
            cells[9] = odd
        if row % 5 == 0:
            cells[3] = cells[-1] = ""
        lines.append(delimiter.join([f"c{row}", *cells, "box"]))
    return "\n".join(lines) + "\n"


def described(files: FilesRead) -> tuple[object, ...]:
    history, report = files.history, files.report
    numbers = [history.offsets, history.orders, history.directions, history.values]
    skipped = {kind: report.skips(kind) for kind in report.skipped}
    texts = [*map(str, history.ids), *history.commits]
    return [number.tolist() for number in numbers], texts, report.read, skipped, files.notes


@pytest.mark.parametrize("last", ["host", "comment"])
@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("odd", ODD)
def test_wide_table_is_read_as_cell_by_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str, delimiter: str, last: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table(ODD[odd], delimiter, last=last), encoding="utf-8")

    def read() -> tuple[object, ...]:
        options = ReadOptions(max_skipped_share=0.5)
        return described(read_files([path], options, context=RunContext()))

    at_once = read()
    monkeypatch.setattr(delimited, "wide_cells", lambda *_: None)
    assert at_once == read()


@pytest.mark.parametrize("odd", ["plain", "exponent", "empty", "thousands", "dot"])
def test_wide_otava_table_is_read_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    content = table(ODD[odd], ";")
    (tmp_path / "data.csv").write_text(content, encoding="utf-8")
    metrics = "".join(f"      {name}: {{scale: 0.1, unit: ms}}\n" for name in NAMES)
    config = f"csv_options: {{delimiter: ';'}}\n    metrics:\n{metrics}"
    config = f"tests:\n  local:\n    type: csv\n    file: data.csv\n    {config}"
    (tmp_path / "otava.yaml").write_text(config, encoding="utf-8")

    def read() -> tuple[object, ...]:
        return described(read_files([tmp_path / "otava.yaml"], context=RunContext()))

    at_once = read()
    monkeypatch.setattr(delimited, "wide_cells", lambda *_: None)
    assert at_once == read()


def test_iso_times_are_those_read_one_by_one() -> None:
    forms = ("2024-0{}-1{}T0{}:00:00Z", "2024-0{}-1{} 0{}:00:00.25", "196{}-11-2{}T1{}:00:00+00:00")
    cells = [forms[k // 7 % 3].format(k % 7 + 1, k % 9, k % 5) for k in range(60)]
    values = iso_times(cells)
    assert values is not None
    assert values.tolist() == [time_ms(cell, "") for cell in cells]


@pytest.mark.parametrize(
    "cells",
    [["2024-02-30T10:00:00"], ["2024-01-31T10:00:00", "2024-01-31T10:00:0x"], [None], ["x"], []],
)
def test_other_cells_are_no_iso_times(cells: list[str]) -> None:
    assert iso_times(cells) is None


@pytest.mark.parametrize("high", [5, 10**12])
def test_first_rows_and_groups_are_those_of_sorting(high: int) -> None:
    draw = np.random.default_rng(2)
    sorted_ = np.repeat(np.arange(5), 10)
    for owners in (draw.integers(0, high, 50), sorted_, np.tile(np.arange(5), 10)):
        _, first, group = np.unique(owners, return_index=True, return_inverse=True)
        assert [first_row.tolist() for first_row in first_rows(owners)] == [
            first.tolist(),
            group.tolist(),
        ]
