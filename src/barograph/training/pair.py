"""The two models of the online detector, taught on every point of whole histories."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from barograph.evaluation.metrics import scores
from barograph.evaluation.protocols import lasting_split
from barograph.history import History
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.training import tables
from barograph.training.candidates import Trained, TrainParams, card, drawn
from barograph.training.histories import own
from barograph.training.mixing import faded
from barograph.training.online import Prior, learn
from barograph.training.online.fit import boosted


def train_pair(
    rows: dict[str, tables.Labelled], params: TrainParams, profile: str
) -> Iterator[tuple[str, Trained]]:
    """Learn the two online models and their twins, and judge those on held-out candidates."""
    if params.histories == "own":
        known = own(History.read(INTERIM), params.points, params.seed)
        verdicts = np.unique(rows["online"].candidates).size
        weight = faded(verdicts, params.prior_weight, params.enough)
    else:
        known, weight = params.simulated_histories(), 0.0
    draw = drawn(rows["online"], params.seed)
    learned = learn(
        known.truth,
        apart=known.apart(draw),
        prior=Prior(params.simulated_histories().truth, weight) if weight else None,
        make=partial(boosted, trees=params.trees),
        seed=params.seed,
    )
    data = hashlib.sha256(known.truth.values.tobytes() + known.truth.changes.tobytes())
    for model in (learned.online, learned.confirm):
        table, twin = rows[model.use], learned.twins[model.use]
        split = lasting_split(table.identities, table.commits, draw)
        probability = twin.predict_proba(table.matrix[split.test])[:, 1]
        truth = table.truth[split.test]
        facts: dict[str, Any] = {
            "metrics": {**scores(truth, probability, model.threshold)},
            "data_hash": data.hexdigest(),
            "card": card(table, split, params, profile)
            | {"classifier": "xgboost", "calibration": "sigmoid", "histories": params.histories}
            | {"goal": "3 false alarms in a thousand points", **model.card},
        }
        library = learned.libraries[model.use]
        told, told_twin = replace(model, **facts), replace(twin, **facts)
        yield model.use, Trained(told, told_twin, truth, probability, library)
