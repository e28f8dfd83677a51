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
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d

from barograph.detection import triaged
from barograph.detection.scoring import CandidateScorer, rule_entry
from barograph.detection.triaged import Triaged, reported, table_of
from barograph.learning import tables
from barograph.learning.candidates import (
    KEPT,
    Exercise,
    Trained,
    TrainParams,
    shipped,
    starting_point,
    train,
    usable_verdicts,
)
from barograph.learning.comparison import ScoredRows
from barograph.learning.continued import Start
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

PAIR = "pair"  # the name of a model that learned from whole histories
CHOICES = tuple(round(0.02 * k, 2) for k in range(5, 46, 2))
SMOOTHING = 2.0  # standard deviation of the smoothing, in choices


def train_all(
    params: TrainParams,
    history: History,
    frames: tables.FrameReader,
    prior: Callable[[str, str], tables.Labelled],
    settings: Callable[[str, str], Mapping[str, Any]],
    profile: str,
) -> Iterator[tuple[str, dict[str, Trained]]]:
    """Learn the models of all uses; yield those of a use by the names of their learners.

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
    frame = cache(frames)
    exercises = {
        use: [*_exercises(use, params, frame, prior, settings)]
        for use in USES
        if use not in pair and rows[use] is not None
    }
    calls = [(each, params, profile) for many in exercises.values() for each in many]
    results = iter(map_parallel(train, calls, "train"))
    for use, many in exercises.items():
        models = {each.learner.name: next(results) for each in many}
        if use == triaged.USE:
            models = with_rules(models, many[0].rows, params)
        yield use, models
    for use in USES:
        if use not in pair and rows[use] is None:
            yield use, {KEPT: shipped(use, "too few verdicts")}
    if pair:
        try:
            learned = dict(train_pair(history, rows, params, profile))
        except NotEnoughDataError as error:
            if rows["online"] is not None:
                raise
            learned = {use: shipped(use, str(error)) for use in pair}
        yield from ((use, {PAIR: model}) for use, model in learned.items())


def _exercises(
    use: str,
    params: TrainParams,
    frames: tables.FrameReader,
    prior: Callable[[str, str], tables.Labelled],
    settings: Callable[[str, str], Mapping[str, Any]],
) -> Iterator[Exercise]:
    """Yield what the models of a use learn from: the same verdicts, each with its features."""
    scarce, built_in = _scarce(use, params, frames)
    for learner in params.learners(use):
        rows, chosen = params.verdicts(use, learner.feature_set, frames), {}
        simulated, start = None, None
        if (model := starting_point(use, learner, params)) is not None:
            X = prior(use, learner.feature_set).matrix
            start = Start.of(model, X, np.ones(len(X)))
        else:  # a search finds settings of a model that does not start at another
            chosen = dict(settings(use, learner.name))
            if scarce and takes_weights(learner.classifier):
                simulated = prior(use, learner.feature_set)
        chosen |= params.settings.get(learner.name, {})
        is_alone = len(params.classifiers) == 1
        yield Exercise(use, learner, rows, simulated, start, built_in, chosen, is_alone)


def _scarce(
    use: str, params: TrainParams, frames: tables.FrameReader
) -> tuple[bool, ScoredRows | None]:
    """Return whether verdicts are scarce, and then what the built-in model says of them."""
    rows = params.verdicts(use, params.feature_sets[use], frames)
    if np.unique(rows.candidates).size >= params.enough:
        return False, None
    default = TriageModel.default(use)
    if default.feature_set not in frames(use).attrs["feature_sets"]:
        return True, None
    known = params.verdicts(use, default.feature_set, frames)
    return True, ScoredRows(default.predict_proba(known.matrix)[:, 1], default.threshold)


def with_rules(
    models: Mapping[str, Trained], rows: tables.Labelled, params: TrainParams
) -> dict[str, Trained]:
    """Return models and their twins with reporting rules, chosen by what the twins have not seen.

    Args:
        models: Models for the use `label_free`.
        rows: The verdicts that they were learned from.
        params: What was learned. Verdicts choose the rules if there are enough, else simulated
            people do.
    """
    if params.histories == "own" and np.unique(rows.candidates).size >= params.enough:
        source = "verdicts"
        least = [_rule_of_twin(each) for each in models.values()]
    else:
        source, people = "simulated people", params.simulation("reporting").marked()
        least = [rule_of_people(each.twin, people) for each in models.values()]
    rules = (rule_entry(probability, source) for probability in least)
    return {name: models[name].with_entry(rule) for name, rule in zip(models, rules, strict=True)}


def _rule_of_twin(trained: Trained) -> float:
    """Return the rule by the validation rows of a twin."""
    truth, score, _ = trained.validation
    calibration = trained.twin.calibration
    return rule_of_verdicts(truth, score if calibration is None else calibration(score))


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
