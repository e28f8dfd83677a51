"""Learn the two online models from whole histories, and compare them with another pair.

They are judged on held-out candidates, and by which of two pairs reports more changes in time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from barograph.detection.online.budget import lead_of, weights_of
from barograph.learning import tables
from barograph.learning.candidates import Judged, Trained, TrainParams, card, held_out_seed
from barograph.learning.comparison import Comparison
from barograph.learning.metrics import scores
from barograph.learning.online.alarms import DELAYS, SecondLookAlarms, at_rate, known_within
from barograph.learning.online.histories import Histories, Simulated, histories_of
from barograph.learning.online.learn import Learned, Prior, boosted, learn, surprises_of
from barograph.learning.online.pool import PRIOR
from barograph.learning.online.truth import Truth
from barograph.learning.protocols import stable_split
from barograph.models.trees import Boosted
from barograph.models.triage import FILES, OnlineModels, TriageModel
from barograph.results.history import History
from barograph.results.series import Flags, Floats
from barograph.runtime.errors import DataError, NotEnoughDataError

LabelledRows = Mapping[str, tables.Labelled | None]
# True verdicts from which on pairs are compared by verdicts, and not by what hindsight shows.
COMPARABLE = 100
HINDSIGHT = "verdicts and hindsight"
VERDICTS = "verdicts"
BESIDE = "beside_shipped"  # the entry of a card that holds the comparison with the shipped pair
RATE = 3.0  # false alarms in a thousand points, at which two pairs are compared
DRAWS = 1000
Surprises = Mapping[int, Floats]


@dataclass(frozen=True)
class Lesson:
    """What a pair learns from, and what it is compared by.

    Attributes:
        histories: All points, and what is a change.
        labels: What names a change: `simulated people`, `verdicts`, or `verdicts and hindsight`.
        seed: Chooses the points that are held out.
        judge: The same points with the changes that pairs are compared by.
        judge_labels: What names these: `verdicts`, or `hindsight` where verdicts are too few.
    """

    histories: Histories
    labels: str
    seed: int
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
        people = params.simulation("simulated").histories()
        return Lesson(people, "simulated people", seed, people.truth, "simulated people")
    verdicts = 0 if newest is None else np.unique(newest.candidates).size
    judged = histories_of(history, params.points, params.seed)
    if verdicts >= params.enough:
        return Lesson(judged, VERDICTS, seed, judged.truth, VERDICTS)
    labelled = histories_of(history, params.points, params.seed, hindsight=True)
    if judged.truth.changes.size >= COMPARABLE:
        return Lesson(labelled, HINDSIGHT, seed, judged.truth, VERDICTS)
    return Lesson(labelled, HINDSIGHT, seed, labelled.truth, "hindsight")


def train_pair(
    history: History, rows: LabelledRows, params: TrainParams, profile: str
) -> Iterator[tuple[str, Trained]]:
    """Learn the two online models and their twins, and judge the twins on held-out candidates.

    The built-in pair is continued, unless `params` asks for simulated histories.

    Args:
        history: What is learned from, unless `params` asks for simulated histories.
        rows: The verdicts, by use; None where there are too few.
        params: What is learned.
        profile: Named on the cards.
    """
    material = lesson(history, rows["online"], params)
    truth = material.histories.truth
    held_out = material.histories.held_out(material.seed)
    make = partial(boosted, trees=params.trees)
    further = {}
    if params.histories != "simulated":
        further = continuing(OnlineModels.default(), params.simulated or PRIOR)
    learned = learn(truth, held_out=held_out, make=make, seed=params.seed, **further)
    facts: dict[str, Any] = {
        "classifier": "xgboost",
        "calibration": "sigmoid",
        "histories": params.histories,
        "labels": material.labels,
        "held_out_seed": material.seed,
        "goal": "3 false alarms in a thousand points",
    }
    if material.labels == HINDSIGHT:  # verdicts were too scarce to learn from them alone
        facts[BESIDE], _ = _beside_shipped(learned, material, params.seed)
    data_hash = hashlib.sha256(truth.values.tobytes() + truth.changes.tobytes()).hexdigest()
    for model in (learned.online, learned.confirm):
        table, twin = rows[model.use], learned.twins[model.use]
        shown: dict[str, Any] = {"profile": profile, "trees": params.trees, "seed": params.seed}
        shown["rows"] = 0
        test = Judged()
        if table is not None:
            split = stable_split(table.identities, table.commits, material.seed)
            shown = card(table, split, params, profile, facts["classifier"])
            probability = twin.predict_proba(table.matrix[split.test])[:, 1]
            test = Judged(table.truth[split.test], probability, table.identities[split.test])
        described: dict[str, Any] = {
            "data_hash": data_hash,
            "metrics": scores(*test[:2], model.threshold) if test.truth.size else {},
            "card": {**shown, **facts, **model.card},
        }
        both = replace(model, **described), replace(twin, **described)
        yield model.use, Trained(*both, test)


def continuing(pair: OnlineModels, simulated: Simulated = PRIOR) -> dict[str, Any]:
    """Return the arguments with which `learn` continues a pair.

    Args:
        pair: The pair.
        simulated: The histories about which it is to remember what it says.
    """
    start = {m.use: m.classifier for m in pair.members if isinstance(m.classifier, Boosted)}
    prior = Prior(simulated.histories().truth, 1.0)
    card = pair.members[-1].card
    settings = {"weights": weights_of(card), "lead": lead_of(card)}
    return {"start": start, "prior": prior, **settings}


def beside_champion(
    material: Lesson, twins: Mapping[str, TriageModel], champion: Mapping[str, TriageModel]
) -> tuple[dict[str, Any], Comparison]:
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
    new, other = (alarms_of(pair, rest) for pair in (twins, champion))
    return compare_pairs(material.judge_labels, new, other)


def _beside_shipped(
    learned: Learned, material: Lesson, seed: int
) -> tuple[dict[str, Any], Comparison]:
    """Compare what models say of groups that they did not see with what the shipped pair says."""
    truth = material.judge.without(material.histories.held_out(material.seed))
    shipped = {use: TriageModel.default(use) for use in FILES["online"]}
    new = SecondLookAlarms(truth, learned.surprises, weights_of(learned.confirm.card))
    other = alarms_of(shipped, truth, like=learned.surprises)
    return compare_pairs(material.judge_labels, new, other, seed=seed)


def alarms_of(
    pair: Mapping[str, TriageModel], truth: Truth, *, like: Surprises | None = None
) -> SecondLookAlarms:
    """Return the alarms of a pair over histories that it has not seen.

    Args:
        pair: The models, by use.
        truth: The histories.
        like: The surprises of another pair; points that it did not judge are left out.
    """
    surprises: Surprises = surprises_of(pair["online"], pair["confirm"], truth)
    if like is not None:
        surprises = {w: np.where(np.isfinite(like[w]), surprises[w], -np.inf) for w in surprises}
    return SecondLookAlarms(truth, surprises, weights_of(pair["confirm"].card))


def compare_pairs(
    labels: str, new: SecondLookAlarms, other: SecondLookAlarms, *, seed: int = 0
) -> tuple[dict[str, Any], Comparison]:
    """Compare the alarms of two pairs, each with its own threshold.

    A change is reported within a delay if an alarm up to that many points later points near it. An
    alarm that points at nothing is false, and so is the second one for the same change.

    Args:
        labels: Where the changes come from: `verdicts` or `hindsight`.
        new: The alarms of the new pair.
        other: Those of the other pair, over the same histories.
        seed: Seed of the bootstrap over groups.

    Returns:
        The entry of a model's card, with the share of the changes that each pair reports within
        each delay; and the gain of their mean, with an interval over drawn groups of series.

    Raises:
        NotEnoughDataError: There is no change to find.
    """
    truth = new.truth
    if not truth.changes.size:
        raise NotEnoughDataError(f"no change by {labels}: the two pairs cannot be compared")
    known = [_known(alarms) for alarms in (new, other)]
    groups = truth.groups[truth.series[truth.changes]]
    _, group = np.unique(groups, return_inverse=True)
    lead = np.bincount(group, (known[0].sum(axis=0) - known[1].sum(axis=0)).astype(np.float64))
    reports = len(DELAYS) * np.bincount(group)  # that are possible in each group
    drawn = np.random.default_rng(seed).integers(0, lead.size, (DRAWS, lead.size))
    gaps = lead[drawn].sum(axis=1) / reports[drawn].sum(axis=1)
    gain = Comparison.of(float(lead.sum() / reports.sum()), gaps, int((lead != 0).sum()))
    entry = {
        "labels": labels,
        "changes": truth.changes.size,
        "false_per_thousand": RATE,
        "delays": list(DELAYS),
        "reported": known[0].mean(axis=1).tolist(),
        "reported_by_other": known[1].mean(axis=1).tolist(),
    }
    return entry | gain._asdict(), gain


def _known(alarms: SecondLookAlarms) -> Flags:
    """Return for each delay whether each change is known by then."""
    raised = alarms(at_rate(alarms.truth, alarms, RATE))
    return np.stack([known_within(alarms.truth, raised, delay) for delay in DELAYS])
