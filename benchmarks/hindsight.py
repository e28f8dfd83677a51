"""What online models learn from a history without marks, judged by the marks of other groups.

The models learn from one half of the groups of --train: from its values alone (`hindsight`), or
from its marks (`marks`), each mixed with simulated histories at the weight --weight. Both are
judged on the marks of the other half, the half that nothing may be chosen on, beside the built-in
pair (`shipped`).

Every cell has the percentages of changes within 0, 2 and 5 points, by false alarms per 1,000
points: `found` by an alarm at the change or after it, and `known` by one that points within 5
points of it. Window 0 alone has the share at delay 0, at 1, 3 and 10 false alarms; its false alarms
are counted by time, as it raises them at every point. `beats shipped` is what a release would
decide: the comparison on held-out groups of the half that was learned from, by hindsight.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from histories import MARKED, halves, read_crowded
from online_marks import PRIOR_WEIGHT, SIMULATED
from operating_points import RATES, point_at_rate
from side_by_side import arguments, is_missing, shares, show

from barograph.detection.online.budget import WEIGHTS, weights_of
from barograph.learning.online.alarms import ALWAYS, NEVER, SecondLookAlarms, every_alarm
from barograph.learning.online.hindsight import truth_in_hindsight
from barograph.learning.online.learn import Prior, learn, surprises_of
from barograph.learning.online.pair import alarms_of, compare_pairs
from barograph.learning.online.truth import Marked, Truth
from barograph.models import TriageModel
from barograph.models.triage import FILES
from barograph.results.series import Floats


def without_marks(histories: Marked) -> Truth:
    """Label the values of marked histories by hindsight; no mark is read."""
    nothing = np.empty(0, dtype=np.int64)
    return truth_in_hindsight(
        histories.values,
        np.asarray(histories.offsets, dtype=np.int64),
        np.asarray(histories.groups, dtype=np.int64),
        true=nothing,
        false=nothing,
        undecided=nothing,
    )


def row(
    name: str, surprises: Mapping[int, Floats], test: Truth, weights: Mapping[int, float]
) -> dict[str, Any]:
    """Return the row of a pair."""
    newest = [
        point_at_rate(test, every_alarm(surprises[0]), rate, ALWAYS, NEVER, by_place=False).recall[
            0
        ]
        for rate in RATES
    ]
    cells = {"learned from": name, "window 0 at 1/3/10": shares(newest)}
    alarms = SecondLookAlarms(test, surprises, weights)
    for rate in RATES:
        point = point_at_rate(test, alarms, rate, ALWAYS, NEVER)
        cells[f"second look at {rate:g}"] = f"{shares(point.recall)} ({shares(point.known)})"
    return cells


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--train", type=Path, default=MARKED)
    parser.add_argument("--weight", type=float, default=PRIOR_WEIGHT)
    options = parser.parse_args()
    title = "Online models learned without marks: found (known) in percent"
    if is_missing(options.train / "series.parquet", title, options.output):
        return
    start = time.perf_counter()
    choice, reported = halves(read_crowded(options.train))
    test, hindsight = Truth.of(reported), without_marks(choice)
    shipped = {use: TriageModel.default(use) for use in FILES["online"]}
    newest, confirm = shipped["online"], shipped["confirm"]
    weights = weights_of(confirm.card)
    rows = [row("shipped", surprises_of(newest, confirm, test), test, weights)]
    simulated = Prior(SIMULATED.histories().truth, options.weight)
    decided: dict[str, Any] = {}
    for name, truth in (("hindsight", hindsight), ("marks", Truth.of(choice))):
        learned = learn(truth, prior=simulated)
        rows.append(row(name, surprises_of(learned.online, learned.confirm, test), test, WEIGHTS))
        for labels, judge in (("hindsight", hindsight), ("marks", Truth.of(choice))):
            new = SecondLookAlarms(judge, learned.surprises)
            entry, _ = compare_pairs(labels, new, alarms_of(shipped, judge, like=learned.surprises))
            decided[f"{name}, compared by {labels}"] = entry
    show(
        title,
        rows,
        options.output,
        beats_shipped=decided,
        learned_from={"series": len(choice), "changes in hindsight": int(hindsight.changes.size)},
        judged_on={"series": len(reported), "changes": int(test.changes.size)},
        seconds=time.perf_counter() - start,
    )


if __name__ == "__main__":
    main()
