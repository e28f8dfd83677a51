"""Compare a way of learning with the built-in model on every verdict, while verdicts are scarce.

A few dozen verdicts leave too few to hold out. Series and commits are therefore dealt into parts,
and each verdict is judged by a model that was learned without its series and without its commit.
The built-in model has seen none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.evaluation.comparison import auc, compared
from barograph.evaluation.protocols import hashed
from barograph.models.catalogue import real_probability
from barograph.models.triage import TriageModel
from barograph.series import Floats, Ints
from barograph.training import tables

CROSS_FIT = "cross_fit"  # the entry of a card that holds the comparison
PARTS = 4  # of the series, and of the commits: a model learns from nine sixteenths of the verdicts
SEED = 0
Fit = Callable[[Ints], Any]  # learns from some of the rows


def beside_built_in(default: TriageModel, rows: tables.Labelled, fit: Fit) -> dict[str, Any]:
    """Return how models that learn from these verdicts compare with the built-in model.

    Args:
        default: The built-in model, of the same features as the rows.
        rows: The verdicts.
        fit: Learns a classifier from rows by their numbers.

    Returns:
        The number of verdicts that both were judged on, by kind; the AUC of both and its
        difference with a bootstrap interval, if there are verdicts of both kinds.
    """
    probability = cross_fitted(rows, fit)
    judged = np.flatnonzero(np.isfinite(probability))
    truth = rows.truth[judged]
    facts: dict[str, Any] = {"real": int(truth.sum()), "noise": int((1 - truth).sum())}
    if np.unique(truth).size < 2:
        return facts
    new, old = probability[judged], default.predict_proba(rows.matrix[judged])[:, 1]
    comparison = compared(truth, new, old, rows.identities[judged], seed=SEED)
    return facts | {"auc": auc(truth, new), "auc_of_other": auc(truth, old)} | comparison._asdict()


def cross_fitted(rows: tables.Labelled, fit: Fit) -> Floats:
    """Return what models say of each row that saw neither its series nor its commit.

    It is NaN where the other rows are all of one class.
    """
    series = _parts(rows.identities, "series")
    commits = _parts(rows.commits, "commit")
    result = np.full(rows.truth.size, np.nan)
    for own in range(PARTS):
        for commit in range(PARTS):
            judged = np.flatnonzero((series == own) & (commits == commit))
            learned = np.flatnonzero((series != own) & (commits != commit))
            if judged.size and np.unique(rows.truth[learned]).size == 2:
                result[judged] = real_probability(fit(learned), rows.matrix[judged])
    return result


def _parts(names: npt.ArrayLike, kind: str) -> Ints:
    """Deal names into parts; a name is always in the same part."""
    drawn = hashed(names, f"{kind} {SEED}") * PARTS
    return np.minimum(drawn.astype(np.int64), PARTS - 1)
