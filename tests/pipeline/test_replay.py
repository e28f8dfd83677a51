"""The replay as a stage: with a second look, judged against verdicts."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from barograph.models import OnlineModels
from barograph.pipeline import replay
from barograph.runtime.errors import DataError
from tests.training.online_histories import learned

REPORTS = Path("data/reports")


@pytest.fixture
def models(project: Path) -> Path:
    """The two online models, learned from other histories."""
    _, actual = learned()
    folder = project / "data" / "models"
    folder.mkdir(parents=True)
    OnlineModels(actual.online, actual.confirm).save(folder / "online.baro")
    return folder


def metrics(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((REPORTS / f"{name}.json").read_text())
    return result


@pytest.mark.usefixtures("models")
def test_stage_reports_rates_delays_and_accuracy() -> None:
    replay.main()
    report = metrics("replay")
    assert report["points"] == 3600
    assert report["alarms_per_thousand"] == pytest.approx(1000 * report["alarms"] / 3600)
    assert report["alarms_per_series"] == pytest.approx(report["alarms"] / 120)
    assert 0.5 < report["auc"] <= 1.0
    assert report["delay"]["share_within_0"] <= report["delay"]["share_within_5"]
    table = pd.read_csv(REPORTS / "replay/found.csv")
    assert (
        len(table)
        == report["found"]
        == sum(report["found_by_verdict"].values()) + report["found_without_candidate"]
    )
    assert table["commit"].equals(pd.read_parquet(REPORTS / "replay/found.parquet")["commit"])


@pytest.mark.usefixtures("models")
def test_second_look_finds_steps_at_later_results() -> None:
    replay.main()
    table = pd.read_parquet(REPORTS / "replay/found.parquet")
    steps = table[(table["series"] % 2 == 0) & (table["index"] == 15)]
    assert len(steps) > 30
    delay = metrics("replay")["delay"]
    assert delay["share_within_5"] > delay["share_within_0"]


def test_model_file_without_a_pair_is_refused(models: Path) -> None:
    learned()[1].online.save(models / "online.baro")
    with pytest.raises(DataError, match="no confirming model"):
        replay.main()
