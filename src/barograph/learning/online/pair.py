"""Learn the two online models from whole histories, and judge them on held-out candidates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from barograph.learning import tables
from barograph.learning.candidates import Trained, TrainParams, card, held_out_seed, prior_weight
from barograph.learning.metrics import scores
from barograph.learning.online.histories import Histories, Simulated, histories_of
from barograph.learning.online.learn import Learned, Prior, boosted, learn, surprises_of
from barograph.learning.online.pair_comparison import (
    BESIDE,
    PairComparison,
    compare_pairs,
    surprises_like,
)
from barograph.learning.online.truth import Truth
from barograph.learning.protocols import stable_split
from barograph.models.triage import FILES, TriageModel
from barograph.results.history import History
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import ConfigError, DataError

LabelledRows = Mapping[str, tables.Labelled | None]
# True verdicts from which on pairs are compared by verdicts, and not by what hindsight shows.
COMPARABLE = 100
HINDSIGHT = "verdicts and hindsight"
VERDICTS = "verdicts"


@dataclass(frozen=True)
class Lesson:
    """What a pair learns from, and what it is compared by.

    Attributes:
        histories: All points, and what is a change.
        labels: What names a change: `simulated people`, `verdicts`, or `verdicts and hindsight`.
        seed: Chooses the points that are held out.
        prior_weight: Weight of each row of simulated histories that are mixed in; 0 for none.
        judge: The same points with the changes that pairs are compared by.
        judge_labels: What names these: `verdicts`, or `hindsight` where verdicts are too few.
    """

    histories: Histories
    labels: str
    seed: int
    prior_weight: float
    judge: Truth
    judge_labels: str


def lesson(history: History, newest: tables.Labelled | None, params: TrainParams) -> Lesson:
    """Return what the pair learns from: verdicts, and hindsight where they are scarce.

    Args:
        history: What is learned from, unless `params` asks for simulated histories.
        newest: The verdicts that the model of the newest point is judged by; None if too few.
        params: What is learned.
    """
    seed = params.seed if newest is None else held_out_seed(newest, params.seed)
    if params.histories == "simulated":
        people = simulated(params)
        return Lesson(people, "simulated people", seed, 0.0, people.truth, "simulated people")
    verdicts = 0 if newest is None else np.unique(newest.candidates).size
    weight = prior_weight(verdicts, params.prior_weight, params.enough)
    judged = histories_of(history, params.points, params.seed)
    if verdicts >= params.enough:
        return Lesson(judged, VERDICTS, seed, weight, judged.truth, VERDICTS)
    labelled = histories_of(history, params.points, params.seed, hindsight=True)
    if judged.truth.changes.size >= COMPARABLE:
        return Lesson(labelled, HINDSIGHT, seed, weight, judged.truth, VERDICTS)
    return Lesson(labelled, HINDSIGHT, seed, weight, labelled.truth, "hindsight")


def train_pair(
    history: History, rows: LabelledRows, params: TrainParams, profile: str
) -> Iterator[tuple[str, Trained]]:
    """Learn the two online models and their twins, and judge the twins on held-out candidates.

    Args:
        history: What is learned from, unless `params` asks for simulated histories.
        rows: The verdicts, by use; None where there are too few.
        params: What is learned.
        profile: Named on the cards.
    """
    material = lesson(history, rows["online"], params)
    truth = material.histories.truth
    learned = learn(
        truth,
        held_out=material.histories.held_out(material.seed),
        prior=Prior(simulated(params).truth, material.prior_weight)
        if material.prior_weight
        else None,
        make=partial(boosted, trees=params.trees),
        seed=params.seed,
    )
    facts: dict[str, Any] = {
        "classifier": "xgboost",
        "calibration": "sigmoid",
        "histories": params.histories,
        "labels": material.labels,
        "held_out_seed": material.seed,
        "goal": "3 false alarms in a thousand points",
    }
    if material.labels == HINDSIGHT:  # verdicts were too scarce to learn from them alone
        facts[BESIDE] = _beside_shipped(learned, material, params.seed).to_card()
    data_hash = hashlib.sha256(truth.values.tobytes() + truth.changes.tobytes()).hexdigest()
    for model in (learned.online, learned.confirm):
        table, twin = rows[model.use], learned.twins[model.use]
        verdicts, probability = _held_out_verdicts(twin, table, material.seed)
        described: dict[str, Any] = {
            "data_hash": data_hash,
            "metrics": scores(verdicts, probability, model.threshold) if verdicts.size else {},
            "card": {**_card(table, material.seed, params, profile), **facts, **model.card},
        }
        both = replace(model, **described), replace(twin, **described)
        yield model.use, Trained(*both, verdicts, probability)


def compare_with_champion(
    material: Lesson, twins: Mapping[str, TriageModel], champion: Mapping[str, TriageModel]
) -> PairComparison:
    """Compare the twins of two pairs on the points that neither learned from.

    Args:
        material: What the new pair learned from.
        twins: The new twins, by use.
        champion: The twins of the pair in service, by use.

    Raises:
        DataError: The champion has other features.
        NotEnoughDataError: There is no change at these points.
    """
    for use, twin in twins.items():
        if champion[use].feature_set != twin.feature_set:
            raise DataError(f"its model {use} has the features {champion[use].feature_set!r}")
    seeds = material.seed, champion["online"].card["held_out_seed"]
    unseen, unseen_by_champion = map(material.histories.held_out, seeds)
    rest = material.judge.without(~(unseen & unseen_by_champion))
    new, other = (surprises_of(pair["online"], pair["confirm"], rest) for pair in (twins, champion))
    return compare_pairs(rest, material.judge_labels, new, other)


def simulated(params: TrainParams) -> Histories:
    """Return the simulated histories that the parameters name."""
    try:
        return Simulated(**params.simulated).histories()
    except TypeError as error:
        raise ConfigError(f"train.simulated: {error}") from error


def _beside_shipped(learned: Learned, material: Lesson, seed: int) -> PairComparison:
    """Compare what models say of groups that they did not see with what the shipped pair says."""
    truth = material.judge.without(material.histories.held_out(material.seed))
    shipped = {use: TriageModel.default(use) for use in FILES["online"]}
    return compare_pairs(
        truth,
        material.judge_labels,
        learned.surprises,
        surprises_like(shipped, truth, learned.surprises),
        seed=seed,
    )


def _held_out_verdicts(
    twin: TriageModel, table: tables.Labelled | None, seed: int
) -> tuple[Ints, Floats]:
    """Return the held-out verdicts, and the probability that the twin gives to each."""
    if table is None:
        return np.empty(0, dtype=np.int64), np.empty(0)
    test = stable_split(table.identities, table.commits, seed).test
    return table.truth[test], twin.predict_proba(table.matrix[test])[:, 1]


def _card(
    table: tables.Labelled | None, seed: int, params: TrainParams, profile: str
) -> dict[str, Any]:
    if table is None:
        return {"profile": profile, "trees": params.trees, "seed": params.seed, "rows": 0}
    return card(table, stable_split(table.identities, table.commits, seed), params, profile)
