"""How many commits of quiet jobs turn red, and which steps are still found.

A job has 50, 200 or 1,000 quiet series, and runs `barograph gate` with its defaults at every
commit. It is red if a change for the worse is reported, or a suspect that is worse by 25 %. Quiet
series are simulated ones of shared CI runners whose code never changes, and SAP HANA series; people
marked nothing in either. Each job draws series, and where in its history each series is at the
first commit. `before` counts every alarm of every series, `after` those that the budget of the job
lets through. `5 % slower` is the share of red ones, before and after, among jobs in which all
series get slower by 5 % for a single commit.

Steps for the worse are put into the same series. `at once/2/5` is the share that turns the job red
at the commit of the step, or at most 2 or 5 commits later, if no other series of the job moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from alarm_counts import percent_of
from histories import MARKED, halves, read_marked
from side_by_side import arguments, is_missing, shares, show, table

from barograph.cli.answers import SUSPECT_FAILS_AT
from barograph.detection.online import (
    ANSWERS,
    Answer,
    PendingSeries,
    StepKind,
    make_judge,
)
from barograph.detection.online.budget import JobBudget
from barograph.detection.online.decision import changes_of
from barograph.detection.online.newest import COMPARED
from barograph.learning.online.truth import Marked
from barograph.models import OnlineModels
from barograph.results.series import MIN_CHANGE, Floats, Ints
from barograph.simulator.people import survey
from barograph.simulator.profiles import CI, Profile
from barograph.simulator.projects import Stream, stream
from barograph.simulator.world import World

SIZES = (50, 200, 1000)
FACTORS = (1.1, 1.25, 2.0)
DELAYS = (0, 2, 5)
FIRST = 5  # results before the first that is judged
LEAD, AFTER = 48, 5  # points judged before a step, and after it
COMMON = 0.05
NEVER = (1e-12, 1e-12)

JUDGE = make_judge(OnlineModels.default())
BUDGET = JobBudget(JUDGE.budget)


@dataclass(frozen=True)
class Quiet:
    """Quiet series.

    Attributes:
        name: What they are.
        series: The values of each.
        worse: 1 if higher is worse, else -1, for each.
    """

    name: str
    series: Sequence[Floats]
    worse: Sequence[int]


@dataclass(frozen=True)
class Alarm:
    """An alarm, a step that makes one more certain, or a suspect.

    Attributes:
        newest: The newest result.
        change: The number of the change in its series; -1 for a suspect.
        rate: How rarely a quiet point gets as far.
        is_call: Whether it is the alarm of the change.
        is_red: Whether it is for the worse, and large enough.
    """

    newest: int
    change: int
    rate: float
    is_call: bool
    is_red: bool


def alarms_of(pending: Sequence[PendingSeries], worse: Sequence[int]) -> list[list[Alarm]]:
    """Judge the new points of each series, and return the alarms and suspects."""
    done = JUDGE.judge(pending)
    by_series: list[list[Alarm]] = []
    end = 0
    for series, sign, log in zip(pending, worse, done.logs, strict=True):
        alarms: list[Alarm] = []
        values = series.values
        for number, change in enumerate(changes_of(log.steps)):
            best = -np.inf
            for step in change.steps:
                if step.kind is StepKind.WITHDRAWN or step.score <= best:
                    continue
                best = step.score
                moved = percent_of(step, values) * sign
                rate, is_call = BUDGET.alarm_rate(best), step.kind is StepKind.CALLED
                alarms.append(Alarm(step.newest, number, rate, is_call, moved >= MIN_CHANGE))
        begin, end = end, end + values.size - series.first
        suspects = np.flatnonzero(done.answer[begin:end] == ANSWERS.index(Answer.SUSPECT))
        for place in suspects.tolist():
            newest = series.first + place
            level = float(np.median(values[max(0, newest - COMPARED) : newest]))
            moved = 100.0 * (values[newest] - level) / abs(level) * sign if level else np.inf
            rate = BUDGET.suspect_rate(
                float(done.surprise[begin + place]), float(done.newest[begin + place])
            )
            alarms.append(Alarm(newest, -1, rate, True, moved >= SUSPECT_FAILS_AT))
        by_series.append(alarms)
    return by_series


def red_shares(
    quiet: Quiet, alarms: Sequence[Sequence[Alarm]], size: int, commits: int, rng: Any
) -> tuple[float, float]:
    """Return the share of red commits of a job without and with a shared budget."""
    members = rng.integers(len(quiet.series), size=size)
    by_commit: list[list[tuple[int, Alarm]]] = [[] for _ in range(commits)]
    for slot, number in enumerate(members.tolist()):
        length = quiet.series[number].size - FIRST
        start = int(rng.integers(length))
        for alarm in alarms[number]:
            for commit in range((alarm.newest - FIRST - start) % length, commits, length):
                if alarm.newest >= FIRST:
                    by_commit[commit].append((slot, alarm))
    before = after = 0
    reported: set[tuple[int, int]] = set()
    for commit_alarms in by_commit:
        highest = BUDGET.highest_rate([alarm.rate for _, alarm in commit_alarms], size)
        before += any(alarm.is_red and alarm.is_call for _, alarm in commit_alarms)
        is_red = False
        for slot, alarm in commit_alarms:
            if alarm.is_call:
                reported.discard((slot, alarm.change))
            if alarm.rate <= highest and (slot, alarm.change) not in reported:
                is_red |= alarm.is_red
                if alarm.change >= 0:
                    reported.add((slot, alarm.change))
        after += is_red
    return before / commits, after / commits


def count_steps(quiet: Quiet, count: int, rng: Any) -> list[dict[str, Any]]:
    """Put a step into some series; return the share that turns jobs of each size red."""
    cuts: list[tuple[int, int]] = []
    while len(cuts) < count:
        number = int(rng.integers(len(quiet.series)))
        size = quiet.series[number].size
        if size > LEAD + AFTER + 1:
            cuts.append((number, int(rng.integers(40, size - AFTER - 1))))
    rows = []
    for factor in FACTORS:
        pending = []
        for number, start in cuts:
            values = quiet.series[number][: start + AFTER + 1].copy()
            values[start:] *= factor if quiet.worse[number] > 0 else 1.0 / factor
            pending.append(PendingSeries(values, max(0, start - LEAD), 0))
        by_cut = alarms_of(pending, [quiet.worse[number] for number, _ in cuts])
        row: dict[str, Any] = {"series": quiet.name, "step": f"x{factor:g}"}
        for size in (1, *SIZES):
            first = [
                min(
                    (a.newest - start for a in alarms if a.newest >= start and _is_red(a, size)),
                    default=AFTER + 1,
                )
                for alarms, (_, start) in zip(by_cut, cuts, strict=True)
            ]
            delays = np.array(first)
            row[f"{size} series (at once/2/5)"] = shares((delays <= d).mean() for d in DELAYS)
        rows.append(row)
    return rows


def _is_red(alarm: Alarm, size: int) -> bool:
    if size == 1:
        return alarm.is_red and alarm.is_call
    return alarm.is_red and alarm.rate <= BUDGET.highest_rate([alarm.rate], size)


def simulated(count: int, seed: int = 77) -> Quiet:
    """Return simulated series of shared runners that no simulated person marks."""
    profile = quiet_profile()
    world = World(seed, profile)
    series, worse = [], []
    for number in range(count):
        simulated = world.series(number)
        rng = stream(seed, Stream.CROWD, profile.key, number)
        if not any(places.size for places in survey(simulated.values, simulated.events, 5, rng)):
            series.append(simulated.values)
            worse.append(-int(simulated.direction))
    return Quiet("simulated CI", series, worse)


def quiet_profile() -> Profile:
    """Return the profile of shared runners without any change of the code."""
    runners = CI.runners
    assert runners is not None  # noqa: S101 - the profile is that of runners
    still = replace(runners, jumps_per_100=0.0, modality_changes=0.0, tiny_per_100=NEVER)
    return replace(
        CI, steps_per_100=(0.0, 0.0), reverts_per_100=NEVER, ramps_per_300=0.0, runners=still
    )


def unmarked(name: str, marked: Marked) -> Quiet:
    """Return the series in which no person marked a change."""
    numbers = [k for k in range(len(marked)) if not any(marked.marks[k])]
    series = [marked.values[marked.offsets[k] : marked.offsets[k + 1]] for k in numbers]
    return Quiet(name, series, [1] * len(series))


def all_slower(quiet: Quiet, count: int, size: int, rng: Any) -> str:
    """Return the share of jobs that are red as all series are slower for one commit."""
    pending, worse = [], []
    for number in rng.integers(len(quiet.series), size=count * size).tolist():
        values = quiet.series[number]
        newest = int(rng.integers(FIRST, values.size))
        cut = values[: newest + 1].copy()
        cut[newest] *= (1 + COMMON) ** quiet.worse[number]
        pending.append(PendingSeries(cut, newest, 0))
        worse.append(quiet.worse[number])
    alarms = alarms_of(pending, worse)
    before = after = 0
    for first in range(0, count * size, size):
        drawn = [alarm for part in alarms[first : first + size] for alarm in part]
        highest = BUDGET.highest_rate([alarm.rate for alarm in drawn], size)
        before += any(alarm.is_red for alarm in drawn)
        after += any(alarm.is_red and alarm.rate <= highest for alarm in drawn)
    return f"{100 * before / count:.0f} -> {100 * after / count:.0f}"


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--simulated", type=int, default=1500, help="Simulated series.")
    parser.add_argument("--jobs", type=int, default=10, help="Jobs of each size.")
    parser.add_argument("--commits", type=int, default=200, help="Commits of each job.")
    parser.add_argument("--steps", type=int, default=300, help="Steps of each size.")
    options = parser.parse_args()
    sets = [simulated(options.simulated)]
    if not is_missing(MARKED, "jobs of SAP HANA series", options.output):
        for name, part in zip(
            ("SAP HANA, choice half", "SAP HANA, other half"),
            halves(read_marked(MARKED)),
            strict=True,
        ):
            sets.append(unmarked(name, part))
    rows, steps = [], []
    for quiet in sets:
        rng = np.random.default_rng(1)
        alarms = alarms_of([PendingSeries(values, 0, 0) for values in quiet.series], quiet.worse)
        for size in SIZES:
            red = [
                red_shares(quiet, alarms, size, options.commits, rng) for _ in range(options.jobs)
            ]
            before, after = np.mean(red, axis=0)
            rows.append(
                {
                    "series": quiet.name,
                    "of": f"{len(quiet.series)} series, {_points(quiet.series):,} results",
                    "in the job": size,
                    "red before, %": 100 * float(before),
                    "red after, %": 100 * float(after),
                    "5 % slower": all_slower(quiet, options.jobs, size, rng),
                }
            )
        steps += count_steps(quiet, options.steps, rng)
    if options.output == "text":
        print(table(steps), end="\n\n")
    show("red commits of quiet jobs", rows, options.output, steps=steps)


def _points(series: Sequence[Floats]) -> int:
    sizes: Ints = np.array([values.size for values in series])
    return int(sizes.sum())


if __name__ == "__main__":
    main()
