"""Any text in any column of a history comes back, or the result is refused and nothing changes."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barograph.results.series import LABELS, SeriesId
from barograph.results.texts import CONTROL
from barograph.runtime.errors import DataError
from barograph.sources.append import append
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import read_files
from barograph.sources.git import Repository
from barograph.sources.history_file import HistoryFile

COLUMNS = ("commit", "run", *LABELS, "args.n")
KINDS = ("csv", "ndjson", "json", "parquet")
ODD = (
    *("a\rb", "a\nb", "a\r\nb", "a\0b", "\r", "\x85", "a\ufffdb", "x\u2028y"),
    *('"', '""', ",", ";", "#x", "=A1", " x", "-", "nan", "1", "true"),
)
TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8) | st.sampled_from(ODD)


def row(**cells: object) -> dict[str, object]:
    """Return a row of a table."""
    return {"commit": "c1", "time": "2026-01-01", "test": "t", "value": 1.5} | cells


def add(history: Path, result: dict[str, object], run: str = "") -> None:
    new = history.parent / "new.json"
    new.write_text(json.dumps([result]), encoding="utf-8")
    append(history, [new], ReadOptions(), run, Repository("/"), RunContext())


def read(history: Path) -> dict[float, SeriesId]:
    """Return the series of a history by their only values."""
    series = read_files([history], repository=Repository("/"), context=RunContext()).history
    return {value: entry.id for entry in series for value in entry.values.tolist()}


def is_refused(column: str, text: str) -> bool:
    shown = text if column == "run" else text.strip()
    return bool(CONTROL.search(shown)) or "\ufffd" in text or (column == "test" and not shown)


@pytest.mark.parametrize("kind", KINDS)
@given(column=st.sampled_from(COLUMNS), text=TEXT)
@example(column="test", text="w\rin")
@settings(max_examples=60, deadline=None)
def test_any_text_comes_back_or_is_refused(kind: str, column: str, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / f"history.{kind}"
        add(history, row(measurement="before all texts"))
        before = history.read_bytes()
        cells, run = ({}, text) if column == "run" else ({column: text}, "")
        if is_refused(column, text):
            with pytest.raises(DataError, match=r"new\.json"):
                add(history, row(value=2.5, **cells), run)
            assert history.read_bytes() == before
            return
        add(history, row(value=2.5, **cells), run)
        add(history, row(value=3.5, commit="c3", task="after all texts"))
        series = read(history)
        assert set(series) == {1.5, 2.5, 3.5}
        if column in LABELS:
            assert series[2.5].labels[column] == text.strip()


@pytest.mark.parametrize("kind", KINDS)
def test_cells_of_others_come_back(tmp_path: Path, kind: str) -> None:
    history = tmp_path / f"history.{kind}"
    add(history, row())
    texts = [text for text in ODD if text not in ("\r", "\x85")]
    table = HistoryFile.read(history, ReadOptions())
    table.extend([row(order=k, test=f"t{k}", note=text) for k, text in enumerate(texts, 2)])
    table.write()
    add(history, row(commit="c2"))
    assert [*HistoryFile.read(history, ReadOptions()).texts("note")] == ["", *texts, ""]


def test_text_that_no_reader_takes_is_refused(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    add(history, row())
    before = history.read_bytes()
    with pytest.raises(DataError, match=r"new\.json: test: 'x.* is longer than 65,536 characters"):
        add(history, row(test="x" * 200_000))
    assert history.read_bytes() == before
