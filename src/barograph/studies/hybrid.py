"""Stage `hybrid`: Tables 5 to 8 of Leznik et al. 2022 on triaged points, theirs or your own.

The hybrid is that of their Figure 1.

A detector (SETDS for Perfomalist) and the votes of the deltas each classify a candidate; XGBoost
gets the severity of the one, the decision of the other and the deltas, and learns which of them is
wrong when.

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
from barograph.features.setds import NAME as SETDS
from barograph.learning.limits import Count
from barograph.models.stacked import StackedTriage
from barograph.models.voting import VotingTriage
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import page_without_verdicts, parameters, profile_name, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.results.series import Floats, Ints, Verdict
from barograph.studies import statistics
from barograph.studies.detector_tables import by_verdict, triaged_series
from barograph.studies.detectors import formatted
from barograph.studies.statistics import StatisticsParams

FEATURES = FEATURE_SETS["leznik"]
PROTOCOLS = ("rows", "series")
TEST_SHARE = 0.1
REPETITIONS = 10
DETECTOR = "Setds"
IMPROVEMENT = "max. improvement"
FOLDER = report.FOLDER / "hybrid"
# The title and the caption of each table.
TABLES = {
    "table5_voting": (
        "Table 5: the votes on all triaged points",
        "`voting` has the paper's thresholds and weights, `voting, fitted` the medians and shares "
        "of these points. `auc` is that of the weighted share of votes.",
    ),
    "table6_7_detector": (
        "Tables 6 and 7: SETDS on all series with a verdict",
        "The first columns count what SETDS found, by the verdict of the candidate; `not "
        "annotated` are points without a candidate. Brackets: 95 % intervals, bootstrap over "
        "series.",
    ),
    "table8_rows": (
        "Table 8: mean of the splits, 90/10 of the points",
        "`max. improvement` is the hybrid minus the worse of the other two.",
    ),
    "table8_series": (
        "Table 8: mean of the splits, 90/10 of the series",
        "As above, but no series is in both parts.",
    ),
}
NOTE = (
    "A real change is the positive class. In the paper's Table 5, sensitivity and specificity are "
    "exchanged; its Table 7 lists predictive values under these names. Tables 6 and 7 match each "
    "point that SETDS finds with one candidate at most five points away. In Table 8, SETDS has "
    "found every candidate at most five points from one of its points, and hybrid and votes learn "
    "from the other 90 %."
)


@dataclass(frozen=True)
class TriagedPoints:
    """Triaged points, as Leznik et al. published theirs."""

    features: Floats  # the five deltas and the distance
    severity: Floats  # of the change that the other detector found there, 0 for none
    truth: Ints
    series: Ints

    @property
    def inputs(self) -> Floats:
        """The input of the stacked model: the features and the severity."""
        return np.column_stack([self.features, self.severity])


class Rates(NamedTuple):
    """The shares of correct predictions: of all points, of real changes and of noise."""

    accuracy: float
    sensitivity: float
    specificity: float
    auc: float = float("nan")


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
        rated[DETECTOR].append(rates(truth[test], points.severity[test] > 0.0))
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


@dataclass(frozen=True)
class HybridParams(StatisticsParams):
    """What the tables are of, and the number of splits of Table 8."""

    repetitions: Count = REPETITIONS


@page_without_verdicts(FOLDER / "hybrid.md", "hybrid")
def main() -> None:
    """Run the stage."""
    params = parameters(HybridParams, "hybrid")
    history = History.read(INTERIM)
    rows = statistics.candidate_rows(history, pd.read_parquet(BOUNDS), params.policy)
    statistics.triaged(rows)  # checks that there are verdicts of both kinds
    points = TriagedPoints(
        features=rows[list(FEATURES)].to_numpy(dtype=np.float64),
        severity=rows[SETDS].to_numpy(dtype=np.float64),
        truth=np.asarray(rows["verdict"] == Verdict.TRUE_POSITIVE.value, dtype=np.int64),
        series=rows["series"].to_numpy(dtype=np.int64),
    )
    triaged = triaged_series(history, len(history), params.seed)
    by_rows, by_series = (hybrid_table(points, name, params.repetitions) for name in PROTOCOLS)
    voting = rates_table(voting_rates(points))
    found = by_verdict(triaged, {DETECTOR: Setds()}, params.seed)
    tables = voting, found, by_rows, by_series
    parts: list[str | pd.DataFrame] = []
    for (name, (title, caption)), table in zip(TABLES.items(), tables, strict=True):
        report.write_csv(FOLDER / f"{name}.csv", table)
        parts += [f"## {title}", formatted(table, 4), caption]
    report.write_page(
        FOLDER / "hybrid.md",
        f"The hybrid of Leznik et al. 2022, profile {profile_name()}",
        f"{len(rows)} triaged points, bounds `{params.policy}`, After of two points. The ranges of "
        "the distance are those of the paper.",
        NOTE,
        *parts,
    )
    last = by_series.set_index("model")
    metrics = {name: last[name].dropna().to_dict() for name in Rates._fields}
    report.write_json(report.FOLDER / "hybrid.json", metrics)


if __name__ == "__main__":
    run(main)
