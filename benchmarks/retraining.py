"""What verdicts add to the built-in models, and whether they forget anything, by their number.

Verdicts are drawn from the choice half of the marked histories: a candidate that most people marked
is real, one that nobody marked is noise. The model `label_free` is continued with each draw; the
measure is the AUC of real changes against all other candidates. The pair is continued with the
verdicts of a draw and with what hindsight shows elsewhere in the choice half; the measure is the
share of changes found within 2 results at 3 false alarms in 1,000, the threshold set on the
histories that are judged. Both are tested on the reported half of the marked histories, by people's
marks, and on that of the pool, by the labels of a teacher (see self_taught.py); of the pool, the
pair judges one series in ten of each owner.

`--pair` names a pair that learned from the choice halves alone; without it the built-in one is
continued, which has seen the values of both halves. Each row has the mean gain over the model that
is continued, with the 95 % interval over drawn groups of series (owners of the pool).
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from histories import MARKED, halves, read_crowded
from operating_points import found_within
from self_taught import LABELS, POOL, labelled, split
from side_by_side import arguments, is_missing, show

from barograph.detection.online.budget import weights_of
from barograph.detection.scoring import CandidateScorer
from barograph.detection.triaged import Triaged, table_of
from barograph.learning.comparison import auc
from barograph.learning.continued import MOST_REMEMBERED, Start, continued
from barograph.learning.online.alarms import SecondLookAlarms, at_rate
from barograph.learning.online.hindsight import truth_in_hindsight
from barograph.learning.online.learn import learn, surprises_of
from barograph.learning.online.pair import continuing
from barograph.learning.online.pool import PRIOR, read_pool
from barograph.learning.online.truth import Truth
from barograph.models import OnlineModels, TriageModel
from barograph.models.trees import Boosted
from barograph.results.marks import MARGIN
from barograph.results.series import Floats, Ints

COUNTS = (0, 10, 20, 50, 100, 200, 400)
RATE, DELAY = 3.0, 2
RESAMPLED = 400
PART = 10  # the pair judges every tenth series of the pool

Gains = dict[str, Any]


class Candidates(NamedTuple):
    """The candidates of some histories.

    Attributes:
        X: Their features.
        places: Their places among all values.
        y: 1 for a real change, 0 for noise, -1 for neither.
        groups: The group of the series of each.
    """

    X: Floats
    places: Ints
    y: Ints
    groups: Ints


def candidates_of(model: TriageModel, truth: Truth) -> Candidates:
    """Return what the default method proposes, with the verdicts that the truth gives."""
    points, known = Triaged(model=model).propose(truth.values, truth.offsets)
    table = table_of(points)
    X = CandidateScorer(model, truth.values, truth.offsets, table, known).features()
    places = truth.offsets[table.series] + table.index
    y = np.where(truth.marked[places], -1, 0)
    for change in truth.changes:
        near = np.flatnonzero(
            (np.abs(places - change) <= MARGIN) & (truth.series[places] == truth.series[change])
        )
        if near.size:  # the nearest one is real
            y[near[np.argmin(np.abs(places[near] - change))]] = 1
    return Candidates(X, places, y, truth.groups[truth.series[places]])


def over_groups(groups: Ints, measure: Callable[[Ints], float]) -> tuple[float, float]:
    """Return the 95 % interval of a measure of the rows of drawn groups."""
    names, group = np.unique(groups, return_inverse=True)
    order = np.argsort(group, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(group))[:-1])
    draws = np.random.default_rng(0).integers(0, names.size, (RESAMPLED, names.size))
    found = [measure(np.concatenate([members[k] for k in draw])) for draw in draws]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def ranked(y: Ints, score: Floats, rows: Ints) -> float:
    """Return the AUC of real changes against all other candidates."""
    return auc((y[rows] == 1).astype(np.int64), score[rows])


def verdicts(own: Candidates, count: int, seed: int) -> Ints:
    """Draw candidates with a verdict."""
    decided = np.flatnonzero(own.y >= 0)
    return np.sort(np.random.default_rng(seed).permutation(decided)[:count])


def counts(own: Candidates) -> list[int]:
    """Return the numbers of verdicts that are drawn."""
    total = int((own.y >= 0).sum())
    return [*(count for count in COUNTS if count < total), total]


def curve_of_candidates(draws: int, own: Candidates, tests: dict[str, Candidates]) -> list[Gains]:
    """Return a row for each number of verdicts and each test."""
    start = TriageModel.default("label_free").classifier
    assert isinstance(start, Boosted)  # noqa: S101 - for the type
    simulated = candidates_of(TriageModel.default("label_free"), PRIOR.histories().truth).X
    remembered = Start.of(start, simulated, np.ones(len(simulated)))
    rows = []
    for count in counts(own):
        scores: dict[str, list[Floats]] = {name: [] for name in tests}
        for seed in range(draws):
            part = verdicts(own, count, seed)
            lessons = own.X[part], own.y[part], np.ones(part.size)
            model = continued(remembered, lessons, seed, most=MOST_REMEMBERED)
            for name, test in tests.items():
                scores[name].append(model.predict_proba(test.X)[:, 1])
        for name, test in tests.items():
            before, after = start.predict_proba(test.X)[:, 1], scores[name]
            everything = np.arange(test.y.size)

            def gain(
                rows: Ints, y: Ints = test.y, old: Floats = before, new: Sequence[Floats] = after
            ) -> float:
                return float(np.mean([ranked(y, one, rows) for one in new]) - ranked(y, old, rows))

            low, high = over_groups(test.groups, gain)
            cells = {"start": f"{ranked(test.y, before, everything):.4f}"}
            cells["gain"] = f"{gain(everything):+.4f} [{low:+.4f}, {high:+.4f}]"
            rows.append({"model": "label_free", "verdicts": count, "on": name, **cells})
    return rows


def found(pair: OnlineModels, truth: Truth) -> Floats:
    """Return for each change whether a pair found it in time."""
    newest, confirm = pair.members
    surprises = surprises_of(newest, confirm, truth)
    alarms = SecondLookAlarms(truth, surprises, weights_of(confirm.card))
    raised = alarms(at_rate(truth, alarms, RATE)).of_judged(truth)
    return found_within(truth, raised.points, DELAY).astype(np.float64)


def curve_of_the_pair(
    pair: OnlineModels, draws: int, own: Candidates, choice: Truth, tests: dict[str, Truth]
) -> list[Gains]:
    """Return a row for each number of verdicts and each test."""
    further = continuing(pair)
    before = {name: found(pair, truth) for name, truth in tests.items()}
    none, rows = np.empty(0, dtype=np.int64), []
    for count in counts(own):
        after: dict[str, list[Floats]] = {name: [] for name in tests}
        for seed in range(draws):
            part = verdicts(own, count, seed)
            places, y = own.places[part], own.y[part]
            decided = {"true": places[y == 1], "false": places[y == 0], "undecided": none}
            truth = truth_in_hindsight(choice.values, choice.offsets, choice.groups, **decided)
            learned = learn(truth, seed=seed, **further)
            made = OnlineModels(learned.online, learned.confirm)
            for name, test in tests.items():
                after[name].append(found(made, test))
        for name, test in tests.items():
            gains = 100.0 * (np.mean(after[name], axis=0) - before[name])
            groups = test.groups[test.series[test.changes]]
            low, high = over_groups(groups, lambda rows, g=gains: float(g[rows].mean()))  # type: ignore[misc]
            cells = {"start": f"{100 * before[name].mean():.1f}"}
            cells["gain"] = f"{gains.mean():+.1f} [{low:+.1f}, {high:+.1f}]"
            rows.append({"model": "pair", "verdicts": count, "on": name, **cells})
    return rows


def thinned(truth: Truth) -> Truth:
    """Return one series in ten of each group."""
    order = np.argsort(truth.groups, kind="stable")
    chosen = np.zeros(order.size, dtype=np.bool_)
    chosen[order[::PART]] = True
    inside = chosen[truth.series]
    return Truth(
        truth.values[inside],
        np.append(0, np.cumsum(np.diff(truth.offsets)[chosen])),
        truth.groups[chosen],
        truth.share[inside],
        truth.marked[inside],
        truth.judged[inside],
        truth.weight[chosen],
    )


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--pair", type=Path, help="a pair that learned from the choice halves")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--pair-draws", type=int, default=20)
    options = parser.parse_args()
    title = "What verdicts add to the built-in models"
    if is_missing(POOL / "pool.parquet", title, options.output):
        return
    began = time.perf_counter()
    choice, reported = (Truth.of(half) for half in halves(read_crowded(MARKED)))
    pool = read_pool(POOL)
    pool = pool.part(split(pool))
    labels = labelled(pool, options.labels)
    tests = {"SAP HANA": reported, "pool": labels.without(pool.controls[labels.series])}
    of = partial(candidates_of, TriageModel.default("label_free"))
    own = of(choice)
    rows: list[Gains] = []
    if options.draws:
        rows += curve_of_candidates(options.draws, own, {n: of(test) for n, test in tests.items()})
    if options.pair_draws:
        pair = OnlineModels.load(options.pair) if options.pair else OnlineModels.default()
        tests["pool"] = thinned(tests["pool"])
        rows += curve_of_the_pair(pair, options.pair_draws, own, choice, tests)
    show(title, rows, options.output, seconds=time.perf_counter() - began)


if __name__ == "__main__":
    main()
