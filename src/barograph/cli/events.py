"""One event, one red job: a series joins the event that failed the job of an earlier commit.

A commit that makes several series worse is found in each of them at another commit. The job failed
for the event when the first of them was found, so the others are reported as known. Which jobs
failed is not stored: the jobs of the last commits are answered again, from the decisions that the
answer on the newest commit needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from barograph.cli.answers import BUDGET, JobAnswer, SeriesAnswer
from barograph.cli.judged import JudgedSeries

EARLIER = 10  # commits before the judged ones whose jobs are answered again
# Of the same event are changes that begin at most one result before a regression, or two after it:
# places found in noise differ by as much. None begins after the regression was found.
BEFORE, AFTER = 1, 2
LARGER = 2.0  # a change that many times as large is a regression of its own

Answering = Callable[[Sequence[JudgedSeries]], JobAnswer]


class Failure(NamedTuple):
    """A regression that failed the job of an earlier commit.

    Attributes:
        project: The project of its series.
        answer: The answer of that job on the series.
        first: The lowest order at which a change of the same event begins.
        last: The highest one.
    """

    project: str
    answer: SeriesAnswer
    first: int
    last: int

    def covers(self, project: str, answer: SeriesAnswer) -> bool:
        """Return whether a change in another series of the project begins where this one does."""
        is_other = project == self.project and answer.series != self.answer.series
        return is_other and answer.begins is not None and self.first <= answer.begins <= self.last


def join_events(job: JobAnswer, series: Sequence[JudgedSeries], judge: Answering) -> JobAnswer:
    """Return the answer of a job in which series that join an earlier event are known.

    Args:
        job: The answer.
        series: The series of the job.
        judge: Returns the answer of the job on series as they were at an earlier commit. Those
            without an alarm or suspect are left out.
    """
    if not any(_is_worse(job, answer) for answer in job.answers):
        return job
    failures = [*_failures(series, judge)]
    projects = {str(member.series.id): member.series.id.project for member in series}
    answers = [
        _joined(answer, [one.answer for one in failures if one.covers(project, answer)])
        if _is_worse(job, answer)
        else answer
        for answer, project in ((answer, projects[answer.series]) for answer in job.answers)
    ]
    return replace(job, answers=answers)


def _joined(answer: SeriesAnswer, event: Sequence[SeriesAnswer]) -> SeriesAnswer:
    """Return an answer as known if its change is one of those that failed jobs, and no larger."""
    largest = max((abs(failed.percent) for failed in event), default=0.0)
    if abs(answer.percent) > LARGER * largest:
        return answer
    first = min(event, key=lambda failed: failed.order)
    joined = replace(answer, answer="quiet", known=True, reruns=0)
    return replace(joined, event=first.order, event_commit=first.commit)


def _is_worse(job: JobAnswer, answer: SeriesAnswer) -> bool:
    """Return whether an answer is a regression, or one that is not certain enough yet."""
    is_uncertain = answer.is_worse and answer.suspect_reason == BUDGET
    return job.kind_of(answer) == "regression" or (
        job.kind_of(answer) == "suspect" and is_uncertain
    )


def _failures(series: Sequence[JudgedSeries], judge: Answering) -> Iterator[Failure]:
    """Yield the regressions that failed the jobs of the last commits before the judged ones."""
    # The alarms of a commit are rare enough or not together, so every series with one is judged.
    places: dict[Hashable, list[tuple[JudgedSeries, int]]] = defaultdict(list)
    changed: set[Hashable] = set()
    for member in series:
        steps = {step.newest for step in member.decision.steps}
        if steps or member.decision.has_suspects:
            first = member.newest + 1 - member.asked
            for place in range(max(first - EARLIER, 0), first):
                key = member.commit_key(place)
                places[key].append((member, place))
                changed |= {key} if place in steps else set()
    for key in changed:
        by_name = {str(member.series.id): member.series for member, _ in places[key]}
        job = judge([member.as_of(place) for member, place in places[key]])
        for answer in job.of_kind("regression"):
            of_series, begins = by_name[answer.series], answer.begins
            assert begins is not None  # noqa: S101 - every change begins somewhere
            place = of_series.index_of(begins)
            last = int(of_series.orders[min(place + AFTER, len(of_series) - 1)])
            first = int(of_series.orders[max(place - BEFORE, 0)])
            yield Failure(of_series.id.project, answer, first, min(last, answer.order))
