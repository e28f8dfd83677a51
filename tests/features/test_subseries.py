"""Pre and After under each policy, compared with a plain implementation."""

import datetime as dt
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.features.subseries import (
    ADAPTIVE,
    LABEL_FREE,
    Bound,
    Policy,
    subseries,
)
from barograph.results.candidates import Candidates
from barograph.results.parquet import CANDIDATES_SCHEMA, candidates_of
from barograph.results.series import UNKNOWN_TIME, Ints, Verdict
from barograph.runtime.errors import ConfigError, DataError

Row = tuple[int, int, str, int, int]
VERDICTS = [verdict.value for verdict in Verdict]


def columns(rows: list[Row]) -> Candidates:
    series, index, verdict, calculated, triaged = zip(*rows, strict=True) if rows else [()] * 5
    return Candidates(
        np.array(series, dtype=np.int64),
        np.array(index, dtype=np.int64),
        np.array(verdict, dtype=np.str_),
        np.array(calculated, dtype=np.int64),
        np.array(triaged, dtype=np.int64),
    )


def bounds(row: Row, other: Row, bound: Bound) -> bool:
    """Return whether `other` bounds `row`, by the definition of the policy."""
    if bound is Bound.ADAPTIVE:
        return other[2] == "true_positive"
    known = UNKNOWN_TIME not in (row[3], other[4]) and other[4] < row[3]
    return not (known and other[2] == "false_positive")


def plain(policy: Policy, offsets: Ints, rows: list[Row]) -> list[tuple[int, int, int]]:
    result = []
    for row in rows:
        first, last = int(offsets[row[0]]), int(offsets[row[0] + 1])
        places = [
            first + other[1]
            for other in rows
            if other[0] == row[0] and bounds(row, other, policy.bound)
        ]
        split = first + row[1]
        start = max([p for p in places if p < split], default=first)
        end = min([p for p in places if p > split], default=last)
        if policy.width is not None:
            end = min(end, split + policy.width + 1)
        result.append((start, split, end))
    return result


dates = st.sampled_from([UNKNOWN_TIME, 0, 1, 2, 3, 4])
sizes = st.lists(st.integers(0, 12), min_size=1, max_size=4)


@st.composite
def data_sets(draw: st.DrawFn) -> tuple[Ints, list[Row]]:
    lengths = draw(sizes)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    fit = [k for k, size in enumerate(lengths) if size > 1]
    rows = []
    for series in draw(st.lists(st.sampled_from(fit), max_size=25)) if fit else []:
        index = draw(st.integers(1, lengths[series] - 1))
        rows.append((series, index, draw(st.sampled_from(VERDICTS)), draw(dates), draw(dates)))
    return offsets, rows


policies = st.builds(Policy, st.sampled_from(Bound), st.none() | st.integers(0, 10))


@given(data_sets(), policies)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_bounds_equal_the_plain_implementation(
    data: tuple[Ints, list[Row]], policy: Policy
) -> None:
    offsets, rows = data
    result = subseries(policy, offsets, columns(rows))
    assert list(zip(*(b.tolist() for b in result), strict=True)) == plain(policy, offsets, rows)


OFFSETS = np.array([0, 10, 30])
ROWS: list[Row] = [
    (1, 5, "true_positive", 50, 60),
    (1, 9, "false_positive", 50, 70),
    (1, 12, "not_triaged", 71, UNKNOWN_TIME),
    (1, 12, "not_triaged", 70, UNKNOWN_TIME),
    (0, 3, "false_positive", 1, 2),
]


def test_adaptive_pre_starts_at_the_previous_confirmed_point() -> None:
    starts, splits, ends = subseries(ADAPTIVE, OFFSETS, columns(ROWS))
    assert starts.tolist() == [10, 15, 15, 15, 0]
    assert splits.tolist() == [15, 19, 22, 22, 3]
    assert ends.tolist() == [30, 30, 30, 30, 10]


def test_label_free_reads_only_verdicts_of_an_earlier_date() -> None:
    starts, _, ends = subseries(LABEL_FREE, OFFSETS, columns(ROWS))
    assert starts.tolist() == [10, 15, 15, 19, 0]
    assert ends.tolist() == [19, 22, 30, 30, 10]


def test_label_free_does_not_depend_on_later_verdicts() -> None:
    later = [(s, i, "false_positive", c, 10_000) for s, i, _, c, _ in ROWS]
    none = [(s, i, "not_triaged", c, UNKNOWN_TIME) for s, i, _, c, _ in ROWS]
    for policy in (LABEL_FREE, LABEL_FREE.window(2)):
        seen = subseries(policy, OFFSETS, columns(later))
        unseen = subseries(policy, OFFSETS, columns(none))
        assert all((a == b).all() for a, b in zip(seen, unseen, strict=True))


def test_window_cuts_after_to_its_size_plus_one() -> None:
    result = subseries(ADAPTIVE.window(0), OFFSETS, columns(ROWS))
    assert (result.ends - result.splits).tolist() == [1, 1, 1, 1, 1]
    result = subseries(LABEL_FREE.window(10), OFFSETS, columns(ROWS))
    assert (result.ends - result.splits).tolist() == [4, 3, 8, 8, 7]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((0, 0, "not_triaged", 1, 1), "candidate 1 has index 0 in a series of 10 points"),
        ((0, 10, "not_triaged", 1, 1), "candidate 1 has index 10 in a series of 10 points"),
        ((2, 1, "not_triaged", 1, 1), "candidate 1 names series 2 of 2"),
        ((-1, 1, "not_triaged", 1, 1), "candidate 1 names series -1 of 2"),
    ],
)
def test_points_that_cannot_start_a_regime_are_refused(row: Row, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        subseries(ADAPTIVE, OFFSETS, columns([ROWS[0], row]))


@pytest.mark.parametrize(
    "policy", [ADAPTIVE, LABEL_FREE, ADAPTIVE.window(0), LABEL_FREE.window(10)]
)
def test_named_parses_the_name_of_a_policy(policy: Policy) -> None:
    assert Policy.named(str(policy)) == policy


@pytest.mark.parametrize("name", ["", "window", "adaptive:", "adaptive:w", "adaptive:w-1", "x:w1"])
def test_unknown_policy_error_lists_known_ones(name: str) -> None:
    with pytest.raises(ConfigError, match="unknown policy"):
        Policy.named(name)


def test_window_size_beyond_the_paper_is_refused() -> None:
    with pytest.raises(ConfigError, match="window size 11"):
        Policy.named("adaptive:w11")


def test_candidates_are_read_from_their_table() -> None:
    day = dt.datetime(1970, 1, 2, tzinfo=dt.UTC)
    row = {
        "series": 3, "index": 4, "order": 5, "commit": "c", "verdict": "true_positive",
        "calculated_on": day, "triaged_on": None, "algorithm": "edivisive",
    }  # fmt: skip
    candidates = candidates_of(pa.Table.from_pylist([row], schema=CANDIDATES_SCHEMA))
    assert candidates.series.tolist() == [3]
    assert candidates.index.tolist() == [4]
    assert candidates.verdict.tolist() == ["true_positive"]
    assert candidates.calculated_on.tolist() == [86_400_000]
    assert candidates.triaged_on.tolist() == [UNKNOWN_TIME]
