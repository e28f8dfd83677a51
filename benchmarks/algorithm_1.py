"""Algorithm 1 of Bauer et al. 2022 with the paper's features, learned from people's marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from barograph.detection.online import OnlineDetector
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.learning.online.alarms import Alarms, Raised
from barograph.learning.online.rows import CALM
from barograph.learning.online.truth import Truth
from barograph.models.kinds import from_fitted
from barograph.models.triage import TriageModel

TREES = 100
# Pre depends on what was found, so every threshold is a replay of its own: a few must do.
GRID = (0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6)


@dataclass(frozen=True)
class Algorithm1:
    """A forest on the characteristics of Pre, from the last change found, and of the point."""

    model: TriageModel

    @classmethod
    def learn(cls, truth: Truth, seed: int = 0) -> Algorithm1:
        """Learn with Pre from the last change that people saw; rows are drawn as for our models."""
        generator = np.random.default_rng(seed)
        points = np.arange(truth.values.size)
        last = np.zeros(points.size, dtype=np.int64)
        last[truth.changes] = truth.changes
        previous = np.concatenate([[0], np.maximum.accumulate(last)[:-1]])
        starts = np.maximum(truth.offsets[truth.series], previous)
        change = np.isin(points, truth.changes)
        clean = np.flatnonzero(truth.judged & ~change & ~truth.marked)
        drawn = generator.permutation(clean)[:CALM]
        chosen = np.concatenate([truth.changes, np.sort(drawn)])
        # A wrong alarm makes Pre short: each row is learned from with a shorter Pre as well.
        lengths = chosen - starts[chosen]
        shorter = chosen - np.exp(generator.uniform(0.0, np.log(lengths))).astype(np.int64)
        begins, chosen = np.concatenate([starts[chosen], shorter]), np.tile(chosen, 2)
        X = feature_matrix(truth.values, begins, chosen, chosen + 1, "bauer8", threads=2)
        forest = RandomForestClassifier(TREES, min_samples_leaf=2, random_state=seed, n_jobs=2)
        forest.fit(X, change[chosen].astype(np.int64))
        columns = FEATURE_SETS["bauer8"]
        return cls(TriageModel("online", "bauer8", columns, 0.5, from_fitted(forest), {}))

    def on(self, truth: Truth) -> Alarms:
        """Return the alarms of a replay at every threshold of the grid; others are rounded up."""
        raised: Mapping[float, Raised] = {p: self._raised(truth, p) for p in GRID}
        nothing = Raised.of(np.zeros(truth.values.size, dtype=np.bool_))

        def alarms(threshold: float) -> Raised:
            above = [p for p in GRID if p >= threshold]
            return raised[above[0]] if above else nothing

        return alarms

    def _raised(self, truth: Truth, threshold: float) -> Raised:
        model = replace(self.model, threshold=threshold)
        decisions = [
            decision
            for values in np.split(truth.values, truth.offsets[1:-1])
            for decision in OnlineDetector.algorithm_1(model, values)
        ]
        return Raised.of(np.array([decision.is_change for decision in decisions]))
