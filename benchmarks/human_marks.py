"""Agreement of a model trained on people's marks with the marks of other people.

The model of the feature set --columns and the rule for what to report are learned from --train.
They are tested on --test, or by five-fold cross-validation over the groups of --train. Each folder
has the files series.parquet, annotations.csv and series_meta.csv. With `--model default`, what
`barograph detect` reports is tested on --test: candidates, shipped model and reporting rule of
`Triaged`. The table has a row for the half of the groups that choices may be made on, and one for
the half that nothing is chosen on.

Candidates are true if more than half of at least three people marked within 5 points, false if no
person did, and disputed otherwise. `auc_clean` compares true with false ones, `auc_all` counts
disputed as false. `f1` is that of van den Burg & Williams 2020, margin 5, on series with five
people.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from crowd import (
    CROWD,
    FOLDS,
    STRICT,
    CrowdTriage,
    boosted_ensemble,
    marked_candidates,
    votes_for,
)
from histories import MARKED, halves, person_agreement, read_marked
from side_by_side import arguments, is_missing, show
from sklearn.metrics import roc_auc_score

from barograph.detection import Triaged
from barograph.detection.base import RawChangePoint
from barograph.detection.scoring import least_reported
from barograph.features import FEATURE_SETS
from barograph.learning.metrics import f1_of_marks
from barograph.learning.online.truth import Marked
from barograph.models import TriageModel
from barograph.results.series import Floats, Ints

PANEL = 5
THREADS = 2


class HeldOutScores(NamedTuple):
    """Results on held-out series: scores of candidates, and F1 per series and method."""

    votes: Ints
    people: Ints
    score: Floats
    ours: list[float]
    nothing: list[float]
    person: list[float]
    hunter: list[float]
    threshold: float


def score(triage: CrowdTriage, marked: Marked) -> HeldOutScores:
    """Score a model on series that it was not trained on."""
    rows = marked_candidates(marked, STRICT, triage.columns)
    crowded = rows.crowded()
    panel = [k for k, marks in enumerate(marked.marks) if len(marks) == PANEL]
    reported = triage.report(marked)
    strict = {k: rows.index[rows.series == k].tolist() for k in panel}
    return HeldOutScores(
        crowded.votes,
        crowded.people,
        triage.probability(crowded),
        [f1_of_marks(reported.get(k, []), marked.marks[k]) for k in panel],
        [f1_of_marks([], marked.marks[k]) for k in panel],
        [person_agreement(marked.marks[k]) for k in panel],
        [f1_of_marks(strict[k], marked.marks[k]) for k in panel],
        triage.threshold,
    )


def learned(marked: Marked, columns: str) -> CrowdTriage:
    """Train on one folder."""
    return CrowdTriage.fit(marked, lambda: boosted_ensemble(threads=THREADS), columns)


def cross_validated(marked: Marked, columns: str) -> list[HeldOutScores]:
    """Train on four fifths of the groups and test on the rest, five times."""
    groups = np.random.default_rng(0).permutation(np.unique(marked.groups))
    result = []
    for held_out in np.array_split(groups, FOLDS):
        test = np.isin(marked.groups, held_out)
        train, rest = (marked.part(np.flatnonzero(side)) for side in (~test, test))
        result.append(score(learned(train, columns), rest))
    return result


def shipped(marked: Marked) -> HeldOutScores:
    """Score what `barograph detect` reports, and the probabilities of all candidates."""
    everything = Triaged(min_probability=0.0).find_many(marked.values, marked.offsets)
    reported = Triaged().find_many(marked.values, marked.offsets)
    hunter = STRICT.find_many(marked.values, marked.offsets)
    rows = [
        (votes_for(point.index, marks), len(marks), point.probability)
        for points, marks in zip(everything, marked.marks, strict=True)
        if len(marks) >= CROWD
        for point in points
    ]
    votes, people, probability = (np.array(column) for column in zip(*rows, strict=True))
    panel = [k for k, marks in enumerate(marked.marks) if len(marks) == PANEL]

    def agreement(by_series: list[list[RawChangePoint]]) -> list[float]:
        return [
            f1_of_marks([point.index for point in by_series[k]], marked.marks[k]) for k in panel
        ]

    return HeldOutScores(
        votes,
        people,
        probability,
        agreement(reported),
        [f1_of_marks([], marked.marks[k]) for k in panel],
        [person_agreement(marked.marks[k]) for k in panel],
        agreement(hunter),
        least_reported(TriageModel.default("label_free")),
    )


def figures(parts: list[HeldOutScores]) -> dict[str, float]:
    """Combine the parts: the mean of the AUCs weighted by rows, and of the F1 by series."""
    weights = [part.score.size for part in parts]
    aucs = np.array([_aucs(part) for part in parts])
    clean, everything = np.average(aucs, axis=0, weights=weights)
    return {
        "auc_clean": float(clean),
        "auc_all": float(everything),
        "f1": _mean([part.ours for part in parts]),
        "f1_nothing": _mean([part.nothing for part in parts]),
        "f1_person": _mean([part.person for part in parts]),
        "f1_hunter": _mean([part.hunter for part in parts]),
        "threshold": float(np.mean([part.threshold for part in parts])),
    }


def _aucs(part: HeldOutScores) -> tuple[float, float]:
    """Return the AUC of true against false, and of true against all others."""
    true = 2 * part.votes > part.people
    clean = true | (part.votes == 0)
    return (
        float(roc_auc_score(true[clean], part.score[clean])),
        float(roc_auc_score(true, part.score)),
    )


def _mean(lists: list[list[float]]) -> float:
    return float(np.mean(np.concatenate(lists)))


def main() -> None:
    """Train, test and print."""
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--train", type=Path, metavar="DIR")
    parser.add_argument("--test", type=Path, metavar="DIR")
    parser.add_argument("--columns", choices=list(FEATURE_SETS), default="contrast")
    parser.add_argument("--model", choices=["learned", "default"], default="learned")
    options = parser.parse_args()
    folder = options.train or MARKED
    title = "Agreement with people's marks"
    if options.test is None and is_missing(folder, title, options.output):
        return
    begin = time.perf_counter()
    if options.model == "default":
        marked = read_marked(options.test or folder)
        names = ("whole", "choice half", "reporting half")
        parts = zip(names, (marked, *halves(marked)), strict=True)
        rows: list[dict[str, object]] = [
            {"series": name, **figures([shipped(part)])} for name, part in parts
        ]
    elif options.test is None:
        rows = [{**figures(cross_validated(read_marked(folder), options.columns))}]
    else:
        triage = learned(read_marked(folder), options.columns)
        rows = [{**figures([score(triage, read_marked(options.test))])}]
    seconds = time.perf_counter() - begin
    show(title, rows, options.output, seconds=seconds)


if __name__ == "__main__":
    main()
