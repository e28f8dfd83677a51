"""The series of a job as the online judge sees them, and what is reported about each.

`gate` judges the results of files and `score` those of a store, with the same functions. So the
same results get the same answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from barograph.cli.answers import SeriesAnswer
from barograph.detection.online import AlarmStep, Answer, StepKind, departure
from barograph.detection.online.decision import StandingChange, changes_of
from barograph.detection.online.latest import RECENT, LatestDecision, judge_latest
from barograph.detection.online.newest import COMPARED
from barograph.results.series import Floats, Series
from barograph.results.sizes import NEAR, size_of

if TYPE_CHECKING:
    from barograph.detection.online import OnlineJudge
    from barograph.detection.online.budget import JobBudget

Job = Mapping[Hashable, float]  # the highest rate that counts, by commit
AlarmEvent = tuple[int, float, StandingChange | None]
Runs = Mapping[int, Floats]  # the results of the commits with several runs, by position


@dataclass(frozen=True)
class JudgedSeries:
    """A series of a job, and what the online judge says about its newest results.

    Attributes:
        series: The series.
        decision: The decision on its newest commit; `decision.values` are the settled values.
        runs: The results of the commits that have several runs.
        selected: Number of newest commits that the command judges.
        branch: Number of newest commits that are of the judged branch; 0 without one.
    """

    series: Series
    decision: LatestDecision
    runs: Runs
    selected: int
    branch: int = 0

    @property
    def name(self) -> str:
        """The name of the series."""
        return str(self.series.id)

    @property
    def newest(self) -> int:
        """The position of the newest commit."""
        return len(self.series) - 1

    @property
    def since(self) -> int:
        """The position after which all steps of changes are known."""
        return self.newest - max(self.selected, self.branch) - RECENT

    @cached_property
    def changes(self) -> list[StandingChange]:
        """The changes that recent steps are about."""
        return changes_of(self.decision.steps)

    def commit_key(self, place: int) -> Hashable:
        """Return what names a commit in every series of its project: its name, or its order."""
        commit = self.series.commits[place] or int(self.series.orders[place])
        return self.series.id.project, commit

    def events(self, budget: JobBudget | None) -> Iterator[AlarmEvent]:
        """Yield recent alarms and the suspect: where, how rarely a quiet point is one, the change.

        A change that a later step makes more certain is there again.
        """
        for change in self.changes:
            score = -np.inf
            for step in change.steps:
                is_news = step.kind is not StepKind.WITHDRAWN and step.score > score
                if is_news and step.newest > self.since:
                    yield step.newest, self._rate(step, budget), change
                score = max(score, step.score)
        if self.decision.answer is Answer.SUSPECT:
            surprise = self.decision.surprise, self.decision.probability
            yield self.newest, 0.0 if budget is None else budget.suspect_rate(*surprise), None

    def _rate(self, step: AlarmStep, budget: JobBudget | None) -> float:
        if budget is None:
            return 0.0
        rate, place = budget.alarm_rate(step.score), step.newest
        if step.index == place and place in self.runs:
            runs = self.runs[place]
            rate = min(rate, budget.confirmed_rate(self._before(place), runs, step.probability))
        return rate

    def answers(self, events: Sequence[AlarmEvent], highest: Job) -> Iterator[SeriesAnswer]:
        """Yield an answer for each change that was found at the selected commits, or one without.

        Args:
            events: The recent alarms and the suspect.
            highest: The highest rate that counts, by commit.
        """
        news = [
            (place, rate <= highest.get(self.commit_key(place), -1.0), change)
            for place, rate, change in events
        ]
        is_fresh = False
        standing = sorted((c for c in self.changes if c.stands), key=attrgetter("index"))
        ends = [*(change.index for change in standing), len(self.series)][1:]
        for change, end in zip(standing, ends, strict=False):
            places = [place for place, _, about in news if about is change]
            counted = [place for place, counts, about in news if counts and about is change]
            place = (counted[:1] or places[-1:] or [-1])[0]
            asked = self._asked_about(change.index, end)
            if place <= self.newest - asked or (change.is_older and counted):
                continue
            is_fresh = True
            # The second look may have moved the change beyond the result of its first alarm.
            seen = max(place, change.index)
            answer = self._answer(Answer.CHANGE, seen, change.index, end)
            yield replace(answer, probability=change.probability, is_certain=bool(counted))
        decision = self.decision
        is_contradicted = decision.reruns and decision.answer is Answer.QUIET and not is_fresh
        if decision.answer is Answer.SUSPECT or is_contradicted:
            newest = [counts for place, counts, _ in news if place == self.newest]
            yield self._departed(newest[-1:] == [True])
        elif not is_fresh:
            since = decision.known_since
            quiet = self._answer(Answer.QUIET, self.newest, since, len(self.series))
            yield replace(quiet, known=since is not None)

    def _asked_about(self, begin: int, end: int) -> int:
        """Return how many newest commits are asked about a change between two positions.

        A change that begins on the judged branch and still holds is reported at all its commits:
        the branch would bring it into the base branch.
        """
        holds = end == len(self.series) and begin >= len(self.series) - self.branch
        return max(self.selected, self.branch) if holds else self.selected

    def _answer(
        self, answer: Answer, place: int, begin: int | None = None, end: int = 0
    ) -> SeriesAnswer:
        """Return an answer on the result at a position, about the change between two others."""
        series, decision = self.series, self.decision
        quiet = SeriesAnswer(
            series=self.name,
            direction=int(series.direction),
            order=int(series.orders[place]),
            commit=series.commits[place],
            answer=answer,
            probability=decision.probability,
            reruns=decision.reruns if place == self.newest else 0,
            baseline_size=decision.baseline_size,
            runs=self.runs[place].size if place in self.runs else 1,
        )
        if begin is None:
            return quiet
        size = size_of(self._segment_before(begin), decision.values[begin:end])
        return replace(
            quiet,
            percent=size.percent,
            is_trend=size.is_trend,
            begins=int(series.orders[begin]),
            begins_commit=series.commits[begin],
        )

    def _before(self, place: int) -> Floats:
        """Return results before a position, some also where the history begins again with it."""
        first = self.newest - self.decision.baseline_size
        return self.decision.values[max(0, first if first < place else place - COMPARED) : place]

    def _segment_before(self, place: int) -> Floats:
        """Return the results before a position that are of its level: since the change before."""
        before = self._before(place)
        starts = [
            change.index
            for change in self.changes
            if change.stands and change.index < place and change.steps[-1].newest > self.since
        ]
        return before[-(place - max(starts)) :] if starts else before

    def _departed(self, is_certain: bool) -> SeriesAnswer:
        """Return the answer on the newest result with how far it departs from those before it."""
        values = self.decision.values
        first = max(0, self.newest - self.decision.baseline_size)
        departed = departure(values[first:-1], float(values[-1]))
        level = self._segment_before(self.newest)[-NEAR:]
        return replace(
            self._answer(self.decision.answer, self.newest),
            percent=size_of(level, values[-1:]).percent,
            surprise=departed.surprise,
            reason=str(departed) if departed.surprise else "",
            is_certain=is_certain,
        )


def judge_series(
    judge: OnlineJudge,
    series: Sequence[Series],
    runs: Sequence[Runs],
    counts: Sequence[int],
    branch: Sequence[int] = (),
) -> list[JudgedSeries]:
    """Return the decisions on the series of a job that have results to ask about.

    Args:
        judge: Decides.
        series: The series; none is empty.
        runs: The results of the commits with several runs of each.
        counts: Number of newest results of each that are judged.
        branch: Number of results of each that are of the judged branch; empty without one.
    """
    rows = zip(series, runs, counts, branch or [0] * len(series), strict=True)
    chosen = [row for row in rows if row[2]]
    histories = [(entry.values, of_commits) for entry, of_commits, _, _ in chosen]
    newest = [max(count, of_branch) for _, _, count, of_branch in chosen]
    decisions = judge_latest(judge, histories, newest)
    return [
        JudgedSeries(entry, decision, of_commits, min(count, len(entry)), of_branch)
        for (entry, of_commits, count, of_branch), decision in zip(chosen, decisions, strict=True)
    ]


def answers_of(series: Sequence[JudgedSeries], budget: JobBudget | None) -> list[SeriesAnswer]:
    """Return the answers on all series of a job, whose alarms share one budget.

    Args:
        series: The series.
        budget: Says which alarms are rare enough for the number of series; None if all are.
    """
    events = [[*member.events(budget)] for member in series]
    rates: dict[Hashable, list[float]] = defaultdict(list)
    for member, of_member in zip(series, events, strict=True):
        for place, rate, _ in of_member:
            rates[member.commit_key(place)].append(rate)
    highest = {
        key: max(of_commit) if budget is None else budget.highest_rate(of_commit, len(series))
        for key, of_commit in rates.items()
    }
    pairs = zip(series, events, strict=True)
    return [answer for member, known in pairs for answer in member.answers(known, highest)]
