"""Tables 5, 7 and 8 of Leznik et al. 2022 on their published rows, and the same with our model.

Their tables name the rates in different ways: Table 5 counts "no change point" as positive, and
Table 7 prints predictive values. Here every rate comes from the confusion counts, with a real
change as the positive class.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from barograph.errors import DataError
from barograph.features import FEATURE_SETS
from barograph.models.stacked import StackedTriage
from barograph.models.voting import VotingTriage
from barograph.series import Floats, Ints

FEATURES = FEATURE_SETS["leznik"]
PROTOCOLS = ("rows", "series")
TEST_SHARE = 0.1
REPETITIONS = 10
# Table 5 has sensitivity and specificity the other way round; Table 7 has predictive values.
PUBLISHED = {
    "voting without distance": (0.6962, 0.6056, 0.7721),
    "voting with distance": (0.7797, 0.7476, 0.8065),
    "perfomalist": (0.7124, 0.6711, 0.7470),
    "stacked": (0.8290, 0.7906, 0.8609),
}


@dataclass(frozen=True)
class Published:
    """The triaged points that Leznik et al. published."""

    features: Floats  # the five deltas and the distance
    found: npt.NDArray[np.bool_]  # whether Perfomalist found the point
    truth: Ints
    series: Ints
    projects: npt.NDArray[np.object_]

    @property
    def inputs(self) -> Floats:
        """Return what the stacked model gets: the features and the detector's bit."""
        return np.column_stack([self.features, self.found])


class Rates(NamedTuple):
    """Shares of the points that are told right: of all, of the real ones, of the noise."""

    accuracy: float
    sensitivity: float
    specificity: float
    auc: float = float("nan")


class Split(NamedTuple):
    """Row numbers: learn on `train`, judge on `test`."""

    train: Ints
    test: Ints


def read(path: str | Path) -> Published:
    """Read the published rows."""
    import pandas as pd

    frame = pd.read_csv(path)
    wanted = ["file", *FEATURES, "perfomalist", "label"]
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise DataError(f"{path}: misses the columns {missing}")
    names = frame["file"].astype(str)
    return Published(
        features=frame[list(FEATURES)].to_numpy(dtype=np.float64),
        found=(frame["perfomalist"] > 0).to_numpy(dtype=bool),
        truth=np.asarray(frame["label"] == "true_positive", dtype=np.int64),
        series=pd.factorize(names)[0].astype(np.int64),
        projects=names.str.split("/").str[0].to_numpy(dtype=object),
    )


def rates(truth: Ints, answer: npt.ArrayLike, score: Floats | None = None) -> Rates:
    """Return the rates of some answers from their confusion counts; NaN where there is no case."""
    right = np.asarray(answer).astype(np.int64) == truth
    parts = (right, right[truth == 1], right[truth == 0])
    all_, real, noise = (float(part.mean()) if part.size else float("nan") for part in parts)
    both = score is not None and np.unique(truth).size == 2
    return Rates(all_, real, noise, float(roc_auc_score(truth, score)) if both else float("nan"))


def rules(rows: Published) -> dict[str, Rates]:
    """Return Tables 5 and 7: the voting as printed and as learned here, and the detector."""
    table = {}
    for use_distance, name in ((False, "without distance"), (True, "with distance")):
        printed = VotingTriage.published(use_distance=use_distance)
        learned = VotingTriage(use_distance=use_distance).fit(rows.features, rows.truth)
        for label, voting in (("voting", printed), ("voting, fitted", learned)):
            score = voting.score_samples(rows.features)
            answer = voting.predict(rows.features)
            table[f"{label} {name}"] = rates(rows.truth, answer, score)
    table["perfomalist"] = rates(rows.truth, rows.found)
    return table


def splits(
    rows: Published, protocol: str, repetitions: int = REPETITIONS, seed: int = 0
) -> Iterator[Split]:
    """Yield random 90/10 splits: of the rows, as their code does, or of the series, as they write.

    Points of one series are near copies of one another, so the first protocol flatters.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol {protocol!r} is unknown; allowed: {PROTOCOLS}")
    owner = rows.series if protocol == "series" else np.arange(rows.truth.size)
    groups = int(owner.max()) + 1
    for child in np.random.SeedSequence(seed).spawn(repetitions):
        held = np.zeros(groups, dtype=bool)
        order = np.random.default_rng(child).permutation(groups)
        held[order[: round(groups * TEST_SHARE)]] = True
        yield Split(np.flatnonzero(~held[owner]), np.flatnonzero(held[owner]))


def without_project(rows: Published) -> Iterator[tuple[str, Split]]:
    """Yield each project with the split that holds all of it back."""
    for project in np.unique(rows.projects.astype(str)):
        inside = rows.projects == project
        yield str(project), Split(np.flatnonzero(~inside), np.flatnonzero(inside))


def stacked(seed: int) -> StackedTriage:
    """Return their model: the votes as printed, which have seen all rows, as theirs had."""
    return StackedTriage(published=True, random_state=seed)


def best(seed: int, trees: int = 500) -> StackedTriage:
    """Return our best model on the same inputs: a forest, and votes learned in training."""
    return StackedTriage(RandomForestClassifier(trees, random_state=seed, n_jobs=1))


def judged(model: Any, rows: Published, split: Split) -> Rates:
    """Learn on one part and return the rates on the other, answers from one half on."""
    model.fit(rows.inputs[split.train], rows.truth[split.train])
    score = model.predict_proba(rows.inputs[split.test])[:, 1]
    return rates(rows.truth[split.test], score > 0.5, score)


def mean(found: list[Rates]) -> Rates:
    """Return the mean rates over several splits."""
    return Rates(*np.mean(np.array(found), axis=0).tolist())
