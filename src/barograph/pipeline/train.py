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
from barograph.errors import NotEnoughDataError
from barograph.history import History
from barograph.models.triage import FILES, TABLES, USES, file_of, save_models
from barograph.parallel import map_parallel
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.pipeline.tune import TABLE, chosen_for
from barograph.training import tables
from barograph.training.candidates import (
    Trained,
    TrainParams,
    read_prior,
    shipped,
    train,
    usable_verdicts,
)
from barograph.training.online.pair import train_pair
from barograph.training.reporting import with_rule
from barograph.training.tracking import tracked

FOLDER = Path("data/models")
TWINS = FOLDER / "judged"
LIBRARY = FOLDER / "library"  # boosted trees in their library's form, for the stage `explain`
FIGURES = report.FOLDER / "train"


def train_all(params: TrainParams) -> Iterator[tuple[str, Trained]]:
    """Learn the models of all uses.

    Where verdicts are scarce, the online models also learn from hindsight. The shipped model stays
    for a use that cannot be learned from the verdicts there are.
    """
    rows = {use: usable_verdicts(use, params) for use in USES}
    pair = FILES["online"] if params.learns_histories else ()
    learned = [(use, table) for use, table in rows.items() if use not in pair and table is not None]
    calls = []
    for use, table in learned:
        scarce = np.unique(table.candidates).size < params.enough
        prior = read_prior(use, params.feature_sets[use]) if scarce else None
        settings = {**chosen_for(use, params.classifier), **params.settings}
        calls.append((use, table, prior, params, profile_name(), settings))
    results = map_parallel(train, calls, "train")
    for (use, table), trained in zip(learned, results, strict=True):
        yield use, with_rule(trained, table, params) if use == triaged.USE else trained
    for use in USES:
        if use not in pair and rows[use] is None:
            yield use, shipped(use, "too few verdicts")
    if pair:
        yield from _train_pair(rows, params)


def _train_pair(
    rows: dict[str, tables.Labelled | None], params: TrainParams
) -> Iterator[tuple[str, Trained]]:
    try:
        yield from train_pair(History.read(INTERIM), rows, params, profile_name())
    except NotEnoughDataError as error:
        if rows["online"] is not None:
            raise
        for use in FILES["online"]:
            yield use, shipped(use, str(error))


def record(use: str, trained: Trained) -> None:
    """Draw what the twin says of the held-out rows, and log the run."""
    from barograph.evaluation.figures import held_out_figure, note_figure

    picture = FIGURES / f"{use}.png"
    if trained.truth.size:
        held_out_figure(trained.truth, trained.probability, use, picture)
    else:
        note_figure(f"{use}: no held-out verdicts", picture)
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
        if trained.library is None:
            (LIBRARY / f"{use}.ubj").unlink(missing_ok=True)  # of an earlier training
        else:
            report.write_bytes(LIBRARY / f"{use}.ubj", trained.library)
        record(use, trained)
    metrics = {use: dict(trained.model.metrics) for use, trained in results.items()}
    report.write_json(report.FOLDER / "train.json", metrics)


if __name__ == "__main__":
    run(main)
