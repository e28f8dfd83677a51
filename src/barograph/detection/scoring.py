"""How likely people would call candidates real, from the series and the other candidates around."""

import numpy as np

from barograph.features import (
    CONTEXT_NAMES,
    LABEL_FREE,
    Candidates,
    contrast_context,
    feature_matrix,
    subseries,
)
from barograph.models import TriageModel
from barograph.series import Floats, Ints


def score_candidates(
    model: TriageModel, values: Floats, offsets: Ints, candidates: Candidates
) -> Floats:
    """Return the probability of a real change at each candidate, bounded by its neighbours.

    Args:
        model: Trained for the use `label_free`.
        values: The values of all series, one behind the other.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        candidates: Every candidate of these series, with the verdicts that were given.
    """
    if candidates.index.size == 0:
        return np.empty(0)
    bounds = subseries(LABEL_FREE, offsets, candidates)
    context = None
    if not set(CONTEXT_NAMES).isdisjoint(model.columns):
        around = offsets[candidates.series], offsets[candidates.series + 1]
        context = contrast_context(values, *bounds, *around)
    rows = feature_matrix(values, *bounds, model.feature_set, context=context)
    return model.predict_proba(rows)[:, 1]
