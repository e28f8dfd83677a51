"""The model of Algorithm 1 of Bauer et al. 2022: a forest that judges the newest point alone."""

from __future__ import annotations

import hashlib

from barograph.features import FEATURE_SETS
from barograph.learning import tables
from barograph.models.artifact import versions
from barograph.models.classifiers import random_forest
from barograph.models.kinds import from_fitted
from barograph.models.triage import TriageModel

POLICY = "adaptive:w0"  # Pre from the last confirmed point, After the point alone (3.4)
FEATURE_SET = "bauer8"
MAJORITY = 0.5


def learn_forest(*, trees: int, seed: int) -> TriageModel:
    """Return the forest over the paper's characteristics; the majority of its trees decides.

    It learns from the feature table of POLICY.

    Args:
        trees: Number of trees.
        seed: Seed of the forest.

    Raises:
        NotEnoughDataError: The verdicts are all of one class.
        DataError: The table is missing, or has other features.
    """
    rows = tables.labelled(tables.read(POLICY), FEATURE_SET)
    forest = random_forest(seed, trees).fit(rows.matrix, rows.truth)
    card = {
        "classifier": "random_forest",
        "trees": trees,
        "seed": seed,
        "rows": int(rows.truth.size),
        "share_true": float(rows.truth.mean()),
        "limits": "Learned from candidates only, with the confirmed points in between known. A "
        "replay knows only the points that it found.",
    }
    return TriageModel(
        use="online",
        feature_set=FEATURE_SET,
        columns=FEATURE_SETS[FEATURE_SET],
        threshold=MAJORITY,
        classifier=from_fitted(forest),
        card=card,
        versions=versions(),
        data_hash=hashlib.sha256(rows.digest).hexdigest(),
    )
