"""The hybrid of Leznik et al. 2022, Figure 1: Tables 5 to 8 on triaged points, theirs or your own.

A detector (SETDS for Perfomalist) and the votes of the deltas each classify a candidate; XGBoost
gets both and the deltas, and learns which of them is wrong when.

Their tables use the names of the rates differently: Table 5 counts "no change point" as positive,
and Table 7 prints predictive values. Here every rate follows from the confusion counts, with a real
change as the positive class.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import roc_auc_score

from barograph.detection import Setds
from barograph.features import FEATURE_SETS
from barograph.models.stacked import StackedTriage
from barograph.models.voting import VotingTriage
from barograph.results.history import History
from barograph.results.series import Flags, Floats, Ints, Verdict
from barograph.studies.detector_benchmark.tables import by_verdict, triaged_series

FEATURES = FEATURE_SETS["leznik"]
PROTOCOLS = ("rows", "series")
TEST_SHARE = 0.1
REPETITIONS = 10
DETECTOR = "Setds"
IMPROVEMENT = "max. improvement"


@dataclass(frozen=True)
class TriagedPoints:
    """Triaged points, as Leznik et al. published theirs."""

    features: Floats  # the five deltas and the distance
    perfomalist: Flags  # whether this detector found the point
    truth: Ints
    series: Ints

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


def of_rows(rows: pd.DataFrame) -> TriagedPoints:
    """Return the points of the table of `statistics.candidate_rows`."""
    return TriagedPoints(
        features=rows[list(FEATURES)].to_numpy(dtype=np.float64),
        perfomalist=(rows["setds"] > 0).to_numpy(dtype=bool),
        truth=np.asarray(rows["verdict"] == Verdict.TRUE_POSITIVE.value, dtype=np.int64),
        series=rows["series"].to_numpy(dtype=np.int64),
    )


def rates(truth: Ints, predicted: npt.ArrayLike, score: Floats | None = None) -> Rates:
    """Return the rates of predictions from their confusion counts; NaN for an empty class."""
    right = np.asarray(predicted).astype(np.int64) == truth
    parts = (right, right[truth == 1], right[truth == 0])
    all_, real, noise = (float(part.mean()) if part.size else float("nan") for part in parts)
    both = score is not None and np.unique(truth).size == 2
    return Rates(all_, real, noise, float(roc_auc_score(truth, score)) if both else float("nan"))


def voting_rates(points: TriagedPoints) -> dict[str, Rates]:
    """Return Table 5: the votes without and with distance, as printed and as fitted here."""
    table = {}
    for use_distance, name in ((False, "without distance"), (True, "with distance")):
        printed = VotingTriage.published(use_distance=use_distance)
        learned = VotingTriage(use_distance=use_distance).fit(points.features, points.truth)
        for label, voting in (("voting", printed), ("voting, fitted", learned)):
            score = voting.score_samples(points.features)
            predicted = voting.predict(points.features)
            table[f"{label} {name}"] = rates(points.truth, predicted, score)
    return table


def splits(
    points: TriagedPoints, protocol: str, repetitions: int = REPETITIONS
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the row numbers of the training and test parts of random 90/10 splits.

    They are splits of the rows, as in their code, or of the series, as in their text. Points of one
    series are near copies of each other, so the first protocol is optimistic.
    """
    owner = points.series if protocol == "series" else np.arange(points.truth.size)
    groups = int(owner.max()) + 1
    for child in np.random.SeedSequence(0).spawn(repetitions):
        is_test = np.zeros(groups, dtype=bool)
        order = np.random.default_rng(child).permutation(groups)
        is_test[order[: round(groups * TEST_SHARE)]] = True
        yield np.flatnonzero(~is_test[owner]), np.flatnonzero(is_test[owner])


def fit_and_rate(model: Any, points: TriagedPoints, train: Ints, test: Ints) -> Rates:
    """Fit a model on one part and return the rates on the other, with the threshold 0.5."""
    model.fit(points.inputs[train], points.truth[train])
    score = model.predict_proba(points.inputs[test])[:, 1]
    return rates(points.truth[test], score > 0.5, score)


def detector_table(history: History, seed: int = 0) -> pd.DataFrame:
    """Return Tables 6 and 7: what the detector finds in all series with a decided candidate."""
    return by_verdict(triaged_series(history, len(history), seed), {DETECTOR: Setds()}, seed)


def hybrid_table(points: TriagedPoints, protocol: str, repetitions: int) -> pd.DataFrame:
    """Return Table 8: mean rates of votes, detector and hybrid over the same 90/10 splits.

    The votes are learned on the training part. The last row is how much better the hybrid is than
    the worse of the other two, as in the paper.

    Args:
        points: The triaged points.
        protocol: `rows` or `series`, see `splits`.
        repetitions: The number of splits.
    """
    rated: dict[str, list[Rates]] = {"voting": [], DETECTOR: [], "hybrid": []}
    truth, features = points.truth, points.features
    for seed, (train, test) in enumerate(splits(points, protocol, repetitions)):
        votes = VotingTriage().fit(features[train], truth[train])
        score, predicted = votes.score_samples(features[test]), votes.predict(features[test])
        rated["voting"].append(rates(truth[test], predicted, score))
        rated[DETECTOR].append(rates(truth[test], points.perfomalist[test]))
        rated["hybrid"].append(fit_and_rate(StackedTriage(random_state=seed), points, train, test))
    means = {name: Rates(*np.mean(drawn, axis=0).tolist()) for name, drawn in rated.items()}
    table = rates_table(means)
    best = table.iloc[2][list(Rates._fields)]
    worst = table.iloc[:2][list(Rates._fields)].min()
    gain = pd.DataFrame([{"model": IMPROVEMENT, **(best - worst).to_dict(), "auc": np.nan}])
    return pd.concat([table, gain], ignore_index=True)


def rates_table(rows: Mapping[str, Rates]) -> pd.DataFrame:
    """Return rates as a table, one row for each model."""
    return pd.DataFrame([{"model": name, **rated._asdict()} for name, rated in rows.items()])
