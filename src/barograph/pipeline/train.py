"""Stage `train`: one model for each use, learned from every verdict there is.

Each model has a twin that learned without the held-out series and commits. The twin chooses the
calibration and the threshold on validation and is judged on what it has not seen; `release`
compares it with the twin of the model in service.

The two models of the online detector learn from every point of whole histories, if their feature
sets are `online` and `confirm`; all others from the candidates alone.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from barograph.evaluation.experiment import real
from barograph.evaluation.metrics import scores
from barograph.models.catalogue import classifier
from barograph.models.kinds import flattened
from barograph.models.shapley import library_bytes
from barograph.models.triage import FILES, TABLES, USES, TriageModel, file_of, save_models
from barograph.parallel import map_parallel
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.settings import TABLE, Settings, chosen_for
from barograph.pipeline.stage import run
from barograph.series import Ints
from barograph.training import tables
from barograph.training.candidates import PAIR, Trained, TrainParams, card, held_out
from barograph.training.mixing import faded, fit_with_prior, read_prior
from barograph.training.pair import train_pair
from barograph.training.tracking import tracked

FOLDER = Path("data/models")
TWINS = FOLDER / "judged"
LIBRARY = FOLDER / "library"  # boosted trees in their library's form, for the stage `explain` alone
FIGURES = report.FOLDER / "train"


def train(
    use: str,
    rows: tables.Labelled,
    prior: tables.Labelled | None,
    params: TrainParams,
    profile: str,
    settings: Settings,
) -> Trained:
    """Learn the model of one use and its twin, with the settings that were found best."""
    split = held_out(rows, params.seed)
    fitted = _fitted(rows, split.train, prior, params, settings)
    twin = TriageModel.of(
        fitted,
        use,
        str(params.feature_sets[use]),
        truth=rows.truth[split.validation],
        score=real(fitted, rows.matrix[split.validation]),
        goal=params.goal,
        method=params.calibration,
        data_hash=hashlib.sha256(rows.digest).hexdigest(),
    )
    probability = twin.predict_proba(rows.matrix[split.test])[:, 1]
    truth = rows.truth[split.test]
    found = {**scores(truth, probability, twin.threshold)}
    facts = card(rows, split, params, profile) | {"settings": dict(settings)}
    twin = replace(twin, metrics=found, card=facts)
    everything = _fitted(rows, np.arange(rows.truth.size), prior, params, settings)
    model = replace(twin, flat=flattened(everything))
    return Trained(model, twin, truth, probability, library_bytes(everything))


def _fitted(
    rows: tables.Labelled,
    part: Ints,
    prior: tables.Labelled | None,
    params: TrainParams,
    settings: Settings,
) -> Any:
    model = classifier(params.classifier, seed=params.seed, trees=params.trees, settings=settings)
    matrix, truth = rows.matrix[part], rows.truth[part]
    if prior is None:
        return model.fit(matrix, truth)
    weight = faded(np.unique(rows.candidates[part]).size, params.prior_weight, params.enough)
    return fit_with_prior(model, matrix, truth, prior, weight)


def every(params: TrainParams) -> Iterator[tuple[str, Trained]]:
    """Learn the models of all uses."""
    rows = {u: tables.labelled(tables.read_for(u), params.feature_sets[u]) for u in USES}
    single = [use for use in USES if not (params.whole and use in PAIR)]
    calls = []
    for use in single:
        scarce = np.unique(rows[use].candidates).size < params.enough
        prior = read_prior(use, params.feature_sets[use]) if scarce else None
        settings = chosen_for(use, params.classifier)
        calls.append((use, rows[use], prior, params, profile_name(), settings))
    yield from zip(single, map_parallel(train, calls, label="train"), strict=True)
    if params.whole:
        yield from train_pair(rows, params, profile_name())


def record(use: str, trained: Trained) -> None:
    """Draw what the twin said of the held-out rows, and log the run."""
    from barograph.evaluation.figures import held_out_figure

    picture = FIGURES / f"{use}.png"
    held_out_figure(trained.truth, trained.probability, use, picture)
    with tracked(f"train {use}") as recorded:
        model = trained.model
        named = {"use": use, "feature_set": model.feature_set, "data_hash": model.data_hash}
        recorded.parameters({k: v for k, v in model.card.items() if k not in TABLES} | named)
        recorded.metrics(model.metrics)
        recorded.keep(picture)
        if TABLE.is_file():  # what was tried before the settings were chosen
            recorded.keep(TABLE)
        recorded.keep(FOLDER / file_of(use))


def main() -> None:
    """Run the stage."""
    results = dict(every(parameters(TrainParams, "train")))
    for name, uses in FILES.items():
        save_models(FOLDER / f"{name}.baro", [results[use].model for use in uses])
        save_models(TWINS / f"{name}.baro", [results[use].twin for use in uses])
    for use, trained in results.items():
        if trained.library is not None:
            report.write_bytes(LIBRARY / f"{use}.ubj", trained.library)
        record(use, trained)
    metrics = {use: dict(trained.model.metrics) for use, trained in results.items()}
    report.write_json(report.FOLDER / "train.json", metrics)


if __name__ == "__main__":
    run(main)
