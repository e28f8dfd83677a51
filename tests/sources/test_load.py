from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barograph.history import History
from barograph.series import Verdict
from barograph.sources import LoadReport, load
from tests.sources.documents import (
    START,
    Memory,
    change_point,
    series,
)


def loaded(
    folder: Path,
    documents: list[Mapping[str, Any]],
    candidates: list[Mapping[str, Any]] | None = None,
    share: float = 1.0,
) -> tuple[History, LoadReport]:
    report = load(Memory(documents, candidates or []), folder, max_skipped_share=share)
    return History.read(folder), report


def test_a_series_and_its_candidate_arrive_whole(tmp_path: Path) -> None:
    history, report = loaded(tmp_path / "out", [series()], [change_point()])

    assert len(history) == 1
    assert history.id_of(0).args == (("thread_level", "16"),)
    assert history.values_of(0).tolist() == [100.0, 101.0, 102.0, 103.0, 104.0]
    assert history.orders.tolist() == [0, 10, 20, 30, 40]
    assert history.commits.to_pylist()[2] == f"{20:040x}"
    assert history.times[1] == (START.timestamp() + 36_000) * 1000
    row = history.candidates.to_pylist()[0]
    assert (row["series"], row["index"], row["order"]) == (0, 2, 20)
    assert row["verdict"] == Verdict.TRUE_POSITIVE
    assert (row["triaged_on"] - row["calculated_on"]).days == 1
    assert row["algorithm"] == "e_divisive_means 2"
    assert (report.series, report.points, report.candidates) == (1, 5, 1)
