"""A source of documents is written in groups of series, so that it may be larger than memory."""

import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from barograph.results.series import Floats, SeriesId
from barograph.results.texts import Texts
from barograph.sources import Document, Skip, Source, load, loader
from barograph.sources.base import SeriesColumns
from tests.same import assert_same
from tests.sources.documents import Memory, change_point, loaded, series


@pytest.mark.parametrize("size", [17, 1])
def test_many_groups_give_the_same_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    documents = [series(f"t{number}", count=3 + number % 5) for number in range(60)]
    numbers = np.random.default_rng(1).permutation(60).tolist()
    candidates = [change_point(f"t{n}", order=20) for n in numbers if n not in (7, 8, 9, 59)]
    candidates += [change_point("t3", order=0), change_point("t4", order=15, commit="none")]
    whole, expected = loaded(tmp_path / "one", documents, candidates)
    monkeypatch.setattr(loader, "GROUP", size)
    history, report = loaded(tmp_path / "many", documents, candidates)
    assert pq.ParquetFile(tmp_path / "many" / "points.parquet").num_row_groups > 15
    assert_same(history, whole)
    assert report == expected
    assert history.candidates.series.tolist() == [n for n in range(60) if n not in (7, 8, 9, 59)]


def test_load_keeps_no_more_than_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "GROUP", 30)
    in_memory: list[int] = []

    class Long(Source):
        name = "long"

        def change_points(self) -> Iterator[Document | Skip]:
            yield from ()

        def time_series(self) -> Iterator[SeriesColumns]:
            given: list[weakref.ref[Floats]] = []
            for number in range(20):
                values = np.arange(10.0)
                given.append(weakref.ref(values))
                yield columns(number, values)
                del values
                in_memory.append(sum(reference() is not None for reference in given))

    def columns(number: int, values: Floats) -> SeriesColumns:
        count = np.array([values.size])
        name = SeriesId("p", "v", "t", f"t{number}", "m")
        orders, times = np.arange(10), np.zeros(10, dtype=np.int64)
        commits = Texts.unknown(10)
        return SeriesColumns("long", number, [name], [1], count, orders, times, values, commits)

    assert load(Long(), tmp_path).kept["points"] == 200
    assert max(in_memory) <= 4


def test_load_reports_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "GROUP", 15)
    monkeypatch.setattr(loader, "REPORTED", 2)
    calls: list[tuple[str, int]] = []
    documents = [series(f"t{number}") for number in range(6)]
    candidates = [change_point(f"t{number}") for number in range(5)]
    source = Memory(documents, candidates)
    load(source, tmp_path, progress=lambda kind, count: calls.append((kind, count)))
    assert calls == [("points", 15), ("points", 30), ("candidates", 2), ("candidates", 4)]
