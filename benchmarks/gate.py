"""What `barograph gate` does to the jobs of a project that runs it at every commit.

Every series of --marks with three or more annotators is judged commit by commit, with the built-in
pair and the defaults of the command, except that a change in either direction is red. A change is
a cluster of marks within 5 points by more than half of the annotators. It is found within d if a
job up to d commits after it turns red for a change within 5 points of it, and noticed if a job
there is red or names a suspect. A red job is false if it points more than 5 points away from every
mark, or at a change that an earlier job reported. `suspects` counts the quiet commits, more than 5
points away from any mark, at which a suspect is named.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from alarm_counts import LATEST, called, percent_of
from histories import MARKED, halves, read_crowded
from operating_points import found_within, measure
from side_by_side import arguments, is_missing, shares, show

from barograph.detection.online import (
    ANSWERS,
    Answer,
    OnlineJudge,
    PendingSeries,
    make_judge,
)
from barograph.learning.online.alarms import Raised, known_within
from barograph.learning.online.truth import Truth
from barograph.models import OnlineModels
from barograph.results.marks import MARGIN
from barograph.results.series import MIN_CHANGE, Flags

NEAR = 10
DELAYS = (0, 2, 5)


class Jobs(NamedTuple):
    """The jobs of all commits.

    Attributes:
        red: The red ones, and the changes that they report.
        suspects: Whether the job of a commit names a suspect.
    """

    red: Raised
    suspects: Flags


def jobs_of(truth: Truth, judge: OnlineJudge) -> Jobs:
    """Judge every commit as the newest one."""
    values_by_series = np.split(truth.values, truth.offsets[1:-1])
    done = judge.judge([PendingSeries(values, 0) for values in values_by_series])
    large = [
        [step for step in log.steps if abs(percent_of(step, values)) >= MIN_CHANGE]
        for values, log in zip(values_by_series, done.logs, strict=True)
    ]
    return Jobs(called(truth, large), done.answer == ANSWERS.index(Answer.SUSPECT))


def row(name: str, truth: Truth, jobs: Jobs) -> dict[str, Any]:
    """Return a row of the table."""
    point = measure(truth, jobs.red, 0.0)
    latest = known_within(truth, jobs.red, LATEST)
    near = [_red_near(truth, jobs.red, int(change)) for change in truth.changes[latest]]
    noticed = Raised.of(jobs.suspects)
    both = np.concatenate([jobs.red.points, noticed.points])
    quiet = truth.quiet
    return {
        "series": name,
        "changes": int(truth.changes.size),
        "found (0/2/5), %": shares(known_within(truth, jobs.red, d).mean() for d in DELAYS),
        "red at or after (0/2/5), %": shares(
            found_within(truth, jobs.red.points, d).mean() for d in DELAYS
        ),
        "noticed (0/2/5), %": shares(found_within(truth, np.sort(both), d).mean() for d in DELAYS),
        "false red per 1,000": point.false_by_place,
        "suspects per 1,000 quiet": 1000.0 * float(jobs.suspects[quiet].mean()),
        "red jobs per found change": float(np.mean(near)) if near else 0.0,
    }


def _red_near(truth: Truth, red: Raised, change: int) -> int:
    near: Flags = np.abs(red.places - change) <= NEAR
    return int((near & (truth.series[red.places] == truth.series[change])).sum())


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--marks", type=Path, default=MARKED)
    options = parser.parse_args()
    if is_missing(options.marks, "gate on real histories", options.output):
        return
    judge = make_judge(OnlineModels.default())
    marked, rows = read_crowded(options.marks), []
    for name, part in (("all", marked), ("half to report on", halves(marked)[1])):
        truth = Truth.of(part)
        rows.append(row(name, truth, jobs_of(truth, judge)))
    show("gate at every commit", rows, options.output, margin=MARGIN)


if __name__ == "__main__":
    main()
