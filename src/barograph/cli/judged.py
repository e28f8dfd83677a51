"""The series of a job as `gate` and `score` see them, and what they report about each.

Both commands build the same `JudgedSeries`, one from a history and the other from the store. So the
same results get the same answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from barograph.cli.answers import SeriesAnswer
from barograph.detection.online import Answer, StepKind, departure
from barograph.detection.online.decision import StandingChange
from barograph.detection.online.latest import RECENT
from barograph.detection.online.newest import COMPARED
from barograph.results.series import Floats, Ints
from barograph.results.sizes import NEAR, size_of

if TYPE_CHECKING:
    from barograph.detection.online.job_budget import JobBudget

Job = Mapping[Hashable, float]  # the highest rate that counts, by commit


@dataclass(frozen=True)
class JudgedSeries:
    """The last results of a series, and what the online judge says about them.

    All positions are those in `values`.

    Attributes:
        name: Name of the series.
        project: Its project.
        direction: 1 if higher is better, -1 if lower is better, 0 if unknown.
        orders: Orders of the commits.
        commits: Names of the commits, empty where unknown.
        values: The settled value of each commit.
        selected: Number of newest commits that the command judges.
        answer: The answer on the newest commit.
        probability: The probability of the change that it is about.
        surprise: How far the newest value departs from what is usual, in nats.
        known_since: The change that is known and was reported before; None without one.
        reruns: Number of further runs of the newest commit that are advised.
        baseline_size: Number of values that the newest one was compared with.
        changes: The changes that recent steps are about.
        runs: The results of the commits that have several runs.
        is_new: Whether there is no result before those that are asked about.
        branch: Number of newest commits that are of the judged branch; 0 without one.
    """

    name: str
    project: str
    direction: int
    orders: Ints
    commits: Sequence[str]
    values: Floats
    selected: int
    answer: Answer
    probability: float
    surprise: float = 0.0
    known_since: int | None = None
    reruns: int = 0
    baseline_size: int = 0
    changes: Sequence[StandingChange] = ()
    runs: Mapping[int, Floats] = field(default_factory=lambda: MappingProxyType({}))
    is_new: bool = False
    branch: int = 0

    @property
    def newest(self) -> int:
        """The position of the newest commit."""
        return self.values.size - 1

    def commit_key(self, place: int) -> Hashable:
        """Return what names a commit in every series of its project: its name, or its order."""
        return self.project, self.commits[place] or int(self.orders[place])

    def rates(self, budget: JobBudget | None) -> Iterator[tuple[int, float]]:
        """Yield where recent alarms and the suspect are, each with how rarely a quiet point is one.

        A change that a later step makes more certain is there again.
        """
        for change in self.changes:
            yield from self._rates_of(change, budget)
        if self.answer is Answer.SUSPECT:
            surprise = self.surprise, self.probability
            yield self.newest, 0.0 if budget is None else budget.suspect_rate(*surprise)

    def _rates_of(
        self, change: StandingChange, budget: JobBudget | None
    ) -> Iterator[tuple[int, float]]:
        score = -np.inf
        for step in change.steps:
            is_news = step.kind is not StepKind.WITHDRAWN and step.score > score
            place = step.newest
            if is_news and place > self.newest - max(self.selected, self.branch) - RECENT:
                yield place, self._rate(step.index, place, step.score, step.probability, budget)
            score = max(score, step.score)

    def _rate(
        self, index: int, place: int, score: float, probability: float, budget: JobBudget | None
    ) -> float:
        if budget is None:
            return 0.0
        rate = budget.alarm_rate(score)
        if index == place and place in self.runs:
            confirmed = budget.confirmed_rate(self._before(place), self.runs[place], probability)
            return min(rate, confirmed)
        return rate

    def answers(self, job: Job, budget: JobBudget | None) -> Iterator[SeriesAnswer]:
        """Yield an answer for each change that was found at the selected commits, or one without.

        Args:
            job: The highest rate that counts, by commit.
            budget: Says how rare an alarm is; None if every alarm counts.
        """
        is_fresh = False
        standing = sorted(
            (change for change in self.changes if change.stands), key=attrgetter("index")
        )
        ends = [*(change.index for change in standing), self.values.size][1:]
        for change, end in zip(standing, ends, strict=False):
            news = [*self._rates_of(change, budget)]
            counted = [
                place for place, rate in news if rate <= job.get(self.commit_key(place), -1.0)
            ]
            place = counted[0] if counted else news[-1][0] if news else -1
            asked = self._asked_about(change.index, end)
            if place <= self.newest - asked or (change.is_older and counted):
                continue
            is_fresh = True
            # The second look may have moved the change beyond the result of its first alarm.
            seen = max(place, change.index)
            answer = replace(self._answer(Answer.CHANGE, seen), is_certain=bool(counted))
            answer = replace(answer, probability=change.probability)
            yield self._with_change(answer, change.index, end)
        suspect = self.answer is Answer.SUSPECT
        if suspect or (self.reruns and self.answer is Answer.QUIET and not is_fresh):
            yield self._departed(job, budget)
        elif not is_fresh:
            quiet = self._answer(Answer.QUIET, self.newest)
            if self.known_since is not None:
                quiet = replace(quiet, known=True)
                quiet = self._with_change(quiet, self.known_since, self.values.size)
            yield quiet

    def _asked_about(self, begin: int, end: int) -> int:
        """Return how many newest commits are asked about a change between two positions.

        A change that begins on the judged branch and still holds is reported at all its commits:
        the branch would bring it into the base branch.
        """
        holds = end == self.values.size and begin >= self.values.size - self.branch
        return max(self.selected, self.branch) if holds else self.selected

    def _answer(self, answer: Answer, place: int) -> SeriesAnswer:
        """Return an answer on the result at a position, without a change."""
        return SeriesAnswer(
            series=self.name,
            direction=self.direction,
            order=int(self.orders[place]),
            commit=self.commits[place],
            answer=answer,
            probability=self.probability,
            reruns=self.reruns if place == self.newest else 0,
            baseline_size=self.baseline_size,
            runs=self.runs[place].size if place in self.runs else 1,
        )

    def _with_change(self, answer: SeriesAnswer, begin: int, end: int) -> SeriesAnswer:
        """Add the size of the change that begins at a position and holds to another."""
        size = size_of(self._segment_before(begin), self.values[begin:end])
        return replace(
            answer,
            percent=size.percent,
            is_trend=size.is_trend,
            begins=int(self.orders[begin]),
            begins_commit=self.commits[begin],
        )

    def _before(self, place: int) -> Floats:
        """Return results before a position, some also where the history begins again with it."""
        first = self.newest - self.baseline_size
        return self.values[max(0, first if first < place else place - COMPARED) : place]

    def _segment_before(self, place: int) -> Floats:
        """Return the results before a position that are of its level: since the change before."""
        before = self._before(place)
        since = self.newest - max(self.selected, self.branch) - RECENT  # steps are known from here
        starts = [
            change.index
            for change in self.changes
            if change.stands and change.index < place and change.steps[-1].newest > since
        ]
        return before[-(place - max(starts)) :] if starts else before

    def _departed(self, job: Job, budget: JobBudget | None) -> SeriesAnswer:
        """Return the answer on the newest result with how far it departs from those before it."""
        first = max(0, self.newest - self.baseline_size)
        departed = departure(self.values[first:-1], float(self.values[-1]))
        level = self._segment_before(self.newest)[-NEAR:]
        highest = job.get(self.commit_key(self.newest), -1.0)
        rates = [rate for place, rate in self.rates(budget) if place == self.newest]
        return replace(
            self._answer(self.answer, self.newest),
            percent=size_of(level, self.values[-1:]).percent,
            surprise=departed.surprise,
            reason=str(departed) if departed.surprise else "",
            is_certain=bool(rates) and rates[-1] <= highest,
        )


def answers_of(series: Sequence[JudgedSeries], budget: JobBudget | None) -> list[SeriesAnswer]:
    """Return the answers on all series of a job, whose alarms share one budget.

    Args:
        series: The series.
        budget: Says which alarms are rare enough for the number of series; None if all are.
    """
    rates: dict[Hashable, list[float]] = defaultdict(list)
    for member in series:
        for place, rate in member.rates(budget):
            rates[member.commit_key(place)].append(rate)
    highest = {
        key: max(of_commit) if budget is None else budget.highest_rate(of_commit, len(series))
        for key, of_commit in rates.items()
    }
    return [answer for member in series for answer in member.answers(highest, budget)]
