"""Shapley values of boosted trees (TreeSHAP, Lundberg et al. 2020), by XGBoost itself.

For reports alone: they need the library's own model, which keeps how many points went each way.
What is served explains itself by `TriageModel.reasons`.
"""

from typing import Any

import numpy as np

from barograph.errors import ArtifactError
from barograph.models.flat_boosted import FlatBoosted
from barograph.series import Floats

FURTHEST = 1e-4  # in log-odds: what summing in float32 may differ by


def library_bytes(fitted: Any) -> bytes | None:
    """Return the library's own form of boosted trees, also of a pipeline; None for other models."""
    model = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    if type(model).__name__ != "XGBClassifier":  # by name: importing it is slow
        return None
    return bytes(model.get_booster().save_raw("ubj"))


def contributions(library: bytes, flat: FlatBoosted, rows: Floats) -> tuple[float, Floats]:
    """Return the base, and each feature's Shapley value: together the log-odds, before calibration.

    Args:
        library: What `library_bytes` returned.
        flat: The served form of the same model.
        rows: A row of features for each candidate.
    """
    from xgboost import Booster, DMatrix

    booster = Booster({"nthread": 1})
    booster.load_model(bytearray(library))
    data = DMatrix(rows, nthread=1)
    found = booster.predict(data, pred_contribs=True).astype(np.float64)
    gap = float(np.abs(booster.predict(data, output_margin=True) - flat.margin(rows)).max())
    if gap > FURTHEST:
        raise ArtifactError(
            f"the library's model and the served one differ by {gap:.2g} in log-odds, more than "
            f"{FURTHEST}: they are not of the same training"
        )
    return float(found[0, -1]), found[:, :-1]
