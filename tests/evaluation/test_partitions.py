"""Replay and classification of a data set in parts."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from barograph.detection.online import OnlineDetector
from barograph.evaluation.partitions import Part, classified, parts_of
from barograph.history import SCHEMAS, History
from barograph.parallel import map_parallel
from barograph.pipeline.replaying import Task, replayed
from tests.service.models import small_model

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
    small_model().save(place / "online.baro")
    small_model(use="label_free").save(place / "label_free.baro")
    return place


def calls(folder: Path, size: int) -> list[tuple[Any, ...]]:
    task = Task(str(folder / "online.baro")).signed()
    return [(part, task) for part in parts_of(folder, size)]


def whole(folder: Path, size: int, **how: Any) -> pa.Table:
    return pa.concat_tables(map_parallel(replayed, calls(folder, size), **how))


def test_parts_hold_every_series_once(folder: Path) -> None:
    assert parts_of(folder, 5) == [Part(str(folder), a, b) for a, b in ((0, 5), (5, 10), (10, 12))]


def test_replay_equals_one_update_per_point(folder: Path) -> None:
    table = whole(folder, SERIES)
    history = History.read(folder)
    probability = table.column("probability").to_numpy()
    found = table.column("found").to_numpy()
    for number in range(len(history)):
        detector = OnlineDetector(small_model())
        mine = slice(history.offsets[number], history.offsets[number + 1])
        said = [detector.update(value) for value in history.values_of(number)]
        assert probability[mine].tolist() == [one.probability for one in said]
        assert found[mine].tolist() == [one.is_change for one in said]
    assert found.any()


@pytest.mark.parametrize(("size", "workers"), [(1, 1), (5, 1), (3, 2)])
def test_replay_does_not_depend_on_parts_or_workers(folder: Path, size: int, workers: int) -> None:
    assert whole(folder, size, workers=workers).equals(whole(folder, SERIES))


def test_classified_returns_waiting_candidates_or_all(folder: Path) -> None:
    path = str(folder / "label_free.baro")
    parts = [classified(part, path, "label_free", triaged=True) for part in parts_of(folder, 5)]
    [once] = [classified(part, path, "label_free", triaged=True) for part in parts_of(folder, 99)]
    assert pa.concat_tables(parts).equals(once)
    waiting = classified(Part(str(folder), 0, SERIES), path, "label_free", triaged=False)
    assert waiting.column("verdict").unique().to_pylist() == ["not_triaged"]
    assert waiting.num_rows == SERIES
