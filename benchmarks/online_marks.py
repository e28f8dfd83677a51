"""How early changes are found at the newest point, and at how many false alarms, on real marks.

Models learn from --train and are tested on --test; without --test, they learn from one half of the
groups of --train and are tested on the other, the half that nothing may be chosen on. Each folder
holds series.parquet, annotations.csv and series_meta.csv. Every series with three or more
annotators is replayed point by point, after its first 5 points. With --shipped nothing is learned:
only the built-in pair is judged, on all series and on the tested ones.

A change is a cluster of marks within 5 points by more than half of the annotators, at their
median. It is found within d if there is an alarm at it or up to d points later; it is known within
d if an alarm up to d points later points within 5 points of it. An alarm is false by place if it
points more than 5 points away from every mark, or at a change that an earlier alarm reported; it
is false by time if it is raised more than 5 points away from every mark. `recall` is the share
found within d = 0, 2 and 5, by false alarms by place per 1,000 points. `operating_point` uses the
threshold chosen on --train for 3 false alarms per 1,000 points.

`ours` learns from --train and, as with few verdicts, from simulated histories at a lower weight;
`marks alone` learns without them. `default` is the built-in pair, which learned from no real mark.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from alarm_counts import counted, row
from algorithm_1 import Algorithm1
from histories import MARKED, halves, read_crowded
from operating_points import RATES, OperatingPoint, measure, point_at_rate
from side_by_side import arguments, is_missing, shares, show, table

from barograph.detection import Gesd, Hunter
from barograph.detection.gesd import rosner
from barograph.detection.online import Budget, TailRates
from barograph.learning.online.alarms import (
    Alarms,
    SecondLookAlarms,
    every_alarm,
)
from barograph.learning.online.histories import Simulated
from barograph.learning.online.learn import Prior, learn, surprises_of
from barograph.learning.online.rows import NAMES, rows_of
from barograph.learning.online.truth import FIRST, Marked, Truth
from barograph.models import TriageModel
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import NotEnoughDataError

HELD_OUT = 0.4
OPERATING = 3.0
SIMULATED = Simulated(seed=4711, long_series=400, short_series=0)
PRIOR_WEIGHT = 0.3  # of a simulated row
HUNTER_HISTORY, GESD_HISTORY = 100, 50
HUNTER_REACH = {"hunter, newest point": 1, "hunter, last 6 points": 6}
PVALUES = tuple(10.0**-k for k in np.arange(1.0, 12.5, 0.75))
THREADS = 2
NEVER = -1.0
CURVE = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True)
class Method:
    """A method that raises alarms, by a threshold or at a few settings only."""

    name: str
    train: Alarms
    test: Alarms
    low: float
    high: float
    chosen_on: Truth | None = None  # histories for the threshold, where not all of --train
    threshold: float | None = None  # of a method that has a fixed one


@dataclass(frozen=True)
class Pair:
    """The two models of the detector, and their held-out surprises on --train."""

    name: str
    online: TriageModel
    confirm: TriageModel
    surprises: Mapping[int, Floats] | None  # None: nothing of --train was used


def pairs(train: Truth) -> Iterable[Pair]:
    """Return pairs learned with and without simulated histories, and the built-in pair."""
    simulated = Prior(SIMULATED.histories().truth, PRIOR_WEIGHT)
    for name, prior in (("ours", simulated), ("marks alone", None)):
        learned = learn(train, prior=prior)
        yield Pair(name, learned.online, learned.confirm, learned.surprises)
    yield shipped()


def shipped() -> Pair:
    """Return the built-in pair."""
    return Pair("default", TriageModel.default("online"), TriageModel.default("confirm"), None)


def split_by_group(histories: Marked) -> tuple[Marked, Marked]:
    """Hold out a part of the groups."""
    groups = np.random.default_rng(0).permutation(np.unique(histories.groups))
    held_out = np.isin(histories.groups, groups[: int(HELD_OUT * groups.size)])
    return histories.part(np.flatnonzero(~held_out)), histories.part(np.flatnonzero(held_out))


def methods_of(pair: Pair, train: Truth, test: Truth) -> Iterable[Method]:
    """Return the newest point alone, and the second look."""
    unseen = surprises_of(pair.online, pair.confirm, test)
    known = unseen if pair.surprises is None else pair.surprises
    built_in = pair.surprises is None
    tails = TailRates.from_card(pair.online.card, 0)
    alone = float(tails.surprise(pair.online.threshold)) if built_in else None
    yield scored(f"{pair.name}, window 0 alone", known[0], unseen[0], alone)
    sides = [
        SecondLookAlarms(truth, surprises)
        for truth, surprises in ((test if built_in else train, known), (test, unseen))
    ]
    budget = Budget.released(pair.online, pair.confirm, OPERATING)
    threshold = budget.threshold if built_in else None
    yield Method(f"{pair.name}, confirm", sides[0], sides[1], 0.0, 40.0, threshold=threshold)


def scored(name: str, train: Floats, test: Floats, threshold: float | None = None) -> Method:
    """Return a method that is a score per point."""
    finite = np.concatenate([train, test])
    finite = finite[np.isfinite(finite)]
    top = np.nextafter(finite.max(), np.inf)
    low, high = float(finite.min()), float(top)
    return Method(name, every_alarm(train), every_alarm(test), low, high, threshold=threshold)


def redge(truth: Truth, window: int) -> Floats:
    """Return the distance of the nearest point from the current level, in its noise."""
    part = rows_of(truth, window)
    score = np.full(truth.values.size, NEVER)
    score[part.newest] = part.X[:, NAMES.index("edge")]
    return score


def threshold_rule(truth: Truth) -> Floats:
    """Return the percentage by which each point differs from the last (Daly et al. 2020, 2.1)."""
    before = np.concatenate([[np.nan], truth.values[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = 100.0 * np.abs((truth.values - before) / before)
    return np.where(truth.judged & np.isfinite(percent), percent, NEVER)


def gesd(truth: Truth) -> Floats:
    """Return -log10 of the p-value that the newest point is an outlier of those before."""

    def score_of(t: int) -> float:
        start = max(int(truth.offsets[truth.series[t]]), t - GESD_HISTORY)
        indices, _, pvalues = rosner(
            truth.values[start : t + 1], max(1, int(Gesd().share * (t + 1 - start)))
        )
        pvalue = min(pvalues[indices == t - start], default=1.0)
        return -float(np.log10(max(pvalue, 1e-300)))

    score = np.full(truth.values.size, NEVER)
    points = np.flatnonzero(truth.judged)
    score[points] = [score_of(int(t)) for t in points]
    return score


def hunter(truth: Truth) -> dict[str, Floats]:
    """-log10 of the least p-value at which Hunter, at the newest point, reports something new.

    A change point is new if none was reported within 5 points of it before the newest value. One
    rule asks for a change at the newest point itself, the other for one among the last six.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        age_by_pvalue = list(pool.map(lambda p: _hunter_age(truth, float(p)), PVALUES))
    scores = {}
    for name, reach in HUNTER_REACH.items():
        score = scores[name] = np.full(truth.values.size, NEVER)
        for pvalue, age in zip(PVALUES, age_by_pvalue, strict=True):
            score[age < reach] = -np.log10(pvalue)
    return scores


def _hunter_age(truth: Truth, pvalue: float) -> Ints:
    """Return how many points have followed the latest new change point, at each newest point."""
    detector = Hunter(parity=True, pvalue=pvalue)
    result = np.full(truth.values.size, HUNTER_HISTORY)
    for k in range(truth.groups.size):
        first, end = int(truth.offsets[k]), int(truth.offsets[k + 1])
        points = range(first + FIRST, end)
        begins = [max(first, t + 1 - HUNTER_HISTORY) for t in points]
        pieces = [truth.values[b : t + 1] for b, t in zip(begins, points, strict=True)]
        offsets = np.cumsum([0, *(piece.size for piece in pieces)])
        reported: list[int] = []
        for t, begin, changes in zip(
            points, begins, detector.find_many(np.concatenate(pieces), offsets), strict=True
        ):
            places = [begin + change.index for change in changes]
            new = [i for i in places if all(abs(i - j) > 5 for j in reported)]
            result[t] = t - max(new) if new else HUNTER_HISTORY
            reported = places
    return result


def judge(method: Method, train: Truth, test: Truth) -> dict[str, Any]:
    """Return the recall of a method by rate, its curve, and its operating point."""

    def point_at(truth: Truth, alarms: Alarms, rate: float, *, by_place: bool) -> OperatingPoint:
        return point_at_rate(truth, alarms, rate, method.low, method.high, by_place=by_place)

    chosen = method.threshold
    if chosen is None:
        where = method.chosen_on or train
        chosen = point_at(where, method.train, OPERATING, by_place=True).threshold
    by_place = {rate: point_at(test, method.test, rate, by_place=True) for rate in CURVE}
    by_time = {rate: point_at(test, method.test, rate, by_place=False) for rate in RATES}
    return {
        "recall": {f"{rate:g}": list(by_place[rate].recall) for rate in RATES},
        "known": {f"{rate:g}": list(by_place[rate].known) for rate in RATES},
        "recall, false by time": {f"{rate:g}": list(by_time[rate].recall) for rate in RATES},
        "operating_point": operating(measure(test, method.test(chosen), chosen)),
        "curve": [[point.false_by_place, *point.recall] for point in by_place.values()],
    }


def operating(point: OperatingPoint) -> dict[str, Any]:
    """Render an operating point."""
    return {
        "threshold": point.threshold,
        "false_by_place": point.false_by_place,
        "false_by_time": point.false_by_time,
        "recall": list(point.recall),
        "known": list(point.known),
    }


def detected(
    ours: Sequence[Pair], test: Truth, everything: Truth | None
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield what the detector itself does; the built-in one also on all series, if they are given.

    The budget is that of its models.
    """
    for pair in ours:
        budget = Budget.released(pair.online, pair.confirm, OPERATING)
        yield pair.name, counted(pair.online, pair.confirm, budget, test)
        if pair.surprises is None and everything is not None:
            yield f"{pair.name}, all series", counted(pair.online, pair.confirm, budget, everything)


def paper(histories: Marked, train: Truth, test: Truth) -> Method:
    """Return Algorithm 1, with a threshold chosen on groups that a second forest did not see."""
    seen, unseen = (Truth.of(part) for part in split_by_group(histories))
    chosen = Algorithm1.learn(seen).on(unseen)
    name = "algorithm 1, bauer8"
    return Method(name, chosen, Algorithm1.learn(train).on(test), 0.0, 1.0, unseen)


def methods(ours: Sequence[Pair], histories: Marked, train: Truth, test: Truth) -> Iterable[Method]:
    """Return all methods of the table."""
    rules: dict[str, Callable[[Truth], Floats]] = {
        "redge rule": lambda truth: redge(truth, 0),
        "redge rule, window 2": lambda truth: redge(truth, 2),
        "gesd": gesd,
        "threshold rule": threshold_rule,
    }
    for pair in ours:
        yield from methods_of(pair, train, test)
    if len(ours) == 1:
        return
    yield paper(histories, train, test)
    for name, rule in rules.items():
        yield scored(name, rule(train), rule(test))
    known, unseen = hunter(train), hunter(test)
    for name in HUNTER_REACH:
        yield scored(name, known[name], unseen[name])


def table_rows(judged: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each method: what it finds, and in brackets what it knows of it."""
    return [
        {"method": name}
        | {
            f"{rate} per 1000": shares(recall) + f" ({shares(figures['known'][rate])})"
            for rate, recall in figures["recall"].items()
        }
        for name, figures in judged.items()
    ]


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--train", type=Path, default=MARKED)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--shipped", action="store_true", help="judge the built-in pair only")
    options = parser.parse_args()
    title = "Found early, by false alarms per thousand points"
    if is_missing(options.train / "series.parquet", title, options.output):
        return
    start = time.perf_counter()
    histories = read_crowded(options.train)
    parts = halves(histories) if options.test is None else (histories, read_crowded(options.test))
    train, test = (Truth.of(part) for part in parts)
    if not test.changes.size or not train.changes.size:
        raise NotEnoughDataError("no change that a majority marked: nothing to learn or to judge")
    ours = [shipped()] if options.shipped else list(pairs(train))
    judged = {
        method.name: judge(method, train, test) for method in methods(ours, parts[0], train, test)
    }
    everything = Truth.of(histories) if options.test is None else None
    counts = dict(detected(ours, test, everything))
    if options.output == "text":
        print(table([row(name, count) for name, count in counts.items()]), end="\n\n")
    show(
        title,
        table_rows(judged),
        options.output,
        methods=judged,
        detectors=counts,
        learned_from={"series": int(train.groups.size), "changes": int(train.changes.size)},
        judged_on={"series": int(test.groups.size), "changes": int(test.changes.size)},
        seconds=time.perf_counter() - start,
    )


if __name__ == "__main__":
    main()
