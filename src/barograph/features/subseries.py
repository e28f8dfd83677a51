"""Pre and After of every candidate of a data set, as index bounds into the values.

Pre runs from the previous bound (or the first point) to just before the candidate, After from the
candidate to just before the next bound (or the end). The policy defines the bounds:

- `adaptive`: the confirmed points, as in Bauer et al. 2022, 3.1. Pre starts at the previous
  confirmed point itself, as in their Algorithm 1: it is the first point of the regime.
- `label_free`: the nearest candidates on both sides, except those that a verdict given before
  this candidate's `calculated_on` called false. Verdicts of that time or later are not read; times
  are compared in milliseconds.
- `window(w)`: the bounds of either, with After cut to at most w + 1 points (3.4).

A verdict without a date may be later, so `label_free` does not read it. A candidate without
`calculated_on` has no earlier verdicts. Candidates at the same point never bound each other; the
point bounds others if any of them does. A candidate's own verdict does not affect its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from barograph.results.candidates import Candidates
from barograph.results.series import UNKNOWN_TIME, Ints, Verdict
from barograph.runtime.compiled import kernel
from barograph.runtime.errors import ConfigError, DataError

WIDEST = 10


class Bound(StrEnum):
    """The points that bound Pre and After."""

    ADAPTIVE = "adaptive"
    LABEL_FREE = "label_free"


@dataclass(frozen=True, slots=True)
class Policy:
    """The bounds of Pre and After; `width` is the paper's window size, None for all of After."""

    bound: Bound
    width: int | None = None

    def __post_init__(self) -> None:
        """Check the window size."""
        if self.width is not None and not 0 <= self.width <= WIDEST:
            raise ConfigError(f"window size {self.width} is not allowed; give 0 to {WIDEST}")

    def window(self, width: int) -> Policy:
        """Return the same bounds with After cut to at most `width` + 1 points."""
        return replace(self, width=width)

    @classmethod
    def named(cls, name: str) -> Policy:
        """Parse `adaptive`, `label_free`, or either with a window size, such as `label_free:w3`."""
        bound, colon, width = name.partition(":w")
        if bound in set(Bound) and (not colon or (width.isdecimal() and width.isascii())):
            return cls(Bound(bound), int(width) if colon else None)
        raise ConfigError(
            f"unknown policy {name!r}; known: {[b.value for b in Bound]}, each also "
            f"with a window size of 0 to {WIDEST}, such as 'label_free:w3'"
        )

    def __str__(self) -> str:
        """Return the name that `named` parses."""
        return self.bound.value if self.width is None else f"{self.bound.value}:w{self.width}"


ADAPTIVE = Policy(Bound.ADAPTIVE)
LABEL_FREE = Policy(Bound.LABEL_FREE)


class SubSeries(NamedTuple):
    """Pre = values[start:split] and After = values[split:end] of every candidate, row by row."""

    starts: Ints
    splits: Ints
    ends: Ints


def subseries(policy: Policy, offsets: Ints, candidates: Candidates) -> SubSeries:
    """Return the bounds of all candidates as indices into the values of the whole data set.

    Args:
        policy: The policy of the bounds.
        offsets: Series k has the values offsets[k] to offsets[k + 1].
        candidates: In any order, possibly with duplicates; the result has the same order.

    Raises:
        DataError: The series of a candidate does not exist, or its index cannot be the first point
            of a regime: 0, or beyond the end of the series.
    """
    _check(offsets, candidates)
    first, last = offsets[candidates.series], offsets[candidates.series + 1]
    splits = first + candidates.index
    key, threshold = _keys(policy.bound, candidates)
    order = np.argsort(splits, kind="stable")
    back = order[::-1].copy()
    starts, ends = first.copy(), last.copy()
    _bound_before(candidates.series, splits, key, threshold, order, starts)
    _bound_before(candidates.series, splits, key, threshold, back, ends)
    if policy.width is not None:
        ends = np.minimum(ends, splits + policy.width + 1)
    return SubSeries(starts, splits, ends)


def _check(offsets: Ints, candidates: Candidates) -> None:
    count = offsets.size - 1
    bad = (candidates.series < 0) | (candidates.series >= count)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(f"candidate {k} names series {candidates.series[k]} of {count}")
    sizes = np.diff(offsets)[candidates.series]
    bad = (candidates.index < 1) | (candidates.index >= sizes)
    if bad.any():
        k = int(np.argmax(bad))
        raise DataError(
            f"candidate {k} has index {candidates.index[k]} in a series of {sizes[k]} points; "
            "a change point is the first point of a new regime: 1 to the last index"
        )


def _keys(bound: Bound, candidates: Candidates) -> tuple[Ints, Ints]:
    """Return a key and a threshold per row: row j bounds row i if key[j] >= threshold[i]."""
    if bound is Bound.ADAPTIVE:
        confirmed = candidates.verdict == Verdict.TRUE_POSITIVE.value
        return confirmed.astype(np.int64), np.ones(confirmed.size, dtype=np.int64)
    false = candidates.verdict == Verdict.FALSE_POSITIVE.value
    dated = false & (candidates.triaged_on != UNKNOWN_TIME)
    never = np.int64(np.iinfo(np.int64).max)
    return np.where(dated, candidates.triaged_on, never), candidates.calculated_on


@kernel
def _bound_before(
    series: Ints, splits: Ints, key: Ints, threshold: Ints, order: Ints, bounds: Ints
) -> None:
    """Set the bound of each row to the nearest earlier split, in `order`, with a sufficient key."""
    for position in range(order.size):
        row = order[position]
        for before in range(position - 1, -1, -1):
            other = order[before]
            if series[other] != series[row]:
                break
            if splits[other] != splits[row] and key[other] >= threshold[row]:
                bounds[row] = splits[other]
                break
