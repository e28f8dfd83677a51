"""The answers of `gate` and `score`: which series fail a job, how they are printed, exit codes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from barograph.cli import CLEAN, REGRESSION, SUSPECT, TOO_LITTLE
from barograph.wording import change_text, percent

SUSPECT_FAILS_AT = 25.0  # percent


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
        begins: The order at which the change begins, or None if there is no change.
        begins_commit: The commit at which it begins; empty if unknown.
        known: Whether the change was reported at an earlier result.
        reruns: Number of further runs of this commit that are advised.
        baseline_size: Number of earlier results that this result was compared with.
        runs: Number of runs of the commit.
        surprise: How far a suspect departs from what is usual, in nats.
        reason: How far a suspect departs, in words; empty for other answers.
    """

    series: str
    direction: int
    order: int
    commit: str
    answer: str
    probability: float
    percent: float = 0.0
    begins: int | None = None
    begins_commit: str = ""
    known: bool = False
    reruns: int = 0
    baseline_size: int = 0
    runs: int = 1
    surprise: float = 0.0
    reason: str = ""

    @property
    def is_worse(self) -> bool:
        """Whether the change is for the worse, or of unknown direction."""
        return is_worse(self.percent, self.direction)

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as plain values; `known_since` is a commit, or else an order."""
        since = (self.begins_commit or self.begins) if self.known else None
        names = ("direction", "order", "commit", "probability", "percent", "begins")
        more = ("begins_commit", "reruns", "baseline_size", "runs", "surprise", "reason")
        return {
            "series": self.series,
            "answer": str(self.answer),
            **{name: getattr(self, name) for name in names + more},
            "known_since": since,
        }

    def __str__(self) -> str:
        """One line without the kind of the answer."""
        change = change_text(self.percent)
        here = short(self.commit) or self.order
        way = "" if not self.direction else " (worse)" if self.is_worse else " (better)"
        if self.answer == "quiet" and self.reruns:
            return f"{self.series}: {change}{way} at {here} by {self.runs} runs; {self._rerun}"
        if self.answer == "suspect":
            why = self.reason.partition(";")[0] or f"probability {self.probability:.2f}"
            return f"{self.series}: {change}{way} at {here}, {why}; {self._rerun}"
        place = short(self.begins_commit) or self.begins
        if self.known:
            return f"{self.series}: {change}{way}, known since {place}"
        seen = "" if self.begins in (None, self.order) else f", seen at {here}"
        sure = "" if math.isnan(self.probability) else f", probability {self.probability:.2f}"
        more = f"; {self._rerun}" if self.reruns else ""
        return f"{self.series}: {change} at {place}{seen}{sure}{more}"

    @property
    def _rerun(self) -> str:
        times = "once" if self.reruns == 1 else f"{self.reruns} times"
        return f"run this commit {times} more to settle it"


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What `gate` or `score` reports for all series of a job.

    Args:
        answers: The answer on every judged result; answers on results of one series are adjacent.
        too_short: The names of the series that have too little history to be judged.
        min_change: The smallest change that counts, in percent of the level before.
        suspect_fails_at: The smallest suspected change for the worse that fails the job, in
            percent of the level before.
    """

    answers: Sequence[SeriesAnswer]
    too_short: Sequence[str] = ()
    min_change: float = 0.0
    suspect_fails_at: float = SUSPECT_FAILS_AT
    regressions: list[SeriesAnswer] = field(init=False)
    suspects: list[SeriesAnswer] = field(init=False)
    improvements: list[SeriesAnswer] = field(init=False)
    known: list[SeriesAnswer] = field(init=False)
    unsettled: list[SeriesAnswer] = field(init=False)

    def __post_init__(self) -> None:
        """Sort the answers by kind; changes smaller than the minimum count as quiet."""
        counted = [one for one in self.answers if abs(one.percent) >= self.min_change]
        changes = [one for one in counted if one.answer == "change"]
        kinds = {
            "regressions": [one for one in changes if one.is_worse],
            "improvements": [one for one in changes if not one.is_worse],
            "suspects": [one for one in counted if one.answer == "suspect"],
            "known": [one for one in counted if one.answer == "quiet" and one.known],
            "unsettled": [one for one in counted if one.answer == "quiet" and one.reruns],
        }
        for name, chosen in kinds.items():
            object.__setattr__(self, name, chosen)

    @property
    def exit_code(self) -> int:
        """Return 2 for a regression, 4 for a large suspect, 3 if nothing was judged, else 0."""
        if self.regressions:
            return REGRESSION
        if any(one.is_worse and abs(one.percent) >= self.suspect_fails_at for one in self.suspects):
            return SUSPECT
        return CLEAN if self.answers else TOO_LITTLE

    def as_dict(self) -> dict[str, Any]:
        """Return the answers as plain values for JSON."""
        return {
            "regressions": _rows(self.regressions),
            "suspects": _rows(self.suspects),
            "improvements": _rows(self.improvements),
            "series": _rows(self.answers),
            "too_short": list(self.too_short),
        }

    def echo(self) -> None:
        """Print one line for each answer that is not plainly quiet, and a summary."""
        kinds = {
            "regression": self.regressions,
            "suspect": self.suspects,
            "improvement": self.improvements,
            "unsettled": self.unsettled,
            "known": self.known,
        }
        for kind, answers in kinds.items():
            for one in answers:
                click.echo(f"{kind:<11} {one}")
        judged = len({one.series for one in self.answers})
        click.echo(
            f"regressions: {len(self.regressions)}, suspects: {len(self.suspects)}, "
            f"improvements: {len(self.improvements)}, series judged: {judged}, "
            f"too short to judge: {len(self.too_short)}"
        )


def _rows(answers: Iterable[SeriesAnswer]) -> list[dict[str, Any]]:
    return [one.as_dict() for one in answers]


def short(commit: str) -> str:
    """Return the first ten characters of a full hash, or any other name of a commit unchanged."""
    return commit[:10] if re.fullmatch("[0-9a-f]{40}", commit) else commit


def is_worse(change: float, direction: int) -> bool:
    """Return whether a change in percent goes the wrong way, or may do so.

    Args:
        change: The change, in percent of the level before.
        direction: 1 if higher is better, -1 if lower is better, 0 if unknown.
    """
    return change != 0 and not change * direction > 0


def change_percent(before: Sequence[float], after: Sequence[float], feature_set: str) -> float:
    """Return the change of the mean, in percent of the level before.

    Args:
        before: The values before the change, oldest first; at least one.
        after: The values since the change; at least one.
        feature_set: The feature set of the online model. Some find the current level themselves;
            then the level before the change is the last regime of `before`, else all of it.
    """
    from barograph.detection.online.views import REGIME_SETS
    from barograph.features import GrowingHistory

    if feature_set in REGIME_SETS:
        history = GrowingHistory()
        for value in before:
            history.append(value)
        before = before[-history.regime :]
    return percent(sum(before) / len(before), sum(after) / len(after))
