"""Choose the default alarm policy, and the weight of simulated histories beside marks.

Uses only the series of --train that `online_marks.py` learns from (without a test folder, the part
that is not held out): repeated grouped cross-validation, with one seed for folds, samples and
trees. Differences are paired over the series; their standard errors come from bootstrap samples of
the series and of whole groups. docs/online.md describes the rules that these figures decide by.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from histories import MARKED, halves, read_crowded
from online_marks import SIMULATED
from side_by_side import arguments, is_missing, show, table

from barograph.detection.online.budget import ALARM_POLICIES
from barograph.learning.online.alarm_rates import (
    DELAYS,
    RATES,
    Alarms,
    at_rate,
    every_alarm,
    false_by_place,
    found_within,
)
from barograph.learning.online.learn import ALWAYS, NEVER, Prior, learn
from barograph.learning.online.rows import Rows
from barograph.learning.online.second_look_alarms import SecondLookAlarms
from barograph.learning.online.truth import Truth
from barograph.results.series import Floats

REPEATS = 1
PRIOR_WEIGHTS = (0.0, 0.1, 0.3, 0.6)
ALONE = "window 0 alone"
PARTS = (0.25, 0.5, 0.75)  # of the way from `even` to `steady`
SAMPLES = 1000
WIDEST, NARROWEST, STEPS = 30.0, 0.3, 300  # rates between which STEPS thresholds are tried


@dataclass(frozen=True)
class KeptPrior(Prior):
    """Further histories whose rows are described once for all weights and repeats."""

    known: dict[int, Rows]

    def rows(self, window: int) -> Rows:
        """Describe every point in a window."""
        if window not in self.known:
            self.known[window] = super().rows(window)
        return self.known[window]


@dataclass(frozen=True)
class Tally:
    """False alarms and changes found, by threshold and series; the latter by delay, too."""

    false: Floats
    found: Floats

    @classmethod
    def of(cls, truth: Truth, method: Alarms) -> "Tally":
        """Count at thresholds in rising order."""
        low, high = (
            at_rate(truth, method, rate, ALWAYS, NEVER).threshold for rate in (WIDEST, NARROWEST)
        )
        raised = [method(threshold) for threshold in np.linspace(low, high, STEPS)]
        alarms = [at_threshold.of_judged(truth) for at_threshold in raised]
        false = [per_series(truth, a.points[false_by_place(truth, a.places)]) for a in alarms]
        found = [
            [per_series(truth, truth.changes[found_within(truth, a.points, delay)]) for a in alarms]
            for delay in DELAYS
        ]
        return cls(np.array(false), np.array(found))

    def recall(self, truth: Truth, samples: Floats) -> Floats:
        """Return the recall of each sample of the series by rate and delay."""
        points = samples @ per_series(truth, np.flatnonzero(truth.judged))
        changes = samples @ per_series(truth, truth.changes)
        rates = 1000.0 * (samples @ self.false.T) / points[:, None]
        found = np.einsum("bs,dts->bdt", samples, self.found) / changes[:, None, None]
        first = [np.argmax(rates <= rate, axis=1) for rate in RATES]
        each = np.arange(len(samples))
        return np.stack([found[each, :, threshold] for threshold in first], axis=1)


def per_series(truth: Truth, points: Any) -> Floats:
    """Count points by series."""
    return np.bincount(truth.series[points], minlength=truth.groups.size).astype(np.float64)


def policies() -> dict[str, Mapping[int, float]]:
    """Return the named alarm policies, and weights between `even` and `steady`."""
    between = {
        f"even to steady, {part:g}": {
            window: weight**part for window, weight in ALARM_POLICIES["steady"].items()
        }
        for part in PARTS
    }
    return {**ALARM_POLICIES, **between}


def tallies(truth: Truth, surprises: Mapping[int, Floats]) -> dict[str, Tally]:
    """Count for window 0 alone, and for one stream with each policy."""
    result = {ALONE: Tally.of(truth, every_alarm(surprises[0]))}
    for name, weights in policies().items():
        result[name] = Tally.of(truth, SecondLookAlarms(truth, surprises, weights))
    return result


def samples(truth: Truth, *, whole_groups: bool) -> Floats:
    """Return how often each series is drawn: first all of them once, then at random."""
    generator = np.random.default_rng(0)
    _, owner = np.unique(truth.groups, return_inverse=True)
    units = owner if whole_groups else np.arange(truth.groups.size)
    count = int(units.max()) + 1
    drawn = generator.multinomial(count, np.full(count, 1.0 / count), size=SAMPLES)
    return np.concatenate([np.ones((1, units.size)), drawn[:, units]]).astype(np.float64)


Aims = tuple[Floats, Floats]  # by sample of series, and by sample of groups


@dataclass(frozen=True)
class Recalls:
    """The mean recall of a method over the repeats, with simulated histories at one weight.

    Attributes:
        weight: Of a simulated row.
        method: Window 0 alone, or an alarm policy.
        by_series: Recall by sample, rate and delay; samples of series, the first is all of them.
        by_group: The same with samples of whole groups.
        repeats: The first sample of each repeat.
    """

    weight: float
    method: str
    by_series: Floats
    by_group: Floats
    repeats: Floats

    @property
    def aims(self) -> Aims:
        """What is compared at 3 per thousand: the recall at once, or the mean of all delays."""
        return aim(self.method, self.by_series), aim(self.method, self.by_group)

    def row(self, best: "Recalls") -> dict[str, Any]:
        """Return a row of the table, in percent, compared with the best."""
        return {
            "simulated": self.weight,
            "method": self.method,
            **{
                f"{rate:g} per 1000": "/".join(f"{100 * share:.1f}" for share in recall)
                for rate, recall in zip(RATES, self.by_series[0], strict=True)
            },
            **beside(self.aims, best.aims),
            "repeats": " ".join(f"{100 * x:.1f}" for x in aim(self.method, self.repeats)),
        }


def beside(aims: Aims, others: Aims) -> dict[str, float]:
    """Return how far aims are below others, and the standard error, in percent."""
    below, by_group = (100.0 * (other - aim) for aim, other in zip(aims, others, strict=True))
    return {
        "compared": 100.0 * float(aims[0][0]),
        "below": float(below[0]),
        "error": float(below[1:].std()),
        "error by group": float(by_group[1:].std()),
    }


def aim(method: str, recall: Floats) -> Floats:
    """Return the compared recall of a method."""
    at_three = recall[:, RATES.index(3.0)]
    chosen: Floats = at_three[:, 0] if method == ALONE else at_three.mean(axis=1)
    return chosen


def recalls(truth: Truth, weight: float, repeats: Sequence[Mapping[str, Tally]]) -> list[Recalls]:
    """Combine the repeats of one weight."""
    drawn = [samples(truth, whole_groups=whole) for whole in (False, True)]
    result = []
    for method in repeats[0]:
        each = [np.array([tally[method].recall(truth, s) for tally in repeats]) for s in drawn]
        means = [recall.mean(axis=0) for recall in each]
        result.append(Recalls(weight, method, means[0], means[1], each[0][:, 0]))
    return result


def compare_policies(results: Sequence[Recalls]) -> list[dict[str, Any]]:
    """Rule 1: compare all policies at one weight with the best named policy."""
    best = max(
        (result for result in results if result.method in ALARM_POLICIES),
        key=lambda result: result.aims[0][0],
    )
    return [result.row(best) for result in results if result.method != ALONE]


def compare_weights_with_none(results: Sequence[Recalls], method: str) -> list[dict[str, Any]]:
    """Rule 2: compare all weights of a method with learning from marks alone."""
    of_method = [result for result in results if result.method == method]
    none = next(result for result in of_method if result.weight == 0.0)
    return [result.row(none) for result in of_method]


def compare_weights_with_best(results: Sequence[Recalls], policy: str) -> list[dict[str, Any]]:
    """Rule 2: compare window 0 and the stream of a policy with the best weight above 0."""
    sums: dict[float, Aims] = {}
    for weight in PRIOR_WEIGHTS:
        alone, stream = (
            next(r.aims for r in results if (r.weight, r.method) == (weight, method))
            for method in (ALONE, policy)
        )
        sums[weight] = alone[0] + stream[0], alone[1] + stream[1]
    best = max((aims for weight, aims in sums.items() if weight), key=lambda aims: aims[0][0])
    return [
        {"simulated": weight, "policy": policy, **beside(aims, best)}
        for weight, aims in sums.items()
    ]


def main() -> None:
    """Cross-validate and print."""
    parser = arguments(str(__doc__))
    parser.add_argument("--train", type=Path, default=MARKED)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    title = "Alarm policies and simulated histories, by cross-validation on the training series"
    if is_missing(options.train / "series.parquet", title, options.output):
        return
    start = time.perf_counter()
    truth = Truth.of(halves(read_crowded(options.train))[0])
    simulated = SIMULATED.histories().truth
    results: list[Recalls] = []
    known: dict[int, Rows] = {}
    for weight in PRIOR_WEIGHTS:
        prior = KeptPrior(simulated, weight, known) if weight else None
        seeds = range(1, options.repeats + 1)
        each = [tallies(truth, learn(truth, prior=prior, seed=k).surprises) for k in seeds]
        results += recalls(truth, weight, each)
    rows = [
        row
        for weight in PRIOR_WEIGHTS
        for row in compare_policies([r for r in results if r.weight == weight])
    ]
    weights = [
        row
        for method in (ALONE, *ALARM_POLICIES)
        for row in compare_weights_with_none(results, method)
    ]
    sums = [row for policy in ALARM_POLICIES for row in compare_weights_with_best(results, policy)]
    if options.output == "text":
        print(table(weights), table(sums), sep="\n\n", end="\n\n")
        show(title, rows, options.output, seconds=time.perf_counter() - start)
        return
    taken = time.perf_counter() - start
    show(title, rows, options.output, weights=weights, sums=sums, seconds=taken)


if __name__ == "__main__":
    main()
