"""The hybrid of Leznik et al. 2022, Figure 1, on the team's data: Tables 5 to 8.

A detector (SETDS for Perfomalist) and the votes of the deltas each classify a candidate; XGBoost
gets both and the deltas, and learns which of them is wrong when. Every rate follows from the
confusion counts, with a real change as the positive class.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from barograph.detection import Setds
from barograph.history import History
from barograph.models.stacked import StackedTriage
from barograph.models.voting import VotingTriage
from barograph.studies import leznik
from barograph.studies.detector_benchmark.cases import ONE_PERSON
from barograph.studies.detector_benchmark.tables import triaged_series
from barograph.studies.detector_benchmark.verdict_hits import by_verdict

DETECTOR = "Setds"
IMPROVEMENT = "max. improvement"
MEASURES = leznik.Rates._fields


def voting_table(points: leznik.TriagedPoints) -> pd.DataFrame:
    """Return Table 5: the votes without and with distance, as printed and as fitted here."""
    rules = leznik.rule_tables(points)
    rows = {name: rates for name, rates in rules.items() if name.startswith("voting")}
    return _frame(rows)


def detector_table(history: History, seed: int = 0) -> pd.DataFrame:
    """Return Tables 6 and 7: what the detector finds in all series with a decided candidate."""
    data = triaged_series(history, len(history), seed)
    table = by_verdict(data, {DETECTOR: Setds()}, seed=seed)
    return table[table["detector"] != ONE_PERSON].reset_index(drop=True)


def hybrid_table(points: leznik.TriagedPoints, protocol: str, repetitions: int) -> pd.DataFrame:
    """Return Table 8: mean rates of votes, detector and hybrid over the same 90/10 splits.

    The votes are learned on the training part. The last row is how much better the hybrid is than
    the worse of the other two, as in the paper.

    Args:
        points: The triaged points.
        protocol: `rows` or `series`, see `leznik.splits`.
        repetitions: The number of splits.
    """
    rates: dict[str, list[leznik.Rates]] = {"voting": [], DETECTOR: [], "hybrid": []}
    for seed, split in enumerate(leznik.splits(points, protocol, repetitions)):
        truth, features = points.truth, points.features
        votes = VotingTriage().fit(features[split.train], truth[split.train])
        score = votes.score_samples(features[split.test])
        predicted = votes.predict(features[split.test])
        rates["voting"].append(leznik.rates(truth[split.test], predicted, score))
        rates[DETECTOR].append(leznik.rates(truth[split.test], points.perfomalist[split.test]))
        rates["hybrid"].append(leznik.fit_and_rate(StackedTriage(random_state=seed), points, split))
    means = {name: leznik.Rates(*np.mean(drawn, axis=0).tolist()) for name, drawn in rates.items()}
    table = _frame(means)
    best = table.iloc[2][list(MEASURES)]
    worst = table.iloc[:2][list(MEASURES)].min()
    gain = pd.DataFrame([{"model": IMPROVEMENT, **(best - worst).to_dict(), "auc": np.nan}])
    return pd.concat([table, gain], ignore_index=True)


def _frame(rows: Mapping[str, leznik.Rates]) -> pd.DataFrame:
    return pd.DataFrame([{"model": name, **rates._asdict()} for name, rates in rows.items()])
