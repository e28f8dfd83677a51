"""Learn the two online models from whole histories, and judge them on held-out candidates."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from barograph.errors import ConfigError
from barograph.evaluation.metrics import scores
from barograph.evaluation.protocols import stable_split
from barograph.history import History
from barograph.training import tables
from barograph.training.candidates import (
    Trained,
    TrainParams,
    card,
    held_out_seed,
    prior_weight,
)
from barograph.training.online.histories import Histories, Simulated, own
from barograph.training.online.learn import Prior, boosted, learn


def train_pair(
    history: History, rows: dict[str, tables.Labelled], params: TrainParams, profile: str
) -> Iterator[tuple[str, Trained]]:
    """Learn the two online models and their twins, and judge the twins on held-out candidates.

    Args:
        history: What is learned from, unless `params` asks for simulated histories.
        rows: The verdicts, by use.
        params: What is learned.
        profile: Named on the cards.
    """
    weight = 0.0
    if params.histories == "own":
        histories = own(history, params.points, params.seed)
        verdicts = np.unique(rows["online"].candidates).size
        weight = prior_weight(verdicts, params.prior_weight, params.enough)
    else:
        histories = simulated(params)
    seed = held_out_seed(rows["online"], params.seed)
    truth = histories.truth
    learned = learn(
        truth,
        held_out=histories.held_out(seed),
        prior=Prior(simulated(params).truth, weight) if weight else None,
        make=partial(boosted, trees=params.trees),
        seed=params.seed,
    )
    data_hash = hashlib.sha256(truth.values.tobytes() + truth.changes.tobytes()).hexdigest()

    for model in (learned.online, learned.confirm):
        table, twin = rows[model.use], learned.twins[model.use]
        split = stable_split(table.identities, table.commits, seed)
        verdicts_held_out = table.truth[split.test]
        probability = twin.predict_proba(table.matrix[split.test])[:, 1]
        facts: dict[str, Any] = {
            "data_hash": data_hash,
            "metrics": scores(verdicts_held_out, probability, model.threshold),
            "card": card(table, split, params, profile)
            | {"classifier": "xgboost", "calibration": "sigmoid", "histories": params.histories}
            | {"goal": "3 false alarms in a thousand points", **model.card},
        }
        both = replace(model, **facts), replace(twin, **facts)
        library = learned.libraries[model.use]
        yield model.use, Trained(*both, verdicts_held_out, probability, library)


def simulated(params: TrainParams) -> Histories:
    """Return the simulated histories that the parameters name."""
    try:
        return Simulated(**params.simulated).histories()
    except TypeError as error:
        raise ConfigError(f"train.simulated: {error}") from error
