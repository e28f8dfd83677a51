"""Compare a way of learning with the built-in model on every verdict, while verdicts are scarce.

A few dozen verdicts leave too few to hold out. Series and commits are therefore dealt into parts,
and each verdict is judged by a model that was learned without its series and without its commit.
The built-in model has seen none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.learning import tables
from barograph.learning.comparison import ScoredRows, auc, compared, judgements_compared
from barograph.learning.protocols import hashed
from barograph.models.calibration import Calibration
from barograph.models.catalogue import real_probability
from barograph.models.triage import TriageModel
from barograph.results.series import Flags, Floats, Ints

CROSS_FIT = "cross_fit"  # the entry of a card that holds the comparison
PARTS = 4  # of the series, and of the commits: a model learns from nine sixteenths of the verdicts
SEED = 0
Fit = Callable[[Ints], Any]  # learns from some of the rows
# Chooses the calibration and the threshold from verdicts and the scores that they were given.
Rule = Callable[[Ints, Floats], tuple[Calibration | None, float]]


def beside_built_in(
    default: TriageModel, rows: tables.Labelled, fit: Fit, rule: Rule
) -> dict[str, Any]:
    """Return how models that learn from these verdicts compare with the built-in model.

    Args:
        default: The built-in model, of the same features as the rows.
        rows: The verdicts.
        fit: Learns a classifier from rows by their numbers.
        rule: Chooses the calibration and the threshold.

    Returns:
        The number of verdicts that both were judged on, by kind; if there are verdicts of both
        kinds, the AUC of both and its difference with a bootstrap interval, and what
        `judgements_compared` returns.
    """
    score = cross_fitted(rows, fit)
    judged = np.flatnonzero(np.isfinite(score))
    truth = rows.truth[judged]
    facts: dict[str, Any] = rows.verdicts(judged)
    if np.unique(truth).size < 2:
        return facts
    new, old = score[judged], default.predict_proba(rows.matrix[judged])[:, 1]
    comparison = compared(truth, new, old, rows.identities[judged], seed=SEED)
    facts |= {"auc": auc(truth, new), "auc_of_other": auc(truth, old)} | comparison._asdict()
    decided = _decided(rows, score, rule)
    both = np.flatnonzero(np.isfinite(decided.probability))
    if both.size:
        ours = ScoredRows(decided.probability[both], np.asarray(decided.threshold)[both])
        theirs = ScoredRows(default.predict_proba(rows.matrix[both])[:, 1], default.threshold)
        groups = rows.identities[both]
        facts |= judgements_compared(rows.truth[both], ours, theirs, groups, seed=SEED)
    return facts


def cross_fitted(rows: tables.Labelled, fit: Fit) -> Floats:
    """Return what models say of each row that saw neither its series nor its commit.

    It is NaN where the other rows are all of one class.
    """
    result = np.full(rows.truth.size, np.nan)
    for judged, learned in _blocks(rows, np.ones(rows.truth.size, dtype=np.bool_)):
        result[judged] = real_probability(fit(learned), rows.matrix[judged])
    return result


def _decided(rows: tables.Labelled, score: Floats, rule: Rule) -> ScoredRows:
    """Return calibrated probabilities and thresholds that saw neither series nor commit of a row.

    Both are NaN where the other rows are all of one class.
    """
    probability, threshold = np.full((2, score.size), np.nan)
    for judged, others in _blocks(rows, np.isfinite(score)):
        calibration, least = rule(rows.truth[others], score[others])
        probability[judged] = calibration(score[judged]) if calibration else score[judged]
        threshold[judged] = least
    return ScoredRows(probability, threshold)


def _blocks(rows: tables.Labelled, is_known: Flags) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows with those of other series and commits, if these are of both classes."""
    series = _parts(rows.identities, "series")
    commits = _parts(rows.commits, "commit")
    for part in range(PARTS):
        for commit in range(PARTS):
            judged = np.flatnonzero(is_known & (series == part) & (commits == commit))
            others = np.flatnonzero(is_known & (series != part) & (commits != commit))
            if judged.size and np.unique(rows.truth[others]).size == 2:
                yield judged, others


def _parts(names: npt.ArrayLike, kind: str) -> Ints:
    """Deal names into parts; a name is always in the same part."""
    drawn = hashed(names, f"{kind} {SEED}") * PARTS
    return np.minimum(drawn.astype(np.int64), PARTS - 1)
