"""The answers of `gate` and `score`: which series fail a job, and with which exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import click

from barograph.cli import CLEAN, REGRESSION, SUSPECT, TOO_LITTLE
from barograph.results.series import MIN_CHANGE
from barograph.results.wording import BETTER, CHANGED, TREND, WORSE

SUSPECT_FAILS_AT = 25.0  # percent
# What answers are called, in the order in which outputs list them.
KINDS = ("regression", "suspect", "improvement", "suppressed", "known")
# Why an answer is a suspect: only a rerun can tell a spike from a change, the change is not certain
# enough for the number of series of the job, or the runs of the commit contradict each other.
NEWEST, BUDGET, RERUNS = "newest", "budget", "reruns"
LISTS = {  # of the JSON output, with the kind of their answers, and why those are suspects
    "regressions": ("regression", ""),
    "suspects": ("suspect", NEWEST),
    "improvements": ("improvement", ""),
    "uncertain": ("suspect", BUDGET),
    "suppressed": ("suppressed", ""),
}


@dataclass(frozen=True)
class FailPolicy:
    """What fails a job.

    Args:
        min_change: Minimum change that counts, in percent of the level before.
        fail_on: What fails the job. regression: changes for the worse, and large suspects; suspect:
            also every suspect by reason newest, and those by reason budget that are worse; any:
            also improvements.
        suspect_fails_at: Minimum size of a suspected change for the worse that fails the job, in
            percent.
        fail_on_missing: Exit with 3 if a series has no result of the judged commits.
    """

    min_change: Annotated[float, click.FloatRange(min=0.0)] = MIN_CHANGE
    fail_on: Literal["regression", "suspect", "any"] = "regression"
    suspect_fails_at: Annotated[float, click.FloatRange(min=0.0)] = SUSPECT_FAILS_AT
    fail_on_missing: bool = False


@dataclass(frozen=True, slots=True)
class SeriesAnswer:
    """The answer on one result of a series.

    Attributes:
        series: The name of the series.
        direction: 1 if higher is better, -1 if lower is better, 0 if unknown.
        order: The judged result.
        commit: Its commit; empty if unknown.
        answer: `change`, `suspect` or `quiet`.
        probability: The probability that a change is real; for a suspect and a quiet result, that
            of a change at this result.
        percent: The size of the change, in percent of the level before; 0 if there is none.
        is_trend: Whether the results beside the change contradict each other about its sign.
        begins: The order at which the change begins, or None if there is no change.
        begins_commit: The commit at which it begins; empty if unknown.
        known: Whether the change was reported at an earlier result.
        reruns: Number of further runs of this commit that are advised.
        baseline_size: Number of earlier results that this result was compared with.
        runs: Number of runs of the commit.
        surprise: How far a suspect departs from what is usual, in nats.
        reason: How far a suspect departs, in words; empty for other answers.
        is_certain: Whether the change or suspect is rare enough for the number of series of the
            job. A change that is not is reported, and fails the job only once it is.
        suppressed: The reason why the answer does not fail the job; empty if it may.
    """

    series: str
    direction: int
    order: int
    commit: str
    answer: str
    probability: float
    percent: float = 0.0
    is_trend: bool = False
    begins: int | None = None
    begins_commit: str = ""
    known: bool = False
    reruns: int = 0
    baseline_size: int = 0
    runs: int = 1
    surprise: float = 0.0
    reason: str = ""
    is_certain: bool = True
    suppressed: str = ""

    @property
    def is_worse(self) -> bool:
        """Whether the change is for the worse, or of unknown direction."""
        return self.percent != 0 and not self.percent * self.direction > 0

    @property
    def way(self) -> str:
        """`worse`, `better`, `changed` if the direction is unknown, `trend`, or `unchanged`."""
        if self.is_trend or not self.percent:
            return TREND if self.is_trend else "unchanged"
        return CHANGED if not self.direction else WORSE if self.is_worse else BETTER

    @property
    def suspect_reason(self) -> str:
        """Why the answer is a suspect: `newest`, `budget` or `reruns`; empty if it is none."""
        if self.answer == "quiet":
            return RERUNS if self.reruns else ""
        if self.suppressed:
            return ""
        if self.answer == "suspect":
            return NEWEST
        return "" if self.is_certain else BUDGET

    @property
    def rerun_advice(self) -> str:
        """How many further runs would settle the answer, as a sentence without a stop."""
        times = "once" if self.reruns == 1 else f"{self.reruns} times"
        return f"run this commit {times} more to settle it"

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain values; `known_since` is a commit, or else an order."""
        since = (self.begins_commit or self.begins) if self.known else None
        names = ("direction", "order", "commit", "probability", "percent", "is_trend", "begins")
        further = ("begins_commit", "reruns", "baseline_size", "runs", "surprise", "reason")
        return {
            "series": self.series,
            "answer": str(self.answer),
            **{name: getattr(self, name) for name in names + further},
            "known_since": since,
            "is_certain": self.is_certain,
            "suspect_reason": self.suspect_reason or None,
            "suppressed": self.suppressed or None,
        }


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What `gate` or `score` reports for all series of a job.

    Args:
        answers: The answer on every judged result; answers on one series are adjacent.
        too_short: The names of the series that have too little history to be judged.
        new: The names of the series without an earlier result than those that are asked about.
        missing: The names of the series without a result that is asked about.
        policy: What fails the job.
        notes: What else people should know, one line each.
    """

    answers: Sequence[SeriesAnswer]
    too_short: Sequence[str] = ()
    new: Sequence[str] = ()
    missing: Sequence[str] = ()
    policy: FailPolicy = FailPolicy()
    notes: Sequence[str] = ()

    def kind_of(self, answer: SeriesAnswer) -> str:
        """Return the one of KINDS that an answer is of; empty if it is plainly quiet.

        Changes smaller than the minimum count as quiet.
        """
        if abs(answer.percent) < self.policy.min_change:
            return ""
        if answer.suspect_reason:
            return "suspect"
        if answer.answer == "quiet":
            return "known" if answer.known else ""
        if answer.suppressed:
            return "suppressed"
        return "regression" if answer.is_worse else "improvement"

    def of_kind(self, kind: str) -> list[SeriesAnswer]:
        """Return the answers of a kind."""
        return [answer for answer in self.answers if self.kind_of(answer) == kind]

    @property
    def judged(self) -> int:
        """The number of series that were judged."""
        return len({answer.series for answer in self.answers})

    def fails(self, answer: SeriesAnswer) -> bool:
        """Return whether an answer turns the job red."""
        kind, is_strict = self.kind_of(answer), self.policy.fail_on != "regression"
        if kind == "suspect":
            return self._suspect_fails(answer, is_strict)
        return kind == "regression" or (kind == "improvement" and self.policy.fail_on == "any")

    def _suspect_fails(self, answer: SeriesAnswer, is_strict: bool) -> bool:
        if answer.suspect_reason == NEWEST:
            is_large = answer.is_worse and abs(answer.percent) >= self.policy.suspect_fails_at
            return is_strict or (is_large and answer.is_certain)
        return answer.suspect_reason == BUDGET and answer.is_worse and is_strict

    @property
    def exit_code(self) -> int:
        """Return 2 for a change that fails the job, 4 for a suspect, 3 if nothing was judged."""
        failing = {self.kind_of(answer) for answer in self.answers if self.fails(answer)}
        if failing:
            return REGRESSION if failing & {"regression", "improvement"} else SUSPECT
        if self.missing and self.policy.fail_on_missing:
            return TOO_LITTLE
        return CLEAN if self.answers else TOO_LITTLE

    def as_dict(self) -> dict[str, Any]:
        """Return the answers as plain values for JSON."""
        return {
            **{name: self._listed(*LISTS[name]) for name in LISTS},
            "series": [answer.as_dict() for answer in self.answers],
            "too_short": [*self.too_short],
            "new": [*self.new],
            "missing": [*self.missing],
            "notes": [*self.notes],
            "exit_code": self.exit_code,
        }

    def _listed(self, kind: str, reason: str) -> list[dict[str, Any]]:
        answers = self.of_kind(kind)
        return [answer.as_dict() for answer in answers if answer.suspect_reason == reason]
