"""Algorithm 1 in the replay: the paper's forest on window 0, beside the default detector."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from barograph.detection import OnlineDetector
from barograph.features.subseries import Policy
from barograph.learning.tables import bounds_table, build, keys_of, path_of
from barograph.models import OnlineModels, TriageModel
from barograph.pipeline import replay, report
from barograph.results.history import History
from barograph.studies import algorithm_1
from barograph.studies.algorithm_1 import POLICY, methods_table

REPORTS = Path("data/reports")


@pytest.fixture
def tables(project: Path) -> Path:
    """The feature table of window 0, and online models."""
    history = History.read(project / "data/interim")
    policy = Policy.named(POLICY)
    bounds = bounds_table(history, [policy])
    table = build(history, bounds, ("bauer8",), keys_of(history))
    report.write_parquet(path_of(policy), table)
    (project / "data" / "models").mkdir(parents=True)
    OnlineModels.default().save(project / "data/models/online.baro")
    return project


def choose_trees() -> None:
    document = yaml.safe_load(Path("params.yaml").read_text())
    document["replay"] = {"min_points": 2, "trees": 8}
    Path("params.yaml").write_text(yaml.safe_dump(document))


@pytest.mark.usefixtures("tables")
def test_replay_by_algorithm_1_equals_its_detector() -> None:
    choose_trees()
    replay.main()
    algorithm_1.main()
    model = TriageModel.load(REPORTS / "algorithm_1/algorithm_1.baro", "online")
    assert (model.feature_set, model.threshold, model.classifier.kind) == ("bauer8", 0.5, "forest")
    table = pd.read_parquet(REPORTS / "algorithm_1/found.parquet")
    history = History.read(Path("data/interim"))
    for number in range(10):
        decisions = OnlineDetector.algorithm_1(model, history.values_of(number))
        points = [decision.index for decision in decisions if decision.is_change]
        assert table["index"][table["series"] == number].tolist() == points
    steps = table[(table["series"] % 2 == 0) & (table["index"] == 15)]
    assert len(steps) > 40
    metrics = json.loads((REPORTS / "algorithm_1.json").read_text())
    assert metrics["found"] == len(table)


@pytest.mark.usefixtures("tables")
def test_stage_reports_algorithm_1_beside_the_default_and_the_paper() -> None:
    choose_trees()
    replay.main()
    algorithm_1.main()
    page = (REPORTS / "algorithm_1/methods.md").read_text()
    rows = pd.read_csv(REPORTS / "algorithm_1/methods.csv").set_index("detector")
    assert [name in page for name in rows.index] == [True] * 3
    default = json.loads((REPORTS / "replay.json").read_text())
    assert rows["auc"]["default"] == default["auc"]
    result = json.loads((REPORTS / "algorithm_1.json").read_text())
    assert rows["alarms per 1,000"]["Algorithm 1"] == result["alarms_per_thousand"]
    assert result["alarms"] != default["alarms"]


def test_paper_row_agrees_with_its_printed_figures() -> None:
    table = methods_table({"own": {"alarms_per_thousand": 2.0}})
    paper = table.iloc[-1]
    right = paper["sensitivity"] * 6990 + paper["specificity"] * 8341
    assert right / 15331 == pytest.approx(paper["accuracy"], abs=0.001)
    assert paper["alarms per 1,000"] == pytest.approx(35.39, abs=0.005)
    assert report.formatted(table, ".3f").iloc[0]["auc"] == "-"
    assert np.isnan(table.iloc[0]["auc"])
