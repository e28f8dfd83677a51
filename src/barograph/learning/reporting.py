"""Choose the reporting rule of a model: the minimum probability of a reported candidate.

With enough verdicts, the rule has the best F1 on held-out ones. Otherwise simulated people mark
whole series, and the rule's reports are compared with their marks. The F1 hardly changes over a
wide range of rules, and a single peak in that range is chance: it is smoothed over neighbouring
rules. Of all rules within one standard error of the best, the lowest is chosen, because real people
mark somewhat smaller changes than simulated people do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d

from barograph.detection.scoring import CandidateScorer, ReportingRule
from barograph.detection.triaged import Triaged, reported, table_of
from barograph.learning import tables
from barograph.learning.annotators import Marked, f1
from barograph.learning.candidates import Trained, TrainParams, held_out
from barograph.learning.online.histories import Simulated
from barograph.models import TriageModel
from barograph.models.threshold import choose_threshold
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError, NotEnoughDataError

CHOICES = tuple(round(0.02 * k, 2) for k in range(5, 46, 2))
SMOOTHING = 2.0  # standard deviation of the smoothing, in choices


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
        rule, source = rule_of_verdicts(rows.truth[part], probability), "verdicts"
    else:
        try:
            simulated = Simulated(**params.reporting)
        except TypeError as error:
            raise ConfigError(f"train.reporting: {error}") from error
        rule, source = rule_of_people(twin, simulated.marked()), "simulated people"
    card = {**twin.card, **rule.entry(source)}
    return replace(trained, model=replace(trained.model, card=card), twin=replace(twin, card=card))


def rule_of_verdicts(truth: npt.ArrayLike, probability: npt.ArrayLike) -> ReportingRule:
    """Return the rule with the best F1 on candidates with verdicts that a model has not seen.

    Args:
        truth: 1 for the candidates that a person called real, else 0.
        probability: What the model says of them.
    """
    return ReportingRule(min(choose_threshold(truth, probability, "f1"), 1.0))


def rule_of_people(model: TriageModel, marked: Marked) -> ReportingRule:
    """Return the rule whose reports agree with the marks of people.

    Args:
        model: A model for the use `label_free` that has not seen these series.
        marked: Series with the marks of several people.
    """
    agreement = gaussian_filter1d(agreements(model, marked), SMOOTHING, axis=0, mode="nearest")
    mean = agreement.mean(axis=1)
    best = int(np.argmax(mean))
    error = (agreement - agreement[best]).std(axis=1) / np.sqrt(len(marked))
    return ReportingRule(CHOICES[int(np.argmax(mean >= mean[best] - error))])


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
                f1([point.index for point in reports], marks)
                for reports, marks in zip(
                    reported(ReportingRule(choice), *series, points, scorer.probability(choice)),
                    marked.marks,
                    strict=True,
                )
            ]
            for choice in CHOICES
        ]
    )
