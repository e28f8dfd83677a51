"""A history without verdicts goes through the pipeline, and a worse pair is kept out."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from barograph.learning import registry
from barograph.learning.comparison import LEAST_GROUPS
from barograph.learning.online.pair import BESIDE, Lesson
from barograph.learning.registry import Index
from barograph.learning.release import Evidence, ReleaseParams, decide
from barograph.models.trees import Boosted
from barograph.models.triage import FILES, TriageModel, load_models, save_models
from barograph.pipeline import (
    characterise,
    classify,
    evaluate,
    release,
    replay,
    subseries,
    train,
    tune,
    windows,
)
from barograph.pipeline.params import parameters
from tests.pipeline.conftest import forget_verdicts

REPORTS = Path("data/reports")
CHANGES = {
    "label_free: [bauer8]": "label_free: [bauer8, contrast]",
    "adaptive: [bauer8]": "adaptive: [bauer8, contrast]",
    "label_free_windows: [bauer8]": "label_free_windows: [confirm]",
    "online: bauer8, confirm: bauer8": "online: online, confirm: confirm",
    "  calibration:": "  enough: 90\n  prior_weight: 0.3\n  calibration:",
    "tiny:\n": "tune: {searches: {label_free: [logistic]}, trials: 2, folds: 2, seed: 1}\n"
    "tiny:\n  tune: {}\n",
    "trees: 8}": "trees: 12, simulated: {seed: 3, long_series: 6, short_series: 0}}",
}


@pytest.fixture
def unlabelled(project: Path) -> Path:
    """A project without a verdict."""
    params = project / "params.yaml"
    text = params.read_text()
    for old, new in CHANGES.items():
        text = text.replace(old, new, 1)
    params.write_text(text)
    forget_verdicts(project)
    return project


def metrics(stage: str) -> Any:
    return json.loads((REPORTS / f"{stage}.json").read_text())


def inverted(path: Path) -> dict[str, TriageModel]:
    """Return the models of a file, turned round: they take every change for noise."""
    models = load_models(path)
    for use, model in models.items():
        assert isinstance(model.classifier, Boosted)
        trees = replace(model.classifier, values=-model.classifier.values)
        models[use] = replace(model, classifier=trees)
    return models


@pytest.mark.usefixtures("unlabelled")
def test_pipeline_runs_without_a_verdict() -> None:
    for stage in (subseries, characterise, tune, train, evaluate, windows, classify):
        stage.main()
    replay.main()
    release.main()
    assert "0 triaged points" in (REPORTS / "evaluate/table.md").read_text()
    assert (REPORTS / "windows/windows.png").is_file()
    assert metrics("replay")["alarms"] > 0
    # What cannot be learned without a verdict stays as shipped, and the card says so.
    kept = TriageModel.load(train.FOLDER / "label_free.baro")
    assert kept.version == TriageModel.default("label_free").version
    assert kept.card["kept"] == "the built-in model: too few verdicts"
    assert metrics("auc").keys() <= {"online", "confirm"}
    # The online pair learned from hindsight, and was compared by it.
    pair = load_models(train.FOLDER / "online.baro")
    for model in pair.values():
        assert model.card["labels"] == "verdicts and hindsight"
        beside = model.card[BESIDE]
        assert (beside["labels"], beside["changes"] > 30) == ("hindsight", True)
        assert len(beside["reported"]) == len(beside["reported_by_other"]) == 3
    beside = pair["online"].card[BESIDE]
    is_better = beside["low"] > 0 and beside["groups"] >= LEAST_GROUPS
    assert metrics("release")["online"]["promoted"] == is_better
    # A champion gives way to a pair that reports more on held-out points, and to no other.
    twins, worse = train.TWINS / "online.baro", Path("worse.baro")
    save_models(worse, list(inverted(twins).values()))
    assert decided(challenger=worse, champion=twins)["why"] == "worse than the champion"
    assert decided(challenger=twins, champion=worse)["why"] == "not worse than the champion"


def decided(challenger: Path, champion: Path) -> Mapping[str, Any]:
    """Return what `release` decides on a challenger that is better than the built-in pair."""
    models = load_models(challenger)
    for use, model in models.items():
        beside = {**model.card[BESIDE], "difference": 0.2, "low": 0.1, "high": 0.3, "groups": 30}
        models[use] = replace(model, card={**model.card, BESIDE: beside})
    index = Index("online", ("former",))
    index.folder("former").mkdir(parents=True, exist_ok=True)
    shutil.copy(champion, index.folder("former") / registry.TWIN)
    params = parameters(ReleaseParams, "release")
    evidence = Evidence(params, release.learned_from, must_gain=False)
    decision = decide(models, index, evidence)
    # A retraining does not release by hindsight.
    retrained = decide(models, index, replace(evidence, must_gain=True))
    assert retrained["why"].startswith("fewer than 100 confirmed changes")
    return decision


BESIDE_BY_HAND = {
    "labels": "hindsight",
    "changes": 80,
    "difference": 0.05,
    "low": -0.01,
    "high": 0.11,
    "p_worse": 0.9,
    "groups": 30,
}


def test_pair_that_reports_no_more_than_the_shipped_one_is_kept_out() -> None:
    pair = {}
    for use in FILES["online"]:
        model = TriageModel.default(use)
        pair[use] = replace(model, card={**model.card, BESIDE: BESIDE_BY_HAND})

    def learned_from() -> Lesson:
        raise AssertionError("the champion plays no part")

    evidence = Evidence(ReleaseParams(0.5, 200, 1), learned_from, must_gain=False)
    decision = decide(pair, Index("online"), evidence)
    assert not decision["promoted"]
    assert "the interval of its gain over the built-in pair includes 0" in decision["why"]
    # The shipped models have an AUC on simulated verdicts; no model below the least is released.
    strict = replace(evidence, params=ReleaseParams(1.1, 200, 1))
    decision = decide(pair, Index("online"), strict)
    assert decision["why"].endswith("is below 1.1")
