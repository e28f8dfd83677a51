"""Candidate models: simulated verdicts are mixed in while own ones are scarce."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.learning import candidates, tables
from barograph.learning.comparison import CROSS_FIT, ScoredRows
from barograph.learning.learners import Learner
from barograph.models.catalogue import classifier
from barograph.models.triage import USES, TriageModel
from barograph.pipeline import train
from barograph.results.series import FINAL
from barograph.runtime.errors import DataError


@pytest.fixture
def labelled(described: Path) -> tables.Labelled:
    """A project whose prior is its own history."""
    shutil.copytree("data/processed", candidates.PRIOR / "data/processed")
    return tables.labelled(tables.read("adaptive"), "bauer8")


def exercise_of(name: str, rows: tables.Labelled, prior: tables.Labelled) -> candidates.Exercise:
    return candidates.Exercise("label_free", Learner(name, name, "bauer8"), rows, prior)


def test_prior_weight_falls_with_every_verdict() -> None:
    sets = dict.fromkeys(USES, "bauer8")
    params = candidates.TrainParams(sets, ("svm",), "sigmoid", 5, "f1", 1, prior_weight=0.4)
    assert params.weight_of_prior(0) == 0.0
    weighed = replace(params, enough=100)
    weights = [weighed.weight_of_prior(verdicts) for verdicts in (0, 50, 100, 200)]
    assert weights == pytest.approx([0.4, 0.2, 0.0, 0.0])


def test_fit_ignores_rows_without_weight(labelled: tables.Labelled) -> None:
    def fitted(weight: float) -> Any:
        sets, turned = dict.fromkeys(USES, "bauer8"), replace(labelled, truth=1 - labelled.truth)
        params = candidates.TrainParams(
            sets, ("random_forest",), "sigmoid", 5, "f1", 1, enough=10**9, prior_weight=weight
        )
        exercise = exercise_of("random_forest", labelled, turned)
        return candidates.fit(exercise, params, np.arange(labelled.truth.size))

    alone = classifier("random_forest", seed=1, trees=5).fit(labelled.matrix, labelled.truth)
    probability = alone.predict_proba(labelled.matrix)
    np.testing.assert_array_equal(fitted(0.0).predict_proba(labelled.matrix), probability)
    heavy = fitted(10.0).predict(labelled.matrix)
    assert (heavy != labelled.truth).mean() > 0.9


@pytest.mark.usefixtures("labelled")
def test_train_reads_prior_only_if_verdicts_are_scarce() -> None:
    shutil.rmtree(candidates.PRIOR)
    train.main()
    params = Path("params.yaml")
    params.write_text(params.read_text().replace("calibration:", "enough: 101\n  calibration:"))
    with pytest.raises(DataError, match=r"prior/data/processed/adaptive\.parquet: no such feature"):
        train.main()


@pytest.mark.usefixtures("labelled")
def test_disputed_candidates_count_as_not_real_on_request() -> None:
    frame = tables.read("adaptive")
    real = frame["verdict"] == "true_positive"
    frame.loc[np.flatnonzero(real)[:7], "verdict"] = "under_investigation"
    decided = tables.labelled(frame, "bauer8")
    everything = tables.labelled(frame, "bauer8", disputed_as_noise=True)
    assert everything.truth.size == decided.truth.size + 7
    assert everything.truth.sum() == decided.truth.sum() == real.sum() - 7


@pytest.mark.usefixtures("described")
def test_unsure_verdicts_train_nothing() -> None:
    frame = tables.read("adaptive")
    final = frame["verdict"].isin(FINAL)
    frame.loc[np.flatnonzero(final)[:7], "verdict"] = "unsure"
    for disputed_as_noise in (False, True):
        kept = tables.labelled(frame, "bauer8", disputed_as_noise=disputed_as_noise)
        assert not set(np.flatnonzero(final)[:7]) & set(kept.candidates.tolist())


@pytest.mark.parametrize(
    ("name", "kind"), [("random_forest", "forest"), ("svm", "estimator"), ("voting", "estimator")]
)
def test_train_keeps_a_model_of_every_classifier(
    name: str, kind: str, labelled: tables.Labelled, tmp_path: Path
) -> None:
    sets = dict.fromkeys(USES, "bauer8")
    params = candidates.TrainParams(sets, (name,), "sigmoid", 5, "accuracy", 1, enough=500)
    result = candidates.train(exercise_of(name, labelled, labelled), params, "tiny")
    result.model.save(tmp_path / "model.baro")
    model = TriageModel.load(tmp_path / "model.baro", "label_free")
    assert model.classifier.kind == kind
    assert model.card["classifier"] == name
    assert model.card["calibration"] == ("none" if model.calibration is None else "sigmoid")
    right = model.predict(labelled.matrix) == labelled.truth
    assert right.mean() > 0.9


def test_rows_that_a_model_was_chosen_on_are_left_out_of_its_comparison(
    labelled: tables.Labelled,
) -> None:
    sets = dict.fromkeys(USES, "bauer8")
    params = candidates.TrainParams(sets, ("random_forest",), "sigmoid", 5, "f1", 1, enough=500)
    built_in = ScoredRows(np.linspace(0.0, 1.0, labelled.truth.size), 0.5)
    exercise = replace(exercise_of("random_forest", labelled, labelled), built_in=built_in)
    judged = []
    for is_alone in (True, False):
        trained = candidates.train(replace(exercise, is_alone=is_alone), params, "tiny")
        facts = trained.twin.card[CROSS_FIT]
        judged.append(facts["real"] + facts["noise"])
    validation = candidates.held_out(labelled, 1).validation
    assert judged[0] == labelled.truth.size
    assert judged[1] == labelled.truth.size - validation.size > 0
