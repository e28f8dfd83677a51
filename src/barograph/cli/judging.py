"""What `gate` and `score` judge, and by which rules: defined once, so that both give one answer."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from barograph.cli.answers import FailPolicy, JobAnswer, SeriesAnswer
from barograph.cli.config import current_config
from barograph.cli.options import (
    false_alarms_setting,
    grouped,
    model_option,
    online_models,
    parameters_of,
)
from barograph.runtime.errors import DataError
from barograph.sources.git import is_commit

if TYPE_CHECKING:
    from barograph.cli.judged import JudgedSeries
    from barograph.detection.online import OnlineJudge
    from barograph.detection.online.budget import JobBudget
    from barograph.models import OnlineModels
    from barograph.results.series import Series

SHOWN = 3  # commits that an error names


@dataclass(frozen=True)
class Selection:
    """The results that a job judges.

    Attributes:
        series: All series; none is empty.
        counts: Number of newest results of each.
        branch: Number of results of each that are of the judged branch; empty without one.
    """

    series: Sequence[Series]
    counts: Sequence[int]
    branch: Sequence[int] = ()

    @classmethod
    def of(
        cls,
        series: Sequence[Series],
        newest: int = 1,
        since: str | None = None,
        branch: Sequence[int] = (),
    ) -> Selection:
        """Return what a job judges.

        Args:
            series: All series; none is empty.
            newest: Number of newest commits of each project.
            since: The commit, or order, after which all results are asked about, instead.
            branch: Number of results of each series that are of the judged branch, the only ones
                that are judged; empty without one.

        Raises:
            DataError: There is no such commit.
        """
        counts = _since(series, since) if since is not None else _newest(series, newest)
        if branch:
            counts = [min(pair) for pair in zip(counts, branch, strict=True)]
        return cls(series, counts, branch)

    @property
    def new(self) -> list[str]:
        """The names of the series that have no earlier result."""
        pairs = zip(self.series, self.counts, strict=True)
        return [str(entry.id) for entry, count in pairs if count >= len(entry)]

    @property
    def missing(self) -> list[str]:
        """The names of the series that have no such result."""
        pairs = zip(self.series, self.counts, strict=True)
        return [str(entry.id) for entry, count in pairs if not count]


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
    each series are asked about.
    """
    projects: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(series):
        projects[entry.id.project].append(number)
    counts = [0] * len(series)
    for numbers in projects.values():
        orders: dict[Hashable, int] = {}
        for number in numbers:
            entry = series[number]
            for k in range(max(0, len(entry) - newest), len(entry)):
                key = _key(entry, k)
                orders[key] = max(orders.get(key, int(entry.orders[k])), int(entry.orders[k]))
        last = set(sorted(orders, key=orders.__getitem__)[-newest:])
        key = max(last, key=orders.__getitem__)
        sharing = sum(_key(series[number], -1) == key for number in numbers)
        is_single = isinstance(key, int) and 2 * sharing < len(numbers)
        for number in numbers:
            entry = series[number]
            counts[number] = min(newest, len(entry)) if is_single else _trailing(entry, last)
    return counts


def _key(series: Series, place: int) -> Hashable:
    """Return the name of a commit, or its order."""
    return series.commits[place] or int(series.orders[place])


def _trailing(series: Series, keys: set[Hashable]) -> int:
    """Return how many of the last results of a series are of some commits."""
    count = 0
    while count < len(series) and _key(series, len(series) - 1 - count) in keys:
        count += 1
    return count


@dataclass(frozen=True, kw_only=True)
class Judging(FailPolicy):
    """What is judged, and what fails the job.

    Attributes:
        newest: Number of newest commits to judge.
        since: Judge all results after this commit instead of the newest: the commit of the last
            run of this command. Its name, 6 or more characters from its start, or its order if
            commits have no names.
        false_red: Share of commits without a change that may turn the job red, in percent, for all
            its series together. 100 judges each series alone.
        min_history: Minimum number of earlier results that a series needs to be judged, counted
            from its last lasting step by a factor of about 3. The built-in model needs 5.
        model: File of the online models.
        false_alarms_per_1000: False alarms allowed per 1,000 points of a series, from 1 to 10.
    """

    newest: Annotated[int, click.IntRange(min=1)] = 1
    since: str | None = None
    false_red: Annotated[float, click.FloatRange(0.0, 100.0, min_open=True)] = 10.0
    min_history: Annotated[int, click.IntRange(min=1)] = 5
    model: Path
    false_alarms_per_1000: float = 3.0

    def models(self) -> OnlineModels:
        """Load the online models."""
        return online_models(self.model)

    def job_budget(self, judge: OnlineJudge) -> JobBudget | None:
        """Return the budget that the series of a job share; None if each is judged alone."""
        from barograph.detection.online.budget import JobBudget

        share = self.false_red / 100.0
        return JobBudget(judge.budget, share) if share < 1.0 else None

    def job(
        self, judged: Sequence[JudgedSeries], selection: Selection, judge: OnlineJudge
    ) -> JobAnswer:
        """Return the answer on all series of a job.

        Args:
            judged: The series with a result that is asked about.
            selection: Which results the job judges.
            judge: Judged them.
        """
        from barograph.cli.judged import answers_of

        long = [entry for entry in judged if entry.decision.baseline_size >= self.min_history]
        answers = answers_of(long, self.job_budget(judge))
        sizes = {entry.name: entry.decision.baseline_size for entry in judged}
        return self._answer(answers, sizes, selection)

    def detected_job(self, answers: Sequence[SeriesAnswer], selection: Selection) -> JobAnswer:
        """Return the answer on a job whose series were judged each by itself."""
        long = [answer for answer in answers if answer.baseline_size >= self.min_history]
        sizes = {answer.series: answer.baseline_size for answer in answers}
        return self._answer(long, sizes, selection)

    def _answer(
        self, answers: Sequence[SeriesAnswer], sizes: dict[str, int], selection: Selection
    ) -> JobAnswer:
        """Return the answer of a job, with what people accepted."""
        short = [name for name, size in sizes.items() if size < self.min_history]
        job = JobAnswer(answers, short, selection.new, selection.missing, self)
        config = current_config()
        if not (config.suppress or config.patterns):
            return job
        from barograph.cli.suppressions import suppress

        marked, notes = suppress(answers, config, functools.partial(order_of, selection.series))
        moved = dict.fromkeys(
            answer.series
            for answer in answers
            if answer.answer != "quiet" and abs(answer.percent) >= self.min_change
        )
        canaries = [name for name in moved if config.kind_of(name) == "canary"]
        if canaries:
            notes.append(f"canaries moved, so the machine may have changed: {', '.join(canaries)}")
        return replace(job, answers=marked, notes=notes)


# The parameters by which results are judged; a command gets them as `judging`.
judging_options = grouped(
    "judging",
    Judging,
    *parameters_of(Judging, "newest", "since", "false_red"),
    *parameters_of(FailPolicy, "min_change", "fail_on", "suspect_fails_at"),
    model_option("online"),
    *parameters_of(Judging, "min_history", table=""),
    *parameters_of(FailPolicy, "fail_on_missing", table=""),
    false_alarms_setting,
)
