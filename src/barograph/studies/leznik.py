"""Tables 5, 7 and 8 of Leznik et al. 2022 on triaged points: theirs, or your own.

Their tables use the names of the rates differently: Table 5 counts "no change point" as positive,
and Table 7 prints predictive values. Here every rate follows from the confusion counts, with a real
change as the positive class.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import roc_auc_score

from barograph.features import FEATURE_SETS
from barograph.models.voting import VotingTriage
from barograph.series import Flags, Floats, Ints, Verdict

FEATURES = FEATURE_SETS["leznik"]
PROTOCOLS = ("rows", "series")
TEST_SHARE = 0.1
REPETITIONS = 10


@dataclass(frozen=True)
class TriagedPoints:
    """Triaged points, as Leznik et al. published theirs."""

    features: Floats  # the five deltas and the distance
    perfomalist: Flags  # whether this detector found the point
    truth: Ints
    series: Ints
    projects: npt.NDArray[np.object_]

    @property
    def inputs(self) -> Floats:
        """The input of the stacked model: the features and the result of the detector."""
        return np.column_stack([self.features, self.perfomalist])


class Rates(NamedTuple):
    """The shares of correct predictions: of all points, of real changes and of noise."""

    accuracy: float
    sensitivity: float
    specificity: float
    auc: float = float("nan")


class TrainTest(NamedTuple):
    """Row numbers of the training part and of the test part."""

    train: Ints
    test: Ints


def of_rows(rows: pd.DataFrame) -> TriagedPoints:
    """Return the points of the table of `statistics.candidate_rows`."""
    return TriagedPoints(
        features=rows[list(FEATURES)].to_numpy(dtype=np.float64),
        perfomalist=(rows["setds"] > 0).to_numpy(dtype=bool),
        truth=np.asarray(rows["verdict"] == Verdict.TRUE_POSITIVE.value, dtype=np.int64),
        series=rows["series"].to_numpy(dtype=np.int64),
        projects=rows["project"].to_numpy(dtype=object),
    )


def rates(truth: Ints, predicted: npt.ArrayLike, score: Floats | None = None) -> Rates:
    """Return the rates of predictions from their confusion counts; NaN for an empty class."""
    right = np.asarray(predicted).astype(np.int64) == truth
    parts = (right, right[truth == 1], right[truth == 0])
    all_, real, noise = (float(part.mean()) if part.size else float("nan") for part in parts)
    both = score is not None and np.unique(truth).size == 2
    return Rates(all_, real, noise, float(roc_auc_score(truth, score)) if both else float("nan"))


def rule_tables(points: TriagedPoints) -> dict[str, Rates]:
    """Return Tables 5 and 7: the voting as printed and as fitted here, and the detector."""
    table = {}
    for use_distance, name in ((False, "without distance"), (True, "with distance")):
        printed = VotingTriage.published(use_distance=use_distance)
        learned = VotingTriage(use_distance=use_distance).fit(points.features, points.truth)
        for label, voting in (("voting", printed), ("voting, fitted", learned)):
            score = voting.score_samples(points.features)
            predicted = voting.predict(points.features)
            table[f"{label} {name}"] = rates(points.truth, predicted, score)
    table["perfomalist"] = rates(points.truth, points.perfomalist)
    return table


def splits(
    points: TriagedPoints, protocol: str, repetitions: int = REPETITIONS
) -> Iterator[TrainTest]:
    """Yield random 90/10 splits: of the rows, as in their code, or of the series, as in their text.

    Points of one series are near copies of each other, so the first protocol is optimistic.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol {protocol!r} is unknown; allowed: {PROTOCOLS}")
    owner = points.series if protocol == "series" else np.arange(points.truth.size)
    groups = int(owner.max()) + 1
    for child in np.random.SeedSequence(0).spawn(repetitions):
        is_test = np.zeros(groups, dtype=bool)
        order = np.random.default_rng(child).permutation(groups)
        is_test[order[: round(groups * TEST_SHARE)]] = True
        yield TrainTest(np.flatnonzero(~is_test[owner]), np.flatnonzero(is_test[owner]))


def fit_and_rate(model: Any, points: TriagedPoints, split: TrainTest) -> Rates:
    """Fit a model on one part and return the rates on the other, with the threshold 0.5."""
    model.fit(points.inputs[split.train], points.truth[split.train])
    score = model.predict_proba(points.inputs[split.test])[:, 1]
    return rates(points.truth[split.test], score > 0.5, score)
