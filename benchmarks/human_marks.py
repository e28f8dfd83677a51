"""How well triage learned from people's marks agrees with other people's marks.

Learns everything from --train: the model, and the rule by which it reports. Judges it on --test,
or by five-fold cross-validation over the groups of --train where no test folder is given. Each
folder holds series.parquet, annotations.csv and series_meta.csv. With `--model default` nothing is
learned from people: the shipped model, trained on simulated histories, is judged on --test, and its
rule is chosen on what simulated people marked.

Candidates are true where more than half of at least three people marked within 5 points, false
where nobody did, and disputed else. `auc_clean` is true against false, `auc_all` counts disputed
as false. `f1` is that of van den Burg & Williams 2020, margin 5, on series with five people.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from side_by_side import arguments, show
from sklearn.metrics import roc_auc_score

from barograph.errors import DataError
from barograph.evaluation.annotators import f1, person_agreement
from barograph.evaluation.crowd import CROWD, LOOSE, STRICT, CrowdTriage, choose_rule
from barograph.evaluation.marked import Marked, marked_candidates
from barograph.models import TriageModel
from barograph.models.boosted import boosted, probability
from barograph.series import Floats, Ints
from barograph.sources.simulator import LONG, World, survey

# Where the marked histories lie beside a checkout.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "sap_hana"
FOLDS = 5
PANEL = 5
THREADS = 2
SIMULATED = 300
UNSEEN = 90_001  # a seed that no profile of the pipeline uses


class Judged(NamedTuple):
    """What held-out series say: candidates with their score, and one F1 per series and reporter."""

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


def judge(triage: CrowdTriage, marked: Marked) -> Judged:
    """Judge a triage on series that it has not seen."""
    rows = marked_candidates(marked, STRICT)
    crowded = rows.where(rows.people >= CROWD)
    panel = [k for k, marks in enumerate(marked.marks) if len(marks) == PANEL]
    found = triage.report(marked)
    strict = {k: rows.index[rows.series == k].tolist() for k in panel}
    return Judged(
        crowded.votes,
        crowded.people,
        triage.probability(crowded),
        [f1(found.get(k, []), marked.marks[k]) for k in panel],
        [f1([], marked.marks[k]) for k in panel],
        [person_agreement(marked.marks[k]) for k in panel],
        [f1(strict[k], marked.marks[k]) for k in panel],
        triage.threshold,
    )


def learned(marked: Marked) -> CrowdTriage:
    """Learn from one folder."""
    return CrowdTriage.fit(marked, lambda: boosted(threads=THREADS))


def cross_validated(marked: Marked) -> list[Judged]:
    """Learn on four fifths of the groups and judge on the rest, five times."""
    groups = np.random.default_rng(0).permutation(np.unique(marked.groups))
    result = []
    for held_out in np.array_split(groups, FOLDS):
        test = np.isin(marked.groups, held_out)
        train, rest = (marked.part(np.flatnonzero(side)) for side in (~test, test))
        result.append(judge(learned(train), rest))
    return result


def shipped() -> CrowdTriage:
    """Take the shipped model, and choose its rule on simulated people's marks."""
    model = TriageModel.default("label_free")
    marked = simulated()
    rows = marked_candidates(marked, LOOSE)
    return CrowdTriage(model, *choose_rule(marked, rows, probability(model, rows.X)))


def simulated() -> Marked:
    """Let simulated people mark long histories that the shipped model was not trained on."""
    values, marks = [], []
    for one in World(UNSEEN, LONG).stream(0, SIMULATED):
        crowd = survey(one.values, one.events, PANEL, np.random.default_rng(one.number))
        values.append(one.values)
        marks.append(tuple(tuple(places.tolist()) for places in crowd.marks))
    return Marked(
        np.concatenate(values),
        np.cumsum([0, *map(len, values)]),
        tuple(marks),
        np.arange(SIMULATED),
    )


def figures(parts: list[Judged]) -> dict[str, float]:
    """Put the judged parts together: the mean of the AUCs weighted by rows, the F1 by series."""
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


def _aucs(part: Judged) -> tuple[float, float]:
    """True against false, and true against everything else."""
    true = 2 * part.votes > part.people
    clean = true | (part.votes == 0)
    return (
        float(roc_auc_score(true[clean], part.score[clean])),
        float(roc_auc_score(true, part.score)),
    )


def _mean(lists: list[list[float]]) -> float:
    return float(np.mean(np.concatenate(lists)))


def main() -> None:
    """Learn, judge and print."""
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--train", type=Path, metavar="DIR")
    parser.add_argument("--test", type=Path, metavar="DIR")
    parser.add_argument("--model", choices=["learned", "default"], default="learned")
    options = parser.parse_args()
    folder = options.train or SHARED
    if options.train is None and options.test is None and not folder.is_dir():
        show("Agreement with people's marks: name a folder with --train", [], options.output)
        return
    begin = time.perf_counter()
    if options.model == "default":
        parts = [judge(shipped(), read(options.test or folder))]
    elif options.test is None:
        parts = cross_validated(read(folder))
    else:
        parts = [judge(learned(read(folder)), read(options.test))]
    row = {**figures(parts), "seconds": time.perf_counter() - begin}
    extra = row if options.output == "json" else {}
    show("Agreement with people's marks", [row], options.output, **extra)


if __name__ == "__main__":
    main()
