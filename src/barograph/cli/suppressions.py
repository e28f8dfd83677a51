"""Changes that people know and accept: they are reported with the reason, and fail no job.

A suppression is a table `[[suppress]]` of `barograph.toml`. Series that the pattern `informational`
of the configuration matches fail no job, either.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Annotated, Literal

import msgspec

from barograph.cli.answers import SeriesAnswer
from barograph.cli.config import SUPPRESS, Config
from barograph.results.patterns import matches
from barograph.runtime.errors import ConfigError
from barograph.sources.git import is_commit

INFORMATIONAL = "informational in the configuration"
ALLOWED = (
    "it has series and reason, and may have commit, until, direction (up or down) and expires "
    "(a date such as 2027-01-31)"
)

OrderOf = Callable[[str], int | None]  # from the name of a commit to its order, if it is known
Words = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Suppression(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change that is known and accepted.

    Attributes:
        series: A pattern of names of series; `*` stands for any text.
        reason: Why the change is accepted.
        commit: The commit at which the change begins; with `until` the first of several. Empty for
            any.
        until: The last commit at which the change begins. Empty for any.
        direction: `up` or `down`; empty for both.
        expires: The last day of the suppression; None if it does not end.
    """

    series: Words
    reason: Words
    commit: str = ""
    until: str = ""
    direction: Literal["", "up", "down"] = ""
    expires: dt.date | None = None

    def __str__(self) -> str:
        commits = "..".join(name for name in (self.commit, self.until) if name)
        return f"{self.series}{f' at {commits}' if commits else ''} ({self.reason})"

    def matches(self, answer: SeriesAnswer, order_of: OrderOf) -> bool:
        """Return whether the suppression is about an answer."""
        if not matches(self.series, answer.series):
            return False
        if self.direction and (answer.percent > 0) != (self.direction == "up"):
            return False
        begins = answer.order if answer.begins is None else answer.begins
        if not self.until:
            name = answer.commit if answer.begins is None else answer.begins_commit
            return not self.commit or is_commit(name, self.commit) or str(begins) == self.commit
        first, last = order_of(self.commit) if self.commit else begins, order_of(self.until)
        return first is not None and last is not None and first <= begins <= last


def suppress(
    answers: Iterable[SeriesAnswer],
    config: Config,
    order_of: OrderOf,
    today: dt.date | None = None,
) -> tuple[list[SeriesAnswer], list[str]]:
    """Mark the answers that fail no job.

    Args:
        answers: The answers.
        config: The configuration, with the suppressions and the series that are informational.
        order_of: Returns the order of a commit.
        today: The day on which suppressions may have expired.

    Returns:
        The answers, and notes about suppressions that have expired or that no change needs.

    Raises:
        ConfigError: A suppression cannot be used.
    """
    try:
        rules = msgspec.convert(config.suppress, list[Suppression])
    except msgspec.ValidationError as error:
        raise ConfigError(f"{config.path}: [[{SUPPRESS}]]: {error}; {ALLOWED}") from None
    day = today or dt.date.today()
    expired = [rule for rule in rules if rule.expires is not None and rule.expires < day]
    used: set[Suppression] = set()
    marked = []
    for answer in answers:
        reason = INFORMATIONAL if config.kind_of(answer.series) == "informational" else ""
        if answer.answer != "quiet" or answer.known:
            for rule in rules:
                if rule.matches(answer, order_of):
                    used.add(rule)
                    reason = reason if rule in expired else rule.reason
        marked.append(replace(answer, suppressed=reason) if reason else answer)
    notes = [f"suppression expired on {rule.expires}: {rule}" for rule in expired]
    unused = [rule for rule in rules if rule not in used and rule not in expired]
    return marked, notes + [f"suppression matches no change: {rule}" for rule in unused]
