"""A history with a known step, written in every format, through the reader and the commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from barograph.cli import main
from barograph.results.series import Direction
from barograph.sources.formats.read import FilesRead, read_files
from tests.sources.formats import generators
from tests.sources.formats.samples import SAMPLES

STEP = 20
VALUES = generators.values_with_step(3, 30, STEP)
WITHOUT_COMMITS = {"graphite", "tcpd"}  # and without directions


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the path of the history in each format."""
    makers = generators.HISTORIES | generators.RUNS
    return {name: make(tmp_path_factory.mktemp(name), VALUES) for name, make in makers.items()}


def read_as(name: str, path: Path) -> FilesRead:
    loaded = read_files([path])
    assert [file.form for file in loaded.files] == [name]
    return loaded


@pytest.mark.parametrize("name", generators.HISTORIES)
def test_a_history_is_read_value_by_value(name: str, written: dict[str, Path]) -> None:
    history = read_as(name, written[name]).history
    # Identities are listed in the order of the file, which is that of the files of a folder.
    rows = {tuple(series.values.tolist()): series for series in history}
    assert sorted(rows) == sorted(map(tuple, VALUES.tolist()))
    for series in rows.values():
        assert (np.diff(series.orders) > 0).all()
        assert series.times is not None
        assert series.times.tolist() == [1000 * generators.time_of(i) for i in range(30)]
        if name not in WITHOUT_COMMITS:
            assert list(series.commits) == [generators.commit_of(i) for i in range(30)]
            unknown = name in ("skia", "metric-records") and series.direction == 0
            assert unknown or series.direction == Direction.LOWER_IS_BETTER


@pytest.mark.parametrize("name", generators.RUNS)
def test_a_run_is_read_as_one_point_of_each_series(name: str, written: dict[str, Path]) -> None:
    loaded = read_as(name, written[name])
    assert loaded.is_run
    assert loaded.history.values.tolist() == VALUES[:, -1].tolist()


@pytest.mark.parametrize("name", generators.HISTORIES)
def test_detect_finds_the_step(
    name: str, written: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["detect", str(written[name]), "--format", "json"])
    assert not ended.value.code
    answer = json.loads(capsys.readouterr().out)
    actual = [point["index"] for series in answer["series"] for point in series["change_points"]]
    assert actual == [STEP]


@pytest.mark.parametrize("name", generators.HISTORIES)
def test_gate_fails_for_the_step(
    name: str, written: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["gate", str(written[name]), "--newest", "12", "--format", "json"])
    assert ended.value.code == 2
    assert len(json.loads(capsys.readouterr().out)["regressions"]) == 1


def test_failed_results_of_a_tool_do_not_make_its_history_unusable() -> None:
    loaded = read_files([SAMPLES / "asv" / "results"])
    assert loaded.report.skipped_share("points") > 0.05
    assert len(loaded.history) == 9


def test_verdicts_of_alerts_and_annotators_become_candidates() -> None:
    for name, verdict in (
        ("perfherder/export", "true_positive"),
        ("tcpd/steps.json", "true_positive"),
    ):
        history = read_files([SAMPLES / name]).history
        assert [str(verdict_) for verdict_ in history.candidates.verdict] == [verdict]
