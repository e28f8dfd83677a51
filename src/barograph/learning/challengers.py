"""Learn the models of all uses, each with a twin that can be compared with the champion.

The model that reports candidates also gets a reporting rule: their minimum probability. With enough
verdicts, it has the best F1 on held-out ones. Otherwise simulated people mark whole series, and the
rule's reports are compared with their marks. The F1 hardly changes over a wide range of rules, and
a single peak in that range is chance: it is smoothed over neighbouring rules. Of all rules within
one standard error of the best, the lowest is chosen, because real people mark somewhat smaller
changes than simulated people do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d

from barograph.detection import triaged
from barograph.detection.scoring import CandidateScorer, rule_entry
from barograph.detection.triaged import Triaged, reported, table_of
from barograph.learning import tables
from barograph.learning.candidates import (
    Trained,
    TrainParams,
    held_out,
    shipped,
    train,
    usable_verdicts,
)
from barograph.learning.metrics import f1_of_marks
from barograph.learning.online.pair import train_pair
from barograph.learning.online.truth import Marked
from barograph.models.calibration import choose_threshold
from barograph.models.catalogue import takes_weights
from barograph.models.triage import FILES, USES, TriageModel
from barograph.results.history import History
from barograph.results.series import Floats
from barograph.runtime.errors import NotEnoughDataError
from barograph.runtime.parallel import map_parallel

CHOICES = tuple(round(0.02 * k, 2) for k in range(5, 46, 2))
SMOOTHING = 2.0  # standard deviation of the smoothing, in choices


def train_all(
    params: TrainParams,
    history: History,
    frames: tables.FrameReader,
    prior: Callable[[str, str], tables.Labelled],
    settings: Callable[[str, str], Mapping[str, Any]],
    profile: str,
) -> Iterator[tuple[str, Trained]]:
    """Learn the models of all uses.

    Where verdicts are scarce, the online models also learn from hindsight. The shipped model stays
    for a use that cannot be learned from the verdicts there are.

    Args:
        params: How they are learned.
        history: The series, with the verdicts on their candidates.
        frames: Returns the feature table of a use.
        prior: Returns the simulated rows of a use and a feature set.
        settings: Returns the settings of a use and a classifier that tuning chose.
        profile: The name of the parameters, for the cards.
    """
    rows = {use: usable_verdicts(use, params, frames) for use in USES}
    pair = FILES["online"] if params.learns_histories else ()
    learned = [(use, table) for use, table in rows.items() if use not in pair and table is not None]
    calls = []
    weighs = takes_weights(params.classifier)
    for use, table in learned:
        scarce = weighs and np.unique(table.candidates).size < params.enough
        simulated = prior(use, params.feature_sets[use]) if scarce else None
        chosen = {**settings(use, params.classifier), **params.settings}
        calls.append((use, table, simulated, params, profile, chosen))
    results = map_parallel(train, calls, "train")
    for (use, table), trained in zip(learned, results, strict=True):
        yield use, with_rule(trained, table, params) if use == triaged.USE else trained
    for use in USES:
        if use not in pair and rows[use] is None:
            yield use, shipped(use, "too few verdicts")
    if pair:
        try:
            yield from train_pair(history, rows, params, profile)
        except NotEnoughDataError as error:
            if rows["online"] is not None:
                raise
            for use in pair:
                yield use, shipped(use, str(error))


def with_rule(trained: Trained, rows: tables.Labelled, params: TrainParams) -> Trained:
    """Return a model and its twin with a reporting rule, chosen by what the twin has not seen.

    Args:
        trained: A model for the use `label_free`, and its twin.
        rows: The verdicts that the model was learned from.
        params: What was learned. Verdicts choose the rule if there are enough, else simulated
            people do.
    """
    twin = trained.twin
    if params.histories == "own" and np.unique(rows.candidates).size >= params.enough:
        part = held_out(rows, params.seed).validation
        probability = twin.predict_proba(rows.matrix[part])[:, 1]
        least, source = rule_of_verdicts(rows.truth[part], probability), "verdicts"
    else:
        people = params.simulation("reporting").marked()
        least, source = rule_of_people(twin, people), "simulated people"
    card = {**twin.card, **rule_entry(least, source)}
    return replace(trained, model=replace(trained.model, card=card), twin=replace(twin, card=card))


def rule_of_verdicts(truth: npt.ArrayLike, probability: npt.ArrayLike) -> float:
    """Return the least probability with the best F1 on candidates that a model has not seen.

    Args:
        truth: 1 for the candidates that a person called real, else 0.
        probability: What the model says of them.
    """
    return min(choose_threshold(truth, probability, "f1"), 1.0)


def rule_of_people(model: TriageModel, marked: Marked) -> float:
    """Return the least probability whose reports agree with the marks of people.

    Args:
        model: A model for the use `label_free` that has not seen these series.
        marked: Series with the marks of several people.
    """
    agreement = gaussian_filter1d(agreements(model, marked), SMOOTHING, axis=0, mode="nearest")
    mean = agreement.mean(axis=1)
    best = int(np.argmax(mean))
    error = (agreement - agreement[best]).std(axis=1) / np.sqrt(len(marked))
    return CHOICES[int(np.argmax(mean >= mean[best] - error))]


def agreements(model: TriageModel, marked: Marked) -> Floats:
    """Return the F1 of the reports of each rule of `CHOICES`, rule by series.

    Raises:
        NotEnoughDataError: No series has a candidate.
    """
    series = marked.values, marked.offsets
    points, known = Triaged(model=model).propose(*series)
    if not any(points):
        raise NotEnoughDataError("a reporting rule cannot be chosen without candidates")
    # People mark plots of whole series.
    scorer = CandidateScorer(model, *series, table_of(points), known, divides=False)
    return np.array(
        [
            [
                f1_of_marks([point.index for point in reports], marks)
                for reports, marks in zip(
                    reported(choice, *series, points, scorer.probability(choice)),
                    marked.marks,
                    strict=True,
                )
            ]
            for choice in CHOICES
        ]
    )
