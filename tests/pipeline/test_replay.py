"""The replay as a stage: restartable, with a second look, judged against verdicts."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from barograph.errors import ArtifactError
from barograph.evaluation import resume
from barograph.evaluation.replayed import delays
from barograph.models import OnlineModels
from barograph.pipeline import replay, replaying
from tests.training.online_histories import learned

REPORTS = Path("data/reports")


@pytest.fixture
def models(project: Path) -> Path:
    """The two online models, learned from other histories."""
    _, found = learned()
    folder = project / "data" / "models"
    folder.mkdir(parents=True)
    OnlineModels(found.online, found.confirm).save(folder / "online.baro")
    return folder


def metrics(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((REPORTS / f"{name}.json").read_text())
    return result


@pytest.mark.usefixtures("models")
def test_replay_reports_rates_delays_and_accuracy() -> None:
    replay.main()
    told = metrics("replay")
    assert told["points"] == 3600
    assert told["alarms_per_thousand"] == pytest.approx(1000 * told["alarms"] / 3600)
    assert told["alarms_per_series"] == pytest.approx(told["alarms"] / 120)
    assert 0.5 < told["auc"] <= 1.0
    assert told["delay"]["share_within_0"] <= told["delay"]["share_within_5"]
    table = pd.read_csv(REPORTS / "replay/found.csv")
    assert (
        len(table)
        == told["found"]
        == sum(told["found_by_verdict"].values()) + told["found_without_candidate"]
    )
    assert table["commit"].equals(pd.read_parquet(REPORTS / "replay/found.parquet")["commit"])


@pytest.mark.usefixtures("models")
def test_second_look_has_its_own_report() -> None:
    replay.main(["--second-look"])
    assert not (REPORTS / "replay.json").exists()
    found = pd.read_parquet(REPORTS / "replay_second_look/found.parquet")
    steps = found[(found["series"] % 2 == 0) & (found["index"] == 15)]
    assert len(steps) > 30
    told = metrics("replay_second_look")
    assert told["delay"]["share_within_5"] > told["delay"]["share_within_0"]


def test_second_look_needs_a_confirming_model(models: Path) -> None:
    learned()[1].online.save(models / "online.baro")
    with pytest.raises(ArtifactError, match="no confirming model"):
        replay.main(["--second-look"])


def test_replay_reads_cached_chunks(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "CHUNK", 50)
    replay.main()
    first = (REPORTS / "replay/found.csv").read_bytes()
    kept = sorted(Path("data/cache/replay").iterdir())
    assert len(kept) == 3
    done: list[int] = []
    judged = replaying._judged

    def counted(task: replaying.Task, series: Sequence[Any]) -> Any:
        done.append(len(series))
        return judged(task, series)

    monkeypatch.setattr(replaying, "_judged", counted)
    kept[0].unlink()
    kept[1].write_bytes(kept[1].read_bytes()[:-40])  # broken off while it was written
    replay.main()
    assert len(done) == 2
    assert (REPORTS / "replay/found.csv").read_bytes() == first
    # Another model is another result.
    (models / "online.baro").write_bytes((models / "online.baro").read_bytes())
    _, other = learned()
    replay.main()
    assert len(done) == 2
    strict = replace(other.online, threshold=0.9)
    OnlineModels(strict, other.confirm).save(models / "online.baro")
    replay.main()
    assert len(done) == 5


def test_keys_depend_on_every_part() -> None:
    values = np.arange(3.0)
    keys = {
        resume.key("a", values),
        resume.key("a", values[:2], values[2:]),
        resume.key("a", values.astype(np.float32)),
        resume.key("b", values),
        resume.key("a", 1, values),
    }
    assert len(keys) == 5
    assert resume.key("a", values) == resume.key("a", values.copy())


def test_delays_count_to_the_first_alarm_of_the_series() -> None:
    alarms = np.zeros(40, dtype=np.bool_)
    alarms[[12, 22]] = True
    told = delays(alarms, np.array([10, 19]), np.array([20, 20]))
    assert told["mean_points"] == 2.0
    assert (told["share_within_0"], told["share_within_2"]) == (0.0, 0.5)
    assert delays(alarms, np.array([23]), np.array([40]))["mean_points"] is None
