"""Mix simulated verdicts with a user's own until there are enough of those."""

from pathlib import Path
from typing import Any

import numpy as np

from barograph.errors import ConfigError
from barograph.series import Floats, Ints
from barograph.training import tables

FOLDER = Path("data/prior")


def read_prior(use: str, feature_set: str) -> tables.Labelled:
    """Read the simulated rows of one use."""
    return tables.labelled(tables.read_for(use, FOLDER), feature_set)


def faded(verdicts: int, weight: float, enough: int) -> float:
    """Return what a simulated row weighs beside so many own verdicts: less with each, then none."""
    if weight < 0:
        raise ConfigError(f"prior_weight is {weight}; expected a number of at least 0")
    return weight * max(0.0, 1.0 - verdicts / enough) if enough > 0 else 0.0


def fit_with_prior(
    model: Any, matrix: Floats, truth: Ints, prior: tables.Labelled, weight: float
) -> Any:
    """Fit a pipeline to own rows of weight 1 and simulated ones of a lower weight."""
    if not weight:
        return model.fit(matrix, truth)
    both = np.concatenate([matrix, prior.matrix])
    verdicts = np.concatenate([truth, prior.truth])
    weights = np.concatenate([np.ones(truth.size), np.full(prior.truth.size, weight)])
    return model.fit(both, verdicts, model__sample_weight=weights)
