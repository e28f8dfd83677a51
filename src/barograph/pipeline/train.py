"""Stage `train`: one model for each use, learned from every verdict.

Each model has a twin that is learned without the held-out series and commits. The twin chooses the
calibration and the threshold on validation rows and is judged on the held-out ones; `release`
compares it with the twin of the model in service.

The two online models learn from every point of whole histories, if their feature sets are `online`
and `confirm`; all others from the candidates alone.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from barograph.detection import triaged
from barograph.history import History
from barograph.models.triage import FILES, TABLES, USES, file_of, save_models
from barograph.parallel import map_parallel
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.pipeline.tune import TABLE, chosen_for
from barograph.training import tables
from barograph.training.candidates import Trained, TrainParams, read_prior, train
from barograph.training.online.pair import train_pair
from barograph.training.reporting import with_rule
from barograph.training.tracking import tracked

FOLDER = Path("data/models")
TWINS = FOLDER / "judged"
LIBRARY = FOLDER / "library"  # boosted trees in their library's form, for the stage `explain`
FIGURES = report.FOLDER / "train"


def train_all(params: TrainParams) -> Iterator[tuple[str, Trained]]:
    """Learn the models of all uses."""
    pair = FILES["online"] if params.learns_histories else ()
    rows = {
        use: tables.labelled(
            tables.read_for(use),
            params.feature_sets[use],
            disputed_as_noise=params.disputed_as_noise and use not in pair,
        )
        for use in USES
    }
    single = [use for use in USES if use not in pair]
    calls = []
    for use in single:
        scarce = np.unique(rows[use].candidates).size < params.enough
        prior = read_prior(use, params.feature_sets[use]) if scarce else None
        settings = chosen_for(use, params.classifier)
        calls.append((use, rows[use], prior, params, profile_name(), settings))
    for use, trained in zip(single, map_parallel(train, calls, "train"), strict=True):
        reports = use == triaged.USE
        yield use, with_rule(trained, rows[use], params) if reports else trained
    if pair:
        yield from train_pair(History.read(INTERIM), rows, params, profile_name())


def record(use: str, trained: Trained) -> None:
    """Draw what the twin says of the held-out rows, and log the run."""
    from barograph.evaluation.figures import held_out_figure

    picture = FIGURES / f"{use}.png"
    held_out_figure(trained.truth, trained.probability, use, picture)
    with tracked(f"train {use}") as tracker:
        model = trained.model
        named = {"use": use, "feature_set": model.feature_set, "data_hash": model.data_hash}
        tracker.parameters({k: v for k, v in model.card.items() if k not in TABLES} | named)
        tracker.metrics(model.metrics)
        tracker.keep(picture)
        if TABLE.is_file():  # what was tried before the settings were chosen
            tracker.keep(TABLE)
        tracker.keep(FOLDER / file_of(use))


def main() -> None:
    """Run the stage."""
    results = dict(train_all(parameters(TrainParams, "train")))
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
