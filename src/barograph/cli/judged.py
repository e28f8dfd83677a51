"""The series of a job: which results are judged, and what the online judge says about them.

`gate` judges the results of files and `score` those of a store, with the same functions. So the
same results get the same answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from barograph.cli.answers import SeriesAnswer
from barograph.detection.online import AlarmStep, Answer, StepKind, departure
from barograph.detection.online.decision import StandingChange, changes_of
from barograph.detection.online.latest import RECENT, LatestDecision, judge_latest
from barograph.detection.online.newest import COMPARED
from barograph.results.series import Floats, Series
from barograph.results.sizes import NEAR, size_of
from barograph.runtime.errors import DataError
from barograph.sources.git import is_commit

if TYPE_CHECKING:
    from barograph.detection.online import OnlineJudge
    from barograph.detection.online.budget import Budget, JobBudget

SHOWN = 3  # commits that an error names

Job = Mapping[Hashable, float]  # the highest rate that counts, by commit
AlarmEvent = tuple[int, float, StandingChange | None]
Runs = Mapping[int, Floats]  # the results of the commits with several runs, by position
# A series, its runs, the number of its newest commits that are judged, and that of its newest
# commits that are of the judged branch.
JobRow = tuple[Series, Runs, int, int]


def counts_of(
    series: Sequence[Series], newest: int = 1, since: str | None = None, branch: Sequence[int] = ()
) -> list[int]:
    """Return how many of the newest results of each series a job judges.

    Args:
        series: All series; none is empty.
        newest: Number of newest commits of each project.
        since: The commit, or order, after which all results are judged, instead.
        branch: Number of results of each series that are of the judged branch, the only ones
            that are judged; empty without one.

    Raises:
        DataError: There is no such commit.
    """
    counts = _newest(series, newest) if since is None else _since(series, since)
    return [min(pair) for pair in zip(counts, branch, strict=True)] if branch else counts


def order_of(series: Iterable[Series], commit: str) -> int | None:
    """Return the highest order of a commit, which may be given by the start of its name."""
    orders = [
        int(order)
        for entry in series
        for order, name in zip(entry.orders.tolist(), entry.commits, strict=True)
        if name == commit or is_commit(name, commit) or (not name and str(order) == commit)
    ]
    return max(orders, default=None)


def _since(series: Sequence[Series], since: str) -> list[int]:
    order = order_of(series, since)
    if order is None:
        last = max(series, key=lambda entry: int(entry.orders[-1]), default=None)
        names = [] if last is None else [_key(last, k) for k in range(len(last))[-SHOWN:]]
        raise DataError(
            f"--since {since:.60}: no result is of this commit; the newest are "
            f"{', '.join(map(str, names)) or 'none'}"
        )
    return [int((entry.orders > order).sum()) for entry in series]


def _newest(series: Sequence[Series], newest: int) -> list[int]:
    """Count the results of the newest commits, for each project by itself.

    Without names, commits are known by their order. If fewer than half of the series have the
    newest order, orders are those of single results, such as times: then the newest results of
    each series are judged.
    """
    projects: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(series):
        projects[entry.id.project].append(number)
    counts = [0] * len(series)
    for numbers in projects.values():
        orders: dict[Hashable, int] = {}
        for entry in (series[number] for number in numbers):
            for k in range(len(entry))[-newest:]:
                key, order = _key(entry, k), int(entry.orders[k])
                orders[key] = max(order, orders.get(key, order))
        ranked = sorted(orders, key=orders.__getitem__)[-newest:]
        chosen, last = set(ranked), ranked[-1]
        sharing = sum(_key(series[number], -1) == last for number in numbers)
        is_single = isinstance(last, int) and 2 * sharing < len(numbers)
        for number in numbers:
            entry = series[number]
            others = (k for k in range(len(entry)) if _key(entry, -1 - k) not in chosen)
            counts[number] = min(newest, len(entry)) if is_single else next(others, len(entry))
    return counts


def _key(series: Series, place: int) -> Hashable:
    """Return the name of a commit, or its order."""
    return series.commits[place] or int(series.orders[place])


@dataclass(frozen=True)
class JudgedSeries:
    """A series of a job, and what the online judge says about its newest results.

    Attributes:
        series: The series.
        decision: The decision on its newest commit; `decision.values` are the settled values.
        runs: The results of the commits that have several runs.
        budget: The budget of the series, which says how sure an alarm is.
        since: The position after which all steps of changes are known.
        selected: Number of newest commits that the command judges.
        branch: Number of newest commits that are of the judged branch; 0 without one.
    """

    series: Series
    decision: LatestDecision
    runs: Runs
    budget: Budget
    since: int
    selected: int
    branch: int = 0

    @property
    def newest(self) -> int:
        """The position of the newest commit that the decision knows."""
        return self.decision.values.size - 1

    @property
    def asked(self) -> int:
        """The number of newest commits at which a change of the branch that holds is reported."""
        return max(self.selected, self.branch)

    def as_of(self, place: int) -> JudgedSeries:
        """Return the series as it was judged when the commit at a position was the newest."""
        return replace(self, decision=self.decision.at(place), selected=1, branch=0)

    @cached_property
    def changes(self) -> list[StandingChange]:
        """The changes that recent steps are about."""
        return changes_of(self.decision.steps)

    def level_start(self, place: int, newest: int) -> int:
        """Return where the level before a position begins, as far as known at a newest result."""
        known = (change for change in self.changes if change.stands and change.index < place)
        return max((c.index for c in known if c.steps[0].newest < newest), default=0)

    def commit_key(self, place: int) -> Hashable:
        """Return what names a commit in every series of its project: its name, or its order."""
        return self.series.id.project, _key(self.series, place)

    def events(self, budget: JobBudget | None) -> Iterator[AlarmEvent]:
        """Yield recent alarms and the suspect: where, how rarely a quiet point is one, the change.

        A change that a later step makes more certain is there again.
        """
        for change in self.changes:
            score = -np.inf
            for step in change.steps:
                is_news = step.kind is not StepKind.WITHDRAWN and step.score > score
                if is_news and step.newest > self.since:
                    rate = 0.0 if budget is None else self._rate(step, budget)
                    yield step.newest, rate, change
                score = max(score, step.score)
        if self.decision.answer is Answer.SUSPECT:
            surprise = self.decision.surprise, self.decision.probability
            yield self.newest, 0.0 if budget is None else budget.suspect_rate(*surprise), None

    def _rate(self, step: AlarmStep, budget: JobBudget) -> float:
        rate, place = budget.alarm_rate(step.score), step.newest
        if step.index != place or place not in self.runs:
            return rate
        before, runs = self._before(place), self.runs[place]
        return min(rate, budget.confirmed_rate(before, runs, step.probability))

    def postponed(self, events: Iterable[AlarmEvent], later: Mapping[int, int]) -> list[AlarmEvent]:
        """Return events by place, those of some places later; those after the newest are out."""
        moved = [(later.get(place, place), rate, change) for place, rate, change in events]
        return sorted((e for e in moved if e[0] <= self.newest), key=itemgetter(0))

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
        decision, is_fresh = self.decision, False
        standing = sorted((c for c in self.changes if c.stands), key=attrgetter("index"))
        ends = [*(change.index for change in standing), self.newest + 1][1:]
        for change, end in zip(standing, ends, strict=False):
            places = [place for place, _, about in news if about is change]
            counted = [place for place, counts, about in news if counts and about is change]
            place = (counted[:1] or places[-1:] or [-1])[0]
            # A change that begins on the judged branch and still holds is reported at all its
            # commits: the branch would bring it into the base branch.
            holds = end > self.newest and change.index > self.newest - self.branch
            asked = self.asked if holds else self.selected
            if place <= self.newest - asked or (change.is_older and counted):
                continue
            is_fresh = True
            # The second look may have moved the change beyond the result of its first alarm.
            answer = self._about(max(place, change.index), change.index, end)
            sure = self.budget.sureness(max(step.score for step in change.steps))
            probability = change.probability if sure is None else sure
            if place in self.runs:  # further runs of the commit make it surer than its score
                probability = max(probability, change.probability)
            answer = replace(answer, answer=Answer.CHANGE, probability=probability)
            yield replace(answer, is_certain=bool(counted), is_calibrated=sure is not None)
        is_contradicted = decision.reruns and decision.answer is Answer.QUIET and not is_fresh
        if decision.answer is Answer.SUSPECT or is_contradicted:
            newest = [counts for place, counts, _ in news if place == self.newest]
            yield self._departed(newest[-1:] == [True])
        elif not is_fresh:
            since = decision.known_since
            quiet = self._about(self.newest, since, self.newest + 1)
            yield replace(quiet, known=since is not None)

    def _about(self, place: int, begin: int | None = None, end: int = 0) -> SeriesAnswer:
        """Return an answer on the result at a position, about the change between two others."""
        series, decision = self.series, self.decision
        quiet = SeriesAnswer.at(
            *(series, place),
            answer=Answer.QUIET,
            probability=decision.probability,
            reruns=decision.reruns if place == self.newest else 0,
            baseline_size=decision.baseline_size,
            runs=self.runs[place].size if place in self.runs else 1,
        )
        if begin is None:
            return quiet
        size = size_of(self._segment_before(begin), decision.values[begin:end])
        quiet = replace(quiet, percent=size.percent, is_trend=size.is_trend)
        order, commit = int(series.orders[begin]), series.commits[begin]
        return replace(quiet, begins=order, begins_commit=commit)

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
            self._about(self.newest),
            answer=self.decision.answer,
            percent=size_of(level, values[-1:]).percent,
            surprise=departed.surprise,
            reason=str(departed) if departed.surprise else "",
            is_certain=is_certain,
        )


def judge_series(judge: OnlineJudge, rows: Sequence[JobRow]) -> list[JudgedSeries]:
    """Return the decisions on the series of a job that have results to judge.

    Args:
        judge: Decides.
        rows: The series; none is empty.
    """
    chosen = [row for row in rows if row[2]]
    histories = [(series.values, runs) for series, runs, _, _ in chosen]
    decisions = judge_latest(judge, histories, [max(row[2:]) for row in chosen])
    judged = []
    for (series, runs, count, branch), decision in zip(chosen, decisions, strict=True):
        selected = min(count, len(series))
        since = len(series) - 1 - max(selected, branch) - RECENT
        judged.append(JudgedSeries(series, decision, runs, judge.budget, since, selected, branch))
    return judged


def answers_of(
    series: Sequence[JudgedSeries],
    budget: JobBudget | None,
    size: int,
    later: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
) -> list[SeriesAnswer]:
    """Return the answers on some series of a job, whose alarms share one budget.

    Args:
        series: The series; the others have no alarm and no suspect.
        budget: Says which alarms are rare enough for the number of series; None if all are.
        size: Number of all series of the job.
        later: The places at which alarms count instead of their own, by the name of the series.
    """
    events = [
        member.postponed(member.events(budget), later.get(str(member.series.id), {}))
        for member in series
    ]
    rates: dict[Hashable, list[float]] = defaultdict(list)
    for member, of_member in zip(series, events, strict=True):
        for place, rate, _ in of_member:
            rates[member.commit_key(place)].append(rate)
    highest = {
        key: max(of_commit) if budget is None else budget.highest_rate(of_commit, size)
        for key, of_commit in rates.items()
    }
    pairs = zip(series, events, strict=True)
    return [answer for member, known in pairs for answer in member.answers(known, highest)]
