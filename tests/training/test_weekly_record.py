"""How the model did on verdicts, by week, and whether retraining is due."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pytest

from barograph.learning.shares import Share, calibration_bins, median_of, share_of
from barograph.learning.weekly_record import (
    Record,
    first_day,
    retraining_due,
    weekly,
)


def time_of(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000


def judged(*rows: tuple[str, bool, float, int, float]) -> pd.DataFrame:
    """Verdicts from day, real, probability, commit and delay; the threshold is 0.5."""
    names = ["decided", "real", "probability", "commit", "delay"]
    table = pd.DataFrame(rows, columns=names).assign(threshold=0.5)
    return table.assign(decided=table.decided.map(time_of))


NONE = float("nan")
TABLE = judged(
    ("2026-03-02", True, 0.9, 1, 2.0),  # a Monday
    ("2026-03-08T23:59:59", True, 0.2, 2, NONE),
    ("2026-03-09", False, 0.8, 3, NONE),
    ("2026-03-10", False, 0.1, 4, NONE),
    ("2026-03-11", True, 0.5, 5, 4.0),  # at the threshold: an alarm
)


def test_weekly_divides_verdicts_at_monday_midnight_utc() -> None:
    weeks = weekly(TABLE, date(2026, 3, 12), 3)
    assert [week.start for week in weeks] == [date(2026, 2, 23), date(2026, 3, 2), date(2026, 3, 9)]
    assert [week.record.verdicts for week in weeks] == [0, 2, 3]
    assert first_day(date(2026, 3, 12), 3) == time_of("2026-02-23")


def test_record_counts_agreement_alarms_misses_and_delay() -> None:
    first, second = (week.record for week in weekly(TABLE, date(2026, 3, 12), 2))
    assert [first.agreement[:2], first.useful[:2], first.missed[:2]] == [(1, 2), (1, 1), (1, 2)]
    assert [second.agreement[:2], second.useful[:2], second.missed[:2]] == [(2, 3), (1, 2), (0, 1)]
    assert first.alarmed[:2] == (1, 2)
    assert (first.delay.value, second.delay.value) == (2.0, 4.0)


def test_record_without_verdicts_is_unknown_rather_than_perfect() -> None:
    empty = Record.of(TABLE[TABLE.decided >= time_of("2027-01-01")])
    assert empty.agreement == Share(0, 0, 0.0, 1.0)
    assert empty.agreement.value is None
    assert empty.delay.value is None


def test_verdicts_on_one_commit_widen_the_interval_to_that_of_one_verdict() -> None:
    flags = [True] * 20
    together, apart = share_of(flags, np.zeros(20)), share_of(flags, np.arange(20))
    assert together[:2] == apart[:2] == (20, 20)
    assert together.low == pytest.approx(share_of([True]).low)
    assert apart.low == pytest.approx(share_of(flags).low) == pytest.approx(0.8389, abs=1e-4)


def test_one_commit_with_many_series_counts_once_in_the_delay() -> None:
    rows = [("2026-03-02", True, 0.9, 1, 9.0)] * 30 + [
        ("2026-03-02", True, 0.9, commit, 1.0) for commit in range(2, 5)
    ]
    assert Record.of(judged(*rows)).delay.value == 1.0


def test_median_interval_covers_the_median_in_95_percent_of_samples() -> None:
    generator = np.random.default_rng(3)
    medians = [median_of(generator.exponential(size=15)) for _ in range(1000)]
    inside = [m.low <= np.log(2) <= m.high for m in medians if m.low and m.high]
    assert len(inside) == 1000
    assert np.mean(inside) >= 0.95


def test_calibration_compares_probabilities_with_verdicts() -> None:
    bins = calibration_bins(TABLE.real.to_numpy(np.int64), TABLE.probability.to_numpy())
    shares = [(0.1, 0.0), (0.2, 1.0), (0.5, 1.0), (0.8, 0.0), (0.9, 1.0)]
    assert [(part.stated, part.share) for part in bins] == shares


GOOD, BAD = share_of([True] * 27 + [False] * 3), share_of([True] * 15 + [False] * 15)


@pytest.mark.parametrize(
    ("new", "learned", "recent", "promised", "due", "needed"),
    [
        (29, 100, GOOD, 0.9, False, 30),
        (30, 100, GOOD, 0.9, True, 30),
        (99, 1000, GOOD, 0.9, False, 100),
        (5, 1000, BAD, 0.9, True, 100),
        (5, 1000, BAD, None, False, 100),
        (5, 1000, share_of([False] * 19), 0.9, False, 100),  # too few to say
    ],
)
def test_retraining_is_due_by_new_verdicts_or_by_lost_agreement(
    new: int, learned: int, recent: Share, promised: float | None, due: bool, needed: int
) -> None:
    result = retraining_due(new, learned, recent, promised)
    assert (result.due, result.needed, result.new) == (due, needed, new)
    assert str(new) in result.why
