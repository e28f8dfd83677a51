"""Several models are trained for a use, the best on validation rows is chosen, or one by name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from barograph.cli import main
from barograph.detection import Triaged
from barograph.learning import challengers
from barograph.learning.candidates import Judged, Trained
from barograph.learning.choice import choose
from barograph.models.artifact import file_digest
from barograph.models.triage import TriageModel
from barograph.pipeline import characterise, classify, release, train
from barograph.server.web.model_watch import CandidateModel
from tests.pipeline.test_release import USE, leave_one_use, with_one_use
from tests.service.models import small_model

NAMES = ["xgboost", "random_forest", "svm", "voting", "random_forest_bauer8"]
KINDS = dict(zip(NAMES, ("boosted", "forest", "estimator", "estimator", "forest"), strict=True))
FEATURES = dict.fromkeys(NAMES, "bauer8") | {"voting": "leznik"}


@pytest.fixture(scope="module")
def trained_once(described_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with all models of one use; do not change it."""
    folder = tmp_path_factory.mktemp("trained")
    with with_one_use(described_once, folder):
        document = yaml.safe_load(Path("params.yaml").read_text())
        document["characterise"][USE] = ["bauer8", "leznik"]
        document["train"]["classifiers"] = NAMES
        Path("params.yaml").write_text(yaml.safe_dump(document))
        characterise.main()
        train.main()
    return folder


@pytest.fixture
def trained(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with all models of one use."""
    leave_one_use(monkeypatch)
    return trained


def set_released(name: str) -> None:
    document = yaml.safe_load(Path("params.yaml").read_text())
    document["release"]["classifier"] = name
    Path("params.yaml").write_text(yaml.safe_dump(document))


def model_of(name: str, folder: str = "data/models") -> TriageModel:
    return TriageModel.load(Path(folder, name, f"{USE}.baro"), USE)


@pytest.mark.usefixtures("trained")
def test_every_classifier_is_trained_on_the_same_rows_and_saved() -> None:
    models = {name: model_of(name) for name in NAMES}
    twins = {name: model_of(name, "data/models/judged") for name in NAMES}
    assert {name: model.classifier.kind for name, model in models.items()} == KINDS
    assert {name: model.feature_set for name, model in models.items()} == FEATURES
    facts = ("rows", "rows_held_out", "held_out_seed")
    assert len({tuple(twin.card[fact] for fact in facts) for twin in twins.values()}) == 1
    assert all(twins[name] != model for name, model in models.items())
    # The use learns from the 16 characteristics here, as the last model does everywhere.
    assert models["random_forest_bauer8"] == models["random_forest"]
    assert len({model.version for model in models.values()}) == len(NAMES) - 1


@pytest.mark.usefixtures("trained")
def test_page_shows_every_model_with_intervals_and_the_chosen_one() -> None:
    table = pd.read_csv(train.FIGURES / "models.csv", dtype=str, keep_default_na=False)
    assert sorted(table["model"]) == sorted(NAMES)
    [name] = table.loc[table["chosen"] == "yes", "model"]
    best = TriageModel.load(f"data/models/{USE}.baro")
    assert best == model_of(name)
    listed = best.card["choice"].rpartition("(")[2]
    assert [part.split()[0] for part in listed.split(", ")] == NAMES
    assert table["validation AUC"].astype(float).is_monotonic_decreasing
    for title in ("validation AUC", "held-out AUC"):
        low, auc, high = (table[title + end].astype(float) for end in (" low", "", " high"))
        assert ((low <= auc) & (auc <= high)).all()
    page = (train.FIGURES / "models.md").read_text()
    assert f"- {USE}: {name} " in page
    assert "validation rows" in page


TRUTH, SERIES = np.tile([0, 1], 100), np.arange(200) // 4
GOOD = TRUTH + np.random.default_rng(1).normal(0.0, 0.8, TRUTH.size)
NEARLY = GOOD + np.random.default_rng(3).normal(0.0, 0.1, TRUTH.size)
POOR = TRUTH + np.random.default_rng(2).normal(0.0, 4.0, TRUTH.size)


@pytest.mark.parametrize(
    ("order", "name", "why"),
    [
        (
            ("nearly", "good", "poor"),
            "nearly",
            "nearly is listed before good, whose AUC on the 200",
        ),
        (("poor", "good", "nearly"), "good", "good has the highest AUC on the 200 validation rows"),
        (("poor",), "poor", ""),
    ],
)
def test_first_model_within_one_standard_error_of_the_highest_auc_is_chosen(
    order: tuple[str, ...], name: str, why: str
) -> None:
    model = replace(small_model(0, USE), metrics={"accuracy": 0.9, "brier": 0.1})
    scores = {"good": GOOD, "nearly": NEARLY, "poor": POOR}
    # The held-out rows say the opposite, and have no part in it.
    models = {
        each: Trained(
            model,
            model,
            test=Judged(TRUTH, -scores[each], SERIES),
            validation=Judged(TRUTH, scores[each], SERIES),
        )
        for each in order
    }
    choice = choose(models)
    assert choice.name == name
    assert choice.why.startswith(why)
    for row in choice.table:
        auc, held_out = row["validation AUC"], row["held-out AUC"]
        assert auc == pytest.approx(1.0 - held_out)
        assert row["validation AUC low"] <= auc <= row["validation AUC high"]
        assert choice.models[row["model"]].model.card["choice"].startswith(choice.why)
        assert (row["below the highest"] == 0.0) == (row["model"] == "good")
        assert row["chosen"] == ("yes" if row["model"] == name else "")


def decision() -> Any:
    return json.loads(Path("data/reports/release.json").read_text())[USE]


@pytest.mark.usefixtures("trained")
def test_named_classifier_is_released_with_the_comparison_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    release.main()
    champion = TriageModel.load(f"data/release/{USE}.baro")
    assert champion == TriageModel.load(f"data/models/{USE}.baro")
    for name in ("voting", "svm"):
        set_released(name)
        release.main()
        assert TriageModel.load(f"data/release/{USE}.baro") == model_of(name)
        assert decision()["why"].startswith("release.classifier names it; ")
        printed = capsys.readouterr().out
        assert f"- {USE}: released; release.classifier names it; " in printed
        assert f"  - {USE}, {name}: AUC " in printed
        assert "90 % interval" in printed
    assert "svm: AUC " in Path("data/release/release.md").read_text()


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize("name", NAMES)
def test_named_classifier_judges_candidates_and_results(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    set_released(name)
    classify.main()
    table = pd.read_csv("data/reports/classify/classified.csv")
    assert set(table["model"]) == {file_digest(Path("data/models", name, f"{USE}.baro"))}
    assert (table["real"] == (table["series"] % 2 == 0)).mean() > 0.7
    points = pd.read_parquet("data/interim/points.parquet")
    values = points.loc[points["series"] == 0, "value"].tolist()
    Path("values.csv").write_text("\n".join(["value", *map(str, values)]))
    path = Path("data/models", name, f"{USE}.baro")
    with pytest.raises(SystemExit) as ended:
        main(["detect", "values.csv", "--model", str(path), "--format", "json"])
    assert not ended.value.code
    [series] = json.loads(capsys.readouterr().out)["series"]
    printed = {point["index"]: point["probability"] for point in series["change_points"]}
    found = Triaged(model=model_of(name)).detect(values)
    assert printed == {point.index: pytest.approx(point.probability) for point in found}
    # The service scores its queue with the same file.
    assert CandidateModel(path).newest() == model_of(name)


def test_best_is_compared_on_rows_that_it_was_not_chosen_on(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While verdicts are scarce, those of the choice are left out of the comparison."""
    seen = []

    def spied(exercise: Any, *_: object) -> Trained:
        seen.append((exercise.learner.name, exercise.is_alone))
        model = replace(small_model(0, USE), metrics={"accuracy": 0.9, "brier": 0.1})
        rows = Judged(TRUTH, GOOD, SERIES)
        return Trained(model, model, rows, rows)

    monkeypatch.setattr(challengers, "train", spied)
    monkeypatch.setattr(train, "draw", lambda *_: None)
    train.main()
    assert seen == [(name, False) for name in NAMES]
    assert trained.is_dir()
