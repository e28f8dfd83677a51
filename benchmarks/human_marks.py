"""Agreement of a model trained on people's marks with the marks of other people.

The model and the rule for what to report are learned from --train. They are tested on --test, or by
five-fold cross-validation over the groups of --train. Each folder has the files series.parquet,
annotations.csv and series_meta.csv. With `--model default` the shipped model, which was trained on
simulated histories, is tested on --test, and its rule is chosen on the marks of simulated people.
`--half report` tests on the half of the groups that nothing may be chosen on.

Candidates are true if more than half of at least three people marked within 5 points, false if no
person did, and disputed otherwise. `auc_clean` compares true with false ones, `auc_all` counts
disputed as false. `f1` is that of van den Burg & Williams 2020, margin 5, on series with five
people.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from histories import halves
from side_by_side import arguments, show
from sklearn.metrics import roc_auc_score

from barograph.errors import DataError
from barograph.evaluation.annotators import f1, person_agreement
from barograph.evaluation.crowd import CROWD, LOOSE, STRICT, CrowdTriage, choose_rule
from barograph.evaluation.marked import Marked, marked_candidates
from barograph.models import TriageModel
from barograph.models.soft_labels import boosted_ensemble, probability
from barograph.series import Floats, Ints
from barograph.sources.simulator import LONG, World, survey

# The marked histories, in a folder beside the checkout.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "sap_hana"
FOLDS = 5
PANEL = 5
THREADS = 2
SIMULATED = 300
UNSEEN = 90_001  # no profile of the pipeline uses this seed


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


def read(folder: Path) -> Marked:
    """Read the three files of a folder."""
    meta = pd.read_csv(folder / "series_meta.csv", dtype={"series_id": str})
    points = pd.read_parquet(folder / "series.parquet", columns=["series_id", "idx", "mean"])
    points = points.sort_values(["series_id", "idx"], kind="stable")
    values = {str(name): part["mean"].to_numpy() for name, part in points.groupby("series_id")}
    people: dict[str, list[tuple[int, ...]]] = {name: [] for name in meta["series_id"]}
    notes = pd.read_csv(folder / "annotations.csv", dtype={"series_id": str})
    for (name, _), part in notes.groupby(["series_id", "annotator"]):
        people[str(name)].append(tuple(sorted({int(i) for i in part["index"] if i > 0})))
    missing = sorted(set(people) - set(values))
    if missing:
        raise DataError(f"{folder}: series.parquet misses {missing[:3]}")
    return Marked(
        np.concatenate([values[name] for name in people]),
        np.cumsum([0, *(values[name].size for name in people)]),
        tuple(tuple(marks) for marks in people.values()),
        meta["group"].to_numpy(dtype=np.int64),
    )


def score(triage: CrowdTriage, marked: Marked) -> HeldOutScores:
    """Score a model on series that it was not trained on."""
    rows = marked_candidates(marked, STRICT)
    crowded = rows.where(rows.people >= CROWD)
    panel = [k for k, marks in enumerate(marked.marks) if len(marks) == PANEL]
    reported = triage.report(marked)
    strict = {k: rows.index[rows.series == k].tolist() for k in panel}
    return HeldOutScores(
        crowded.votes,
        crowded.people,
        triage.probability(crowded),
        [f1(reported.get(k, []), marked.marks[k]) for k in panel],
        [f1([], marked.marks[k]) for k in panel],
        [person_agreement(marked.marks[k]) for k in panel],
        [f1(strict[k], marked.marks[k]) for k in panel],
        triage.threshold,
    )


def learned(marked: Marked) -> CrowdTriage:
    """Train on one folder."""
    return CrowdTriage.fit(marked, lambda: boosted_ensemble(threads=THREADS))


def cross_validated(marked: Marked) -> list[HeldOutScores]:
    """Train on four fifths of the groups and test on the rest, five times."""
    groups = np.random.default_rng(0).permutation(np.unique(marked.groups))
    result = []
    for held_out in np.array_split(groups, FOLDS):
        test = np.isin(marked.groups, held_out)
        train, rest = (marked.part(np.flatnonzero(side)) for side in (~test, test))
        result.append(score(learned(train), rest))
    return result


def shipped() -> CrowdTriage:
    """Return the shipped model with a rule chosen on the marks of simulated people."""
    model = TriageModel.default("label_free")
    marked = simulated()
    rows = marked_candidates(marked, LOOSE)
    return CrowdTriage(model, *choose_rule(marked, rows, probability(model, rows.X)))


def simulated() -> Marked:
    """Return long histories that the shipped model was not trained on, with simulated marks."""
    values, marks = [], []
    for series in World(UNSEEN, LONG).stream(0, SIMULATED):
        crowd = survey(series.values, series.events, PANEL, np.random.default_rng(series.number))
        values.append(series.values)
        marks.append(tuple(tuple(places.tolist()) for places in crowd.marks))
    return Marked(
        np.concatenate(values),
        np.cumsum([0, *map(len, values)]),
        tuple(marks),
        np.arange(SIMULATED),
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
    parser.add_argument("--model", choices=["learned", "default"], default="learned")
    parser.add_argument("--half", choices=["both", "choice", "report"], default="both")
    options = parser.parse_args()
    folder = options.train or SHARED
    if options.train is None and options.test is None and not folder.is_dir():
        show("Agreement with people's marks: name a folder with --train", [], options.output)
        return
    begin = time.perf_counter()
    if options.model == "default":
        marked = read(options.test or folder)
        if options.half != "both":
            marked = halves(marked)[options.half == "report"]
        parts = [score(shipped(), marked)]
    elif options.test is None:
        parts = cross_validated(read(folder))
    else:
        parts = [score(learned(read(folder)), read(options.test))]
    row = {**figures(parts), "seconds": time.perf_counter() - begin}
    extra = row if options.output == "json" else {}
    show("Agreement with people's marks", [row], options.output, **extra)


if __name__ == "__main__":
    main()
