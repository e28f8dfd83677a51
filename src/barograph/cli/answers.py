"""The answers of `gate` and `score`: what fails a job, what is accepted, and the exit code.

A table `[[suppress]]` of `barograph.toml` names a change that people know and accept: it is
reported with the reason, and fails no job. Series that the pattern `informational` of the
configuration matches fail no job, either.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from barograph.cli import CLEAN, REGRESSION, SUSPECT, TOO_LITTLE
from barograph.cli.config import Config, Suppression
from barograph.cli.options import RELEASED
from barograph.results.patterns import matches
from barograph.results.series import MIN_CHANGE
from barograph.results.wording import BETTER, CHANGED, TREND, WORSE
from barograph.sources.git import is_commit

if TYPE_CHECKING:
    from barograph.results.series import Series

SUSPECT_FAILS_AT = 25.0  # percent
# What answers are called, in the order in which outputs list them.
KINDS = (
    *("machine", "regression", "suspect", "improvement", "drift", "noise"),
    *("suppressed", "known"),
)
SLOW = ("drift", "noise")  # changes without a step
MACHINE = "machine"
COMMON = "(common)"  # the end of the name of a common part
# Why an answer is a suspect: only a rerun can tell a spike from a change, the change is not certain
# enough for the number of series of the job, or the runs of the commit contradict each other.
NEWEST, BUDGET, RERUNS = "newest", "budget", "reruns"
LISTS = {  # of the JSON output, with the kind of their answers, and why those are suspects
    "regressions": ("regression", ""),
    "suspects": ("suspect", NEWEST),
    "improvements": ("improvement", ""),
    "uncertain": ("suspect", BUDGET),
    "suppressed": ("suppressed", ""),
    "drifts": ("drift", ""),
    "noise_changes": ("noise", ""),
}
OrderOf = Callable[[str], int | None]  # from the name of a commit to its order, if it is known


@dataclass(frozen=True)
class Judging:
    """What `gate` and `score` judge, and what fails the job.

    Args:
        newest: Number of newest commits to judge.
        since: Judge all results after this commit instead of the newest: the commit of the last
            run of this command. Its name, 6 or more characters from its start, or its order if
            commits have no names.
        false_red: Share of commits without a change that may turn the job red, in percent, for all
            its series together. 100 judges each series alone.
        min_change: Minimum change that counts, in percent of the level before.
        fail_on: What fails the job. regression: changes for the worse, and large suspects; suspect:
            also every suspect by reason newest, and those by reason budget that are worse; any:
            also improvements, drifts and changes of noise.
        suspect_fails_at: Minimum size of a suspected change for the worse that fails the job, in
            percent.
        fail_on_missing: Exit with 3 if a series has no result of the judged commits.
        min_history: Minimum number of earlier results that a series needs to be judged, counted
            from its last lasting step by a factor of about 3. The built-in model needs 5.
        model: File of the online models.
        false_alarms_per_1000: False alarms allowed per 1,000 points of a series, from 1 to 10.
        machine_answer: `auto` and `answer` set aside what a slow run of the machine explains.
    """

    newest: Annotated[int, click.IntRange(min=1)] = 1
    since: str | None = None
    false_red: Annotated[float, click.FloatRange(0.0, 100.0, min_open=True)] = 10.0
    min_change: Annotated[float, click.FloatRange(min=0.0)] = MIN_CHANGE
    fail_on: Literal["regression", "suspect", "any"] = "regression"
    suspect_fails_at: Annotated[float, click.FloatRange(min=0.0)] = SUSPECT_FAILS_AT
    fail_on_missing: bool = False
    min_history: Annotated[int, click.IntRange(min=1)] = 5
    model: Path = RELEASED / "online.baro"
    false_alarms_per_1000: float = 3.0
    machine_answer: Literal["auto", "answer", "off"] = "auto"


@dataclass(frozen=True, slots=True)
class SeriesAnswer:
    """The answer on one result of a series.

    Attributes:
        series: The name of the series.
        direction: 1 if higher is better, -1 if lower is better, 0 if unknown.
        order: The judged result.
        commit: Its commit; empty if unknown.
        answer: `change`, `suspect` or `quiet`; `drift` or `noise` for a change without a step;
            `machine` for a common part that is a suspect.
        probability: The probability that a change is real; for a suspect and a quiet result, that
            of a change at this result.
        is_calibrated: Whether the probability is the share of alarms of this score that were real.
        percent: The size of the change, in percent of the level before; 0 if there is none.
        is_trend: Whether the results beside the change contradict each other about its sign.
        begins: The order at which the change begins, or None if there is no change.
        begins_commit: The commit at which it begins; empty if unknown.
        known: Whether the change was reported at an earlier result.
        reruns: Number of further runs of this commit that are advised.
        baseline_size: Number of earlier results that this result was compared with.
        runs: Number of runs of the commit.
        surprise: How far a suspect departs from what is usual, in nats.
        reason: How far a suspect departs, or a change without a step went, in words; else empty.
        is_certain: Whether the change or suspect is rare enough for the number of series of the
            job. A change that is not is reported, and fails the job only once it is.
        suppressed: The reason why the answer does not fail the job; empty if it may.
        event: The order of an earlier commit whose job failed because of the same event; None if
            there is none.
        event_commit: That commit; empty if unknown.
        explained: Whether the common part of the run explains the answer, so that it does not
            count at this result.
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
    is_calibrated: bool = False
    event: int | None = None
    event_commit: str = ""
    explained: bool = False

    @classmethod
    def at(cls, series: Series, place: int, **known: Any) -> SeriesAnswer:
        """Return an answer on the result of a series at a position; the rest is given."""
        order, commit = int(series.orders[place]), series.commits[place]
        return cls(str(series.id), int(series.direction), order, commit, **known)

    @property
    def is_common(self) -> bool:
        """Whether the answer is about the common part of all series."""
        return self.series.endswith(COMMON)

    @property
    def is_worse(self) -> bool:
        """Whether the change is for the worse, or of unknown direction."""
        return self.percent != 0 and not self.percent * self.direction > 0

    @property
    def way(self) -> str:
        """`worse`, `better`, `changed` if the direction is unknown, `trend`, or `unchanged`.

        Of noise, `noisier` or `steadier`.
        """
        if self.answer == "noise":
            return "noisier" if self.percent > 0 else "steadier"
        if self.is_trend or not self.percent:
            return TREND if self.is_trend else "unchanged"
        return CHANGED if not self.direction else WORSE if self.is_worse else BETTER

    @property
    def suspect_reason(self) -> str:
        """Why the answer is a suspect: `newest`, `budget` or `reruns`; empty if it is none."""
        if self.answer == "quiet":
            return RERUNS if self.reruns else ""
        if self.suppressed or self.explained or self.answer == MACHINE:
            return ""
        if self.answer == "suspect":
            return NEWEST
        return "" if self.is_certain else BUDGET

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain values; `known_since` is a commit, or else an order."""
        plain = asdict(self)
        since = (self.begins_commit or self.begins) if plain.pop("known") else None
        reasons = {"suspect_reason": self.suspect_reason, "suppressed": self.suppressed}
        return {**plain, "known_since": since, **{key: reasons[key] or None for key in reasons}}


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
        machine: What moved all series together, for JSON; None if machines are not judged.
    """

    answers: Sequence[SeriesAnswer]
    too_short: Sequence[str] = ()
    new: Sequence[str] = ()
    missing: Sequence[str] = ()
    policy: Judging = Judging()
    notes: Sequence[str] = ()
    machine: Mapping[str, Any] | None = None

    def kind_of(self, answer: SeriesAnswer) -> str:
        """Return the one of KINDS that an answer is of; empty if it is plainly quiet.

        Changes smaller than the minimum count as quiet.
        """
        if abs(answer.percent) < self.policy.min_change:
            return ""
        if answer.answer == MACHINE:
            return MACHINE
        if answer.suspect_reason:
            return "suspect"
        if answer.answer == "quiet" or answer.explained:
            return "known" if answer.known else ""
        if answer.suppressed:
            return "suppressed"
        if answer.answer in SLOW:
            return answer.answer
        return "regression" if answer.is_worse else "improvement"

    def of_kind(self, kind: str) -> list[SeriesAnswer]:
        """Return the answers of a kind."""
        return [answer for answer in self.answers if self.kind_of(answer) == kind]

    def fails(self, answer: SeriesAnswer) -> bool:
        """Return whether an answer turns the job red."""
        policy, kind = self.policy, self.kind_of(answer)
        if kind not in ("suspect", MACHINE):
            is_asked = kind in ("improvement", *SLOW) and policy.fail_on == "any"
            return kind == "regression" or is_asked
        is_strict = policy.fail_on != "regression"
        if kind == MACHINE or answer.suspect_reason == NEWEST:
            is_large = answer.is_worse and abs(answer.percent) >= policy.suspect_fails_at
            return is_strict or (is_large and answer.is_certain)
        return is_strict and answer.suspect_reason == BUDGET and answer.is_worse

    @property
    def exit_code(self) -> int:
        """Return 2 for a change that fails the job, 4 for a suspect, 3 if nothing was judged."""
        failing = {self.kind_of(answer) for answer in self.answers if self.fails(answer)}
        if failing:
            return REGRESSION if failing - {"suspect", MACHINE} else SUSPECT
        if self.missing and self.policy.fail_on_missing:
            return TOO_LITTLE
        return CLEAN if self.answers else TOO_LITTLE

    def as_dict(self) -> dict[str, Any]:
        """Return the answers as plain values for JSON."""
        rows = [(self.kind_of(a), a.suspect_reason, a.as_dict()) for a in self.answers]
        return {
            **{name: [row for *kind, row in rows if (*kind,) == LISTS[name]] for name in LISTS},
            "series": [row for _, _, row in rows if row["answer"] not in SLOW],
            "too_short": [*self.too_short],
            "new": [*self.new],
            "missing": [*self.missing],
            "notes": [*self.notes],
            "machine": self.machine,
            "exit_code": self.exit_code,
        }


def accepts(rule: Suppression, answer: SeriesAnswer, order_of: OrderOf) -> bool:
    """Return whether a suppression is about an answer."""
    if not matches(rule.series, answer.series):
        return False
    if rule.direction and (answer.percent > 0) != (rule.direction == "up"):
        return False
    begins = answer.order if answer.begins is None else answer.begins
    if not rule.until:
        name = answer.commit if answer.begins is None else answer.begins_commit
        return not rule.commit or is_commit(name, rule.commit) or str(begins) == rule.commit
    first, last = order_of(rule.commit) if rule.commit else begins, order_of(rule.until)
    return first is not None and last is not None and first <= begins <= last


def suppress(
    answers: Iterable[SeriesAnswer], config: Config, order_of: OrderOf, today: dt.date | None = None
) -> tuple[list[SeriesAnswer], list[str]]:
    """Mark the answers that fail no job.

    Args:
        answers: The answers.
        config: The configuration, with the suppressions and the series that are informational.
        order_of: Returns the order of a commit.
        today: The day on which suppressions may have expired.

    Returns:
        The answers, and notes about suppressions that have expired or that no change needs.
    """
    day = today or dt.date.today()
    expired = [rule for rule in config.suppress if rule.expires is not None and rule.expires < day]
    used: set[Suppression] = set()
    marked = []
    for answer in answers:
        is_shown = config.kind_of(answer.series) == "informational"
        reason = "informational in the configuration" if is_shown else ""
        for rule in config.suppress if answer.answer != "quiet" or answer.known else ():
            if accepts(rule, answer, order_of):
                used.add(rule)
                reason = reason if rule in expired else rule.reason
        marked.append(replace(answer, suppressed=reason) if reason else answer)
    notes = [f"suppression expired on {rule.expires}: {rule}" for rule in expired]
    unused = [rule for rule in config.suppress if rule not in used and rule not in expired]
    return marked, notes + [f"suppression matches no change: {rule}" for rule in unused]
