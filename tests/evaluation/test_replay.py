"""Replay and scoring of a data set in parts."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from barograph.detection.online import OnlineDetector
from barograph.learning.replay import alarm_delays, replay_judge, replay_part
from barograph.models import OnlineModels
from barograph.results.history import History
from barograph.results.parquet import SCHEMAS
from barograph.results.parts import HistoryPart, history_parts
from barograph.runtime.parallel import VARIABLE, map_parallel
from tests.service.models import small_model, small_pair

SERIES, LENGTH = 12, 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with steps and candidates, and the models beside it."""
    import pyarrow.parquet as pq

    place = tmp_path_factory.mktemp("history")
    rng = np.random.default_rng(5)
    series, points, candidates = [], [], []
    for number in range(SERIES):
        series.append({"project": "db", "test": f"t{number}", "args": "{}", "direction": 0})
        length = LENGTH - number
        values = 100 + rng.standard_normal(length)
        values[40:] += 10
        points += [
            {"series": number, "order": k, "commit": f"c{k}", "value": value}
            for k, value in enumerate(values.tolist())
        ]
        verdicts = ("not_triaged", "true_positive")
        candidates += [
            {"series": number, "index": k, "order": k, "commit": f"c{k}", "verdict": verdict}
            for k, verdict in zip((20, 40), verdicts, strict=True)
        ]
    rows = {"series": series, "points": points, "candidates": candidates}
    for name, schema in SCHEMAS.items():
        pq.write_table(pa.Table.from_pylist(rows[name], schema), place / f"{name}.parquet")
    small_pair().save(place / "online.baro")
    small_model(use="label_free").save(place / "label_free.baro")
    return place


def calls(folder: Path, size: int) -> list[tuple[Any, ...]]:
    judge = replay_judge(OnlineModels.load(folder / "online.baro"))
    return [(part, judge) for part in history_parts(folder, size)]


def replay_all(folder: Path, size: int) -> pa.Table:
    return pa.concat_tables(map_parallel(replay_part, calls(folder, size)))


def test_history_parts_cover_every_series_once(folder: Path) -> None:
    ranges = ((0, 5), (5, 10), (10, 12))
    assert history_parts(folder, 5) == [HistoryPart(str(folder), a, b) for a, b in ranges]


def test_replay_equals_one_update_per_point(folder: Path) -> None:
    table = replay_all(folder, SERIES)
    history = History.read(folder)
    probability = table.column("probability").to_numpy()
    result = table.column("found").to_numpy()
    alarm = table.column("alarm").to_numpy()
    for number in range(len(history)):
        detector = OnlineDetector(small_pair().newest, small_pair().confirm)
        points = slice(history.offsets[number], history.offsets[number + 1])
        decisions = [detector.update(value) for value in history.values_of(number)]
        assert alarm[points].tolist() == [d.is_change for d in decisions]
        found = [point.index for point in detector.change_points]
        assert np.flatnonzero(result[points]).tolist() == found
        quiet = [k for k, d in enumerate(decisions) if d.index == k]
        assert probability[points][quiet].tolist() == [decisions[k].probability for k in quiet]
    assert result.any()


@pytest.mark.parametrize(("size", "workers"), [(1, 1), (5, 1), (3, 2)])
def test_replay_does_not_depend_on_parts_or_workers(
    folder: Path, size: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = replay_all(folder, SERIES)
    monkeypatch.setenv(VARIABLE, str(workers))
    assert replay_all(folder, size).equals(together)


def test_alarm_delays_end_at_the_end_of_the_series() -> None:
    alarms = np.zeros(40, dtype=np.bool_)
    alarms[[12, 22]] = True
    result = alarm_delays(alarms, np.array([10, 19]), np.array([20, 20]))
    assert result["mean_points"] == 2.0
    assert (result["share_within_0"], result["share_within_2"]) == (0.0, 0.5)
    assert alarm_delays(alarms, np.array([23]), np.array([40]))["mean_points"] is None
