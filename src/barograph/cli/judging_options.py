"""The options by which `gate` and `score` judge: defined once, so that both give one answer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.answers import FAIL_ON, SUSPECT_FAILS_AT, FailPolicy, JobAnswer, SeriesAnswer
from barograph.cli.config import current_config
from barograph.cli.options import (
    NumberRange,
    grouped,
    model_option,
    online_models,
    second_look_options,
)
from barograph.results.series import MIN_CHANGE

if TYPE_CHECKING:
    from barograph.cli.judged import JudgedSeries
    from barograph.cli.selection import Selection
    from barograph.detection.online import OnlineJudge, SecondLookConfig
    from barograph.detection.online.job_budget import JobBudget
    from barograph.models import OnlineModels
    from barograph.results.series import Series

OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--newest",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Number of newest commits to judge.",
    ),
    click.option(
        "--since",
        metavar="COMMIT",
        help="Judge all results after this commit instead of the newest: the commit of the last "
        "run of this command. Its name, 6 or more characters from its start, or its order if "
        "commits have no names.",
    ),
    click.option(
        "--min-change",
        type=NumberRange(min=0.0),
        default=MIN_CHANGE,
        show_default=True,
        metavar="PERCENT",
        help="Minimum change that counts, in percent of the level before.",
    ),
    click.option(
        "--min-history",
        type=click.IntRange(min=1),
        default=5,
        show_default=True,
        help="Minimum number of earlier results that a series needs to be judged, counted from "
        "its last lasting step by a factor of about 3. The built-in model needs 5.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(FAIL_ON),
        default=FAIL_ON[0],
        show_default=True,
        help="What fails the job. regression: changes for the worse, and large suspects; suspect: "
        "also every suspect by reason newest, and those by reason budget that are worse; any: "
        "also improvements.",
    ),
    click.option(
        "--suspect-fails-at",
        type=NumberRange(min=0.0),
        default=SUSPECT_FAILS_AT,
        show_default=True,
        metavar="PERCENT",
        help="Minimum size of a suspected change for the worse that fails the job.",
    ),
    click.option(
        "--fail-on-missing",
        is_flag=True,
        help="Exit with 3 if a series has no result of the judged commits.",
    ),
    click.option(
        "--false-red",
        type=NumberRange(0.0, 100.0, min_open=True),
        default=10.0,
        show_default=True,
        metavar="PERCENT",
        help="Share of commits without a change that may turn the job red, for all its series "
        "together. 100 judges each series alone.",
    ),
    click.option(
        "--suppressions",
        type=click.Path(dir_okay=False, path_type=Path),
        help="TOML file with tables [[suppress]] of accepted changes, in addition to "
        "barograph.toml.",
    ),
    model_option("online"),
    second_look_options,
    grouped("policy", FailPolicy),
)


@dataclass(frozen=True)
class Judging:
    """What the judging options say.

    Attributes:
        newest: Number of newest commits to ask about.
        since: The commit after which results are asked about, instead.
        min_history: Minimum number of earlier results.
        policy: What fails the job.
        false_red: Share of commits without a change that may turn the job red, in percent.
        suppressions: A file of suppressions.
        model: File of the online models.
        second_look: How alarms of all windows share the budget of a series.
    """

    newest: int
    since: str | None
    min_history: int
    policy: FailPolicy
    false_red: float
    suppressions: Path | None
    model: Path
    second_look: SecondLookConfig | None

    def models(self) -> OnlineModels:
        """Load the online models."""
        return online_models(self.model)

    def job_budget(self, judge: OnlineJudge) -> JobBudget | None:
        """Return the budget that the series of a job share; None without a second look."""
        from barograph.detection.online.job_budget import JobBudget

        config = self.second_look
        if judge.budget is None or judge.confirm is None or config is None:
            return None
        if self.false_red >= 100.0:
            return None
        share = self.false_red / 100.0
        return JobBudget.released(judge.budget, judge.confirm, config.alarm_policy, share)

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

        long = [series for series in judged if series.baseline_size >= self.min_history]
        short = [series.name for series in judged if series.baseline_size < self.min_history]
        new = [series.name for series in judged if series.is_new]
        answers = answers_of(long, self.job_budget(judge))
        return JobAnswer(answers, short, new, selection.missing, self.policy)

    def detected_job(self, answers: Iterable[SeriesAnswer], selection: Selection) -> JobAnswer:
        """Return the answer on a job whose series were judged each by itself."""
        every = [*answers]
        long = [answer for answer in every if answer.baseline_size >= self.min_history]
        short = dict.fromkeys(
            answer.series for answer in every if answer.baseline_size < self.min_history
        )
        return JobAnswer(long, [*short], selection.new, selection.missing, self.policy)

    def suppressed(self, job: JobAnswer, series: Sequence[Series]) -> JobAnswer:
        """Mark the answers that fail no job because people accepted them.

        Args:
            job: The answer.
            series: All series, in which commits are looked up.
        """
        from barograph.cli.selection import order_of
        from barograph.cli.suppressions import read_suppressions, suppress

        config = current_config()
        rules = read_suppressions(config, self.suppressions)
        answers, notes = suppress(job.answers, rules, config, functools.partial(order_of, series))
        moved = [
            answer.series
            for answer in answers
            if answer.answer != "quiet" and abs(answer.percent) >= self.policy.min_change
        ]
        canaries = [name for name in dict.fromkeys(moved) if config.kind_of(name) == "canary"]
        if canaries:
            notes.append(f"canaries moved, so the machine may have changed: {', '.join(canaries)}")
        return replace(job, answers=answers, notes=[*job.notes, *notes])


# The options by which results are judged; a command gets them as `judging`.
judging_options = grouped("judging", Judging, *OPTIONS)
