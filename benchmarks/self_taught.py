"""What a pair that learned from real histories without a label finds, beside another pair.

It learns from the choice half of the owners of a pool of public histories, and from the values of
the choice half of the marked ones. Both pairs are judged on the other halves: the pool by the
labels of a teacher, which judges every old jump with all later results, the marked histories by
people's marks. `--labels` names a file for the teacher's labels; it is written if it is missing,
and read later, so that pairs of later versions are judged by the same labels.

Every cell has the percentages of changes with an alarm within 0, 2 and 5 results, at the threshold
that gives the rate of false alarms by place, and beside it, in brackets, at the threshold of the
card, with its rate. `controls` are series of one fixed build: a change alarmed in them is the
machine's. The differences are those of the share found on the pool, with 95 % intervals over drawn
owners.
"""

import math
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from histories import MARKED, ROOT, SHARED, halves, is_reported, read_crowded, read_marked
from operating_points import found_within, measure, point_at_rate
from side_by_side import arguments, is_missing, shares, show

from barograph.detection.online.budget import POLICY, Budget, weights_of
from barograph.learning.online.alarms import (
    ALWAYS,
    DELAYS,
    NEVER,
    Raised,
    SecondLookAlarms,
    are_real,
    at_rate,
    every_alarm,
)
from barograph.learning.online.hindsight import look_back
from barograph.learning.online.learn import surprises_of
from barograph.learning.online.pool import Unlabelled, read_marked_values, read_pool, teach
from barograph.learning.online.truth import Truth
from barograph.models import OnlineModels
from barograph.results.series import Flags, Floats

POOL = SHARED / "pool"
LABELS = ROOT / "data" / "reports" / "teacher.npz"
CI = "GitHub runner"
# Owners of series in the other data of the folder: these are chosen on, never reported.
KNOWN = ("kokkos", "mongodb", "mozilla", "scipy", "tigerbeetle")
RATES = (1.0, 3.0)
DRAWS = 2000
BIN = 50  # alarms at least, of which it is said how many are real


def split(pool: Unlabelled) -> Flags:
    """Return which series of a pool are reported."""
    result: Flags = is_reported(pool.owners) & ~np.isin(pool.owners, KNOWN)
    return result


def split_marked() -> Flags:
    """Return which marked series are reported, in the order of `read_marked_values`."""
    marked = read_marked(MARKED)
    return is_reported(marked.groups)


def labelled(pool: Unlabelled, file: Path) -> Truth:
    """Return a pool with the labels of a file, which are written if it is missing."""
    if not file.is_file():
        likely, doubtful = look_back(pool.values, pool.offsets)
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, likely=likely, doubtful=doubtful, size=pool.values.size)
    labels = np.load(file)
    if labels["size"] != pool.values.size:
        raise SystemExit(f"{file} has labels of {labels['size']} values, not of these")
    groups = np.unique(pool.owners, return_inverse=True)[1].astype(np.int64)
    true, undecided = labels["likely"], labels["doubtful"]
    return Truth.of_verdicts(pool.values, pool.offsets, groups, true=true, undecided=undecided)


class Judged:
    """The alarms of a pair on some histories.

    Args:
        pair: The two models.
        truth: The histories.
    """

    def __init__(self, pair: OnlineModels, truth: Truth) -> None:
        newest, confirm = pair.members
        self.truth, self.card = truth, confirm.card
        self.budget = Budget.released(newest, confirm)
        self.surprises = surprises_of(newest, confirm, truth)
        self.alarms = SecondLookAlarms(truth, self.surprises, weights_of(self.card))

    def row(self) -> dict[str, Any]:
        """Return the cells of a table."""
        alone = every_alarm(self.surprises[0])
        newest = [
            point_at_rate(self.truth, alone, rate, ALWAYS, NEVER, by_place=False).recall[0]
            for rate in RATES
        ]
        cells: dict[str, Any] = {"window 0 at 1/3": shares(newest)}
        for rate in RATES:
            point = measure(self.truth, self.at(rate), math.nan)
            threshold = self.card["alarm_thresholds"][POLICY][f"{rate:g}"]
            carded = measure(self.truth, self.alarms(threshold), threshold)
            beside = f"{shares(carded.recall)} at {carded.false_by_place:.1f}"
            cells[f"at {rate:g}"] = f"{shares(point.recall)} ({beside})"
        return cells

    @cache  # noqa: B019 - as long-lived as the program
    def at(self, rate: float) -> Raised:
        """Return the alarms at a rate of false alarms."""
        return self.alarms(at_rate(self.truth, self.alarms, rate)).of_judged(self.truth)

    def found(self, rate: float) -> Floats:
        """Return for each delay and change whether it was found at a rate of false alarms."""
        points = self.at(rate).points
        return np.array([found_within(self.truth, points, d) for d in DELAYS], dtype=np.float64)


def sureness(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return how sure alarms of the card's threshold are said to be, and how many are real.

    Alarms near doubtful points are left out. A bin is a tenth of the scale; those with fewer than
    `BIN` alarms are left out, too.
    """
    said, real = [], []
    for each in judged:
        raised = each.alarms(each.card["alarm_thresholds"][POLICY]["3"]).of_judged(each.truth)
        is_real, known = are_real(each.truth, raised)
        scores = raised.scores[known].tolist()
        said.append(np.array([each.budget.sureness(score) for score in scores], dtype=np.float64))
        real.append(is_real[known])
    stated, true = np.concatenate(said), np.concatenate(real)
    tenths = np.floor(10.0 * stated)
    bins = [np.flatnonzero(tenths == tenth) for tenth in np.unique(tenths)]
    return [
        {"said": float(stated[b].mean()), "real": float(true[b].mean()), "alarms": b.size}
        for b in bins
        if b.size >= BIN
    ]


def draw(sure: Mapping[str, Sequence[Mapping[str, float]]], file: Path) -> None:
    """Draw how often alarms are real, beside how sure they are said to be."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot([0.4, 0.9], [0.4, 0.9], color="0.7")
    for (name, bins), marker in zip(sure.items(), "os", strict=False):
        axes.plot([b["said"] for b in bins], [b["real"] for b in bins], marker, label=name)
        for b in bins:
            place = (b["said"], b["real"])
            axes.annotate(f" {b['alarms']:,.0f}", place, xytext=(4, -4), textcoords="offset points")
    axes.set(xlabel="said to be real", ylabel="real", xlim=(0.4, 0.9), ylim=(0.4, 0.9))
    axes.legend(loc="lower right")
    figure.savefig(file, dpi=120)


def difference(new: Floats, other: Floats, owners: np.ndarray[Any, Any]) -> list[str]:
    """Return the gain for each delay in points, with its interval over drawn owners."""
    _, owner = np.unique(owners, return_inverse=True)
    count = np.bincount(owner)
    drawn = np.random.default_rng(0).integers(0, count.size, (DRAWS, count.size))
    texts = []
    for gain in new - other:
        sums = np.bincount(owner, gain)
        low, high = np.quantile(sums[drawn].sum(1) / count[drawn].sum(1), [0.025, 0.975])
        texts.append(f"{100 * gain.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]")
    return texts


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--beside", type=Path, help="the file of the other pair")
    parser.add_argument("--taught", type=Path, help="keep the pair that was taught here")
    parser.add_argument("--plot", type=Path, help="draw how sure alarms are")
    options = parser.parse_args()
    title = "A pair taught in hindsight by real histories"
    if is_missing(POOL / "pool.parquet", title, options.output):
        return
    start = time.perf_counter()
    pool, marked = read_pool(POOL), read_marked_values(MARKED)
    choice = pool.part(~split(pool)), marked.part(~split_marked())
    if options.taught is not None and options.taught.is_file():
        taught = OnlineModels.load(options.taught)
    else:
        learned = teach(choice)
        taught = OnlineModels(learned.online, learned.confirm)
        if options.taught is not None:
            taught.save(options.taught)
    other = OnlineModels.load(options.beside) if options.beside else OnlineModels.default()
    reported = pool.part(split(pool))
    truth = labelled(reported, options.labels)
    apart = reported.controls[truth.series]
    parts = {
        "pool": truth.without(apart),
        "pool, CI": truth.without(apart | (reported.runners != CI)[truth.series]),
        "controls": truth.without(~apart),
        "SAP HANA": Truth.of(halves(read_crowded(MARKED))[1]),
    }
    rows, gains = [], {}
    sure: dict[str, Any] = {}
    for name, part in parts.items():
        judged = {"taught": Judged(taught, part), "other": Judged(other, part)}
        if name in {"pool", "SAP HANA"} and "alarm_sureness" in judged["taught"].card:
            sure[name] = sureness([judged["taught"]])
        rows += [{"histories": name, "pair": which, **j.row()} for which, j in judged.items()]
        for rate in RATES if name != "controls" else ():
            new, old = (j.found(rate) for j in judged.values())
            owners = part.groups[part.series[part.changes]]
            gains[f"{name} at {rate:g}"] = difference(new, old, owners)
    if options.plot is not None:
        draw(sure, options.plot)
    counts: Mapping[str, Any] = {
        name: {"points": int(t.judged.sum()), "changes": int(t.changes.size)}
        for name, t in parts.items()
    }
    facts = {"gain within 0, 2, 5": gains, "judged on": counts, "sureness": sure}
    show(title, rows, options.output, **facts, seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main()
