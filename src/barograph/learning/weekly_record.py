"""How the model did on verdicts before it knew them, week by week.

Each verdict is compared with the probability that its candidate had when the verdict was given. The
model cannot have learned from it by then, so these figures need no held-out data. They say how the
model does on what people decided; candidates without a verdict are not in them.

Tables of verdicts have these columns: `decided`, when the verdict was given, in milliseconds since
1970; `real`; `probability` and `threshold`, of the model then; `commit`, a number for the commit of
the candidate, since verdicts on one commit are seldom independent; and `delay`, the commits from
the change to the first alarm, NaN where none was raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from barograph.learning.shares import Median, Share, median_of, share_of

if TYPE_CHECKING:
    import pandas as pd

WEEK = timedelta(weeks=1)
LEAST_NEW = 30  # verdicts: below, a new model would hardly differ from the old one
NEW_SHARE = 0.1  # of the verdicts that were learned from
RECENT = 4  # weeks that the agreement is watched over
LEAST_RECENT = 20  # verdicts of these weeks, or nothing is said about them


@dataclass(frozen=True)
class Record:
    """How the model did on some verdicts.

    Attributes:
        verdicts: Number of verdicts.
        agreement: How often the model and the person said the same.
        useful: How many of the model's alarms were real.
        missed: How many real changes the model gave a probability below its threshold.
        alarmed: How many real changes raised an alarm when the results arrived.
        delay: Commits from such a change to its alarm; one value for each commit.
    """

    verdicts: int
    agreement: Share
    useful: Share
    missed: Share
    alarmed: Share
    delay: Median

    @classmethod
    def of(cls, judged: pd.DataFrame) -> Record:
        """Summarise some verdicts."""
        alarms, real = judged.probability >= judged.threshold, judged.real
        raised, commit = judged.delay.notna(), judged.commit
        return cls(
            len(judged),
            share_of(alarms == real, commit),
            share_of(real[alarms], commit[alarms]),
            share_of(~alarms[real], commit[real]),
            share_of(raised[real], commit[real]),
            median_of(judged[real & raised].groupby("commit").delay.median()),
        )


@dataclass(frozen=True)
class WeekRecord:
    """The record of one week, which starts on a Monday in UTC."""

    start: date
    record: Record


@dataclass(frozen=True)
class RetrainingDue:
    """Whether it is time to retrain, and the rule as a sentence."""

    due: bool
    new: int
    needed: int
    why: str


def weekly(judged: pd.DataFrame, today: date, weeks: int = 12) -> list[WeekRecord]:
    """Return the records of the last weeks, the oldest first; a week without verdicts is empty.

    Args:
        judged: All verdicts of these weeks, or more.
        today: A day of the last week.
        weeks: Number of weeks.

    Example:
        >>> import pandas as pd
        >>> verdict = {"decided": 3_600_000, "real": True, "probability": 0.9, "threshold": 0.5}
        >>> judged = pd.DataFrame([verdict | {"commit": 1, "delay": 2.0}])
        >>> [week] = weekly(judged, date(1970, 1, 1), 1)
        >>> week.start.isoformat(), week.record.agreement.hits, week.record.delay.value
        ('1969-12-29', 1, 2.0)
    """
    starts = [*_mondays(today, weeks)]
    ends = [_milliseconds(start + WEEK) for start in starts]
    return [
        WeekRecord(start, Record.of(judged[judged.decided.between(_milliseconds(start), end - 1)]))
        for start, end in zip(starts, ends, strict=True)
    ]


def retraining_due(
    new: int, learned_from: int, recent: Share, promised: float | None
) -> RetrainingDue:
    """Say whether retraining is due.

    It is due once the new verdicts are a tenth of those that were learned from, and at least 30. It
    is also due when people agree less with the model than its card promises: when the whole 95 %
    interval of the agreement of the last four weeks, over at least 20 verdicts, lies below it.

    Args:
        new: Number of final verdicts since the last training.
        learned_from: Number of verdicts that the last training learned from.
        recent: The agreement of the last `RECENT` weeks.
        promised: The agreement on held-out verdicts on the card of the model, if it says.

    Example:
        >>> retraining_due(12, 500, Share(9, 10, 0.6, 0.98), 0.9).why
        '12 verdicts are new. Retraining is due at 50, or when agreement falls below 90 %.'
    """
    needed = max(LEAST_NEW, int(np.ceil(NEW_SHARE * learned_from)))
    known = f"{new} {'verdict is' if new == 1 else 'verdicts are'} new."
    is_due, why = new >= needed, f"Retraining is due at {needed}."
    if is_due:
        why = f"Retraining is due from {needed} on."
    elif promised is not None:
        limit = f"{promised:.0%}".replace("%", " %")
        is_due = recent.of >= LEAST_RECENT and recent.high < promised
        why = f"Retraining is due at {needed}, or when agreement falls below {limit}."
        if is_due:
            agreed = f"agreed with {recent.hits} of {recent.of} verdicts"
            why = f"Over the last {RECENT} weeks the model {agreed}; its card promises {limit}."
    return RetrainingDue(is_due, new, needed, f"{known} {why}")


def first_day(today: date, weeks: int) -> int:
    """Return the time at which the first of the last weeks begins, in milliseconds since 1970."""
    return _milliseconds(next(_mondays(today, weeks)))


def _mondays(today: date, weeks: int) -> Iterator[date]:
    this = today - timedelta(days=today.weekday())
    return (this - back * WEEK for back in range(weeks - 1, -1, -1))


def _milliseconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
