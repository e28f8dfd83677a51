"""The hybrid of Leznik et al. 2022: a stage with its tables, and a model that can be served."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from barograph.detection import Setds
from barograph.detection.scoring import score_candidates
from barograph.features import FEATURE_SETS, feature_matrix, series_context
from barograph.features.subseries import LABEL_FREE, subseries
from barograph.learning.candidates import Exercise, TrainParams, train
from barograph.learning.tables import bounds_table, build, keys_of, labelled
from barograph.models import TriageModel, artifact
from barograph.models.calibration import ABOVE_HALF
from barograph.models.catalogue import classifier
from barograph.results.history import History
from barograph.results.series import Floats
from barograph.runtime.errors import ArtifactError
from barograph.studies import hybrid
from barograph.studies.statistics import candidate_rows

INTERIM = Path("data/interim")
REPORTS = Path("data/reports")


@pytest.fixture
def history(project: Path) -> History:
    return History.read(project / INTERIM)


def params(classifier: str, feature_set: str) -> TrainParams:
    sets = dict.fromkeys(("adaptive", "label_free", "online", "confirm"), feature_set)
    return TrainParams(sets, (classifier,), "sigmoid", trees=8, goal="accuracy", seed=1)


def trained(history: History, classifier: str, feature_set: str) -> TriageModel:
    """Learn from the label-free table of a feature set."""
    bounds = bounds_table(history, [LABEL_FREE])
    rows = labelled(build(history, bounds, (feature_set,), keys_of(history)), feature_set)
    chosen = params(classifier, feature_set)
    # The authors' leaves need 80 rows each.
    settings = {"model__estimator__min_child_weight": 1} if classifier == "hybrid" else {}
    exercise = Exercise("label_free", chosen.learners("label_free")[0], rows, settings=settings)
    return train(exercise, chosen, "tiny").model


def severity(values: Floats, index: int) -> float:
    """Return the severity at an index from the points of the detector and their baselines."""
    found, start = {}, 0
    for point in Setds().detect(values):
        deviation = values[start : point.index].std(ddof=1)
        found[abs(point.index - index)] = abs(point.statistic) / deviation
        start = point.index
    return found.get(min(found, default=9), 0.0) if min(found, default=9) <= 5 else 0.0


def test_severity_is_that_of_the_detector_on_the_whole_series(history: History) -> None:
    sides = subseries(LABEL_FREE, history.offsets, history.candidates)
    owners = history.candidates.series
    around = history.offsets[owners], history.offsets[owners + 1]
    context = series_context("hybrid", history.values, sides, *around)
    column = feature_matrix(history.values, *sides, "hybrid", context=context)[:, -1]
    expected = [
        severity(history.values_of(series), index)
        for series, index in zip(owners.tolist(), history.candidates.index.tolist(), strict=True)
    ]
    assert column == pytest.approx(expected)
    assert 0.2 < np.mean(column > 0.0) < 0.8
    alone = feature_matrix(history.values, *sides, "setds")[:, 0]
    pairs = zip(sides.starts.tolist(), sides.splits.tolist(), sides.ends.tolist(), strict=True)
    for number, (start, split, end) in zip(alone, pairs, strict=True):
        both = history.values[start:end]  # noqa: PD011 - no frame
        assert number == pytest.approx(severity(both, split - start))


def test_severity_does_not_depend_on_the_unit_and_is_limited() -> None:
    noise = np.random.default_rng(1).normal(size=40)
    values = np.repeat([100.0, 90.0], 20) + noise
    found = feature_matrix(values, [0], [20], [40], "setds")[0, 0]
    assert feature_matrix(8.0 * values, [0], [20], [40], "setds")[0, 0] == pytest.approx(found)
    assert found == pytest.approx(severity(values, 20))
    assert found > 3.0
    flat = np.repeat([100.0, 90.0], 20)
    assert feature_matrix(flat, [0], [20], [40], "setds")[0, 0] == 1e6
    assert feature_matrix(flat * 0.0, [0], [20], [40], "setds")[0, 0] == 0.0


def test_model_with_the_bit_of_the_detector_is_refused(history: History, tmp_path: Path) -> None:
    header, arrays = trained(history, "hybrid", "hybrid").content()
    before = {**header, "columns": [*FEATURE_SETS["leznik"], "setds"]}
    artifact.write(tmp_path / "before.baro", before, arrays)
    message = "other columns of the feature set 'hybrid', version '1'.*: train the model again"
    with pytest.raises(ArtifactError, match=message):
        TriageModel.load(tmp_path / "before.baro", "label_free")


@pytest.mark.parametrize(
    ("name", "feature_set"),
    [
        ("hybrid", "hybrid"),
        ("voting", "leznik"),
        ("delta_votes", "leznik"),
    ],
)
def test_model_is_trained_saved_and_served(
    history: History, tmp_path: Path, name: str, feature_set: str
) -> None:
    model = trained(history, name, feature_set)
    model.save(tmp_path / "label_free.baro")
    model = TriageModel.load(tmp_path / "label_free.baro", "label_free")
    assert (model.classifier.kind, model.feature_set) == ("estimator", feature_set)
    assert (model.threshold == ABOVE_HALF) == (model.calibration is None) == (name != "hybrid")
    candidates = history.candidates
    real = candidates.verdict == "true_positive"
    score = score_candidates(model, history.values, history.offsets, candidates)
    assert score[real].mean() > score[~real].mean() + 0.1


def test_votes_count_from_above_one_half() -> None:
    generator = np.random.default_rng(0)
    matrix = generator.random((400, 6))
    truth = (matrix[:, :2].sum(axis=1) > 1.0).astype(int)
    for name in ("voting", "delta_votes"):
        fitted = classifier(name, seed=0, trees=1).fit(matrix, truth)
        score = fitted.predict_proba(matrix)[:, 1]
        assert (fitted.predict(matrix) == (score >= ABOVE_HALF)).all()
    assert not (np.array([0.5]) >= ABOVE_HALF).any()


@pytest.mark.usefixtures("history")
def test_stage_writes_the_tables_of_the_paper() -> None:
    history = History.read(INTERIM)
    bounds = bounds_table(history, [LABEL_FREE])
    bounds.to_parquet(INTERIM / "subseries.parquet")
    text = Path("params.yaml").read_text()
    mine = "hybrid: {policy: label_free, repetitions: 3}\n"
    Path("params.yaml").write_text(text + mine)
    hybrid.main()
    page = (REPORTS / "hybrid/hybrid.md").read_text()
    assert page.count("\n## ") == 4
    assert all(caption in page for caption in (caption for _, caption in hybrid.TABLES.values()))
    assert "accuracy, low" not in page
    table = pd.read_csv(REPORTS / "hybrid/table8_series.csv").set_index("model")
    assert list(table.index) == ["voting", "Setds", "hybrid", "max. improvement"]
    for rate in ("accuracy", "sensitivity", "specificity"):
        worst = min(table[rate]["voting"], table[rate]["Setds"])
        expected = table[rate]["hybrid"] - worst
        assert table[rate]["max. improvement"] == pytest.approx(expected)
    assert table["accuracy"]["voting"] > 0.9
    result = pd.read_csv(REPORTS / "hybrid/table6_7_detector.csv").iloc[0]
    decided = np.isin(history.candidates.verdict, ("true_positive", "false_positive"))
    detected = [
        len(Setds().detect(history.values_of(k)))
        for k in np.unique(history.candidates.series[decided]).tolist()
    ]
    names = ("true_positive", "false_positive", "not_triaged", "under_investigation")
    assert sum(result[name] for name in (*names, "not annotated")) == sum(detected)
    metrics = json.loads((REPORTS / "hybrid.json").read_text())
    assert metrics["accuracy"]["hybrid"] == pytest.approx(table["accuracy"]["hybrid"])


def test_rows_have_the_features_of_the_decided_candidates(history: History) -> None:
    rows = candidate_rows(history, bounds_table(history, [LABEL_FREE]), "label_free")
    starts, splits, ends = subseries(LABEL_FREE, history.offsets, history.candidates)
    kept = rows["candidate"].to_numpy()
    expected = feature_matrix(history.values, starts[kept], splits[kept], ends[kept], "leznik")
    assert rows[list(FEATURE_SETS["leznik"])].to_numpy().tolist() == expected.tolist()


def test_unknown_verdicts_leave_a_page_without_tables(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds_table(history, [LABEL_FREE]).to_parquet(INTERIM / "subseries.parquet")
    verdicts = np.full_like(history.candidates.verdict, "true_positive")
    one_kind = replace(history, candidates=replace(history.candidates, verdict=verdicts))
    monkeypatch.setattr(History, "read", lambda _: one_kind)
    Path("params.yaml").write_text(
        Path("params.yaml").read_text() + "hybrid: {policy: label_free}\n"
    )
    hybrid.main()
    assert "No tables" in (REPORTS / "hybrid/hybrid.md").read_text()
