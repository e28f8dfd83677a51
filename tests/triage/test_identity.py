from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.results.series import ChangePoint, Region, Series, Verdict
from barograph.server.store.candidate_records import CandidateRecord
from barograph.server.triage.identity import identify, match
from tests.store.samples import series

places = st.lists(st.integers(0, 60), max_size=8, unique=True).map(sorted)
SPARSE = range(250, 400, 10)
DENSE = [*range(250, 311, 10), *range(311, 320), *range(320, 400, 10)]


def results(orders: Sequence[int]) -> Series:
    return Series(series(), np.array(orders), np.zeros(len(orders)))


def change(index: int, before: float = 1.0, after: float = 2.0) -> ChangePoint:
    low, high = (Region(9, mean, mean, mean, mean, 0.01, mean) for mean in (before, after))
    return ChangePoint(index, 1.0, None, low, high)


def unknown(number: int, order: int) -> CandidateRecord:
    """A candidate of unknown surroundings."""
    facts: dict[str, Any] = dict.fromkeys(field.name for field in fields(CandidateRecord))
    facts |= {"id": number, "series": 1, "order": order, "verdict": Verdict.NOT_TRIAGED}
    return CandidateRecord(**facts | {"present": True})


def stored(
    number: int,
    order: int,
    verdict: Verdict = Verdict.NOT_TRIAGED,
    *,
    present: bool = True,
    among: Sequence[int] = SPARSE,
    levels: tuple[float, float] = (1.0, 2.0),
) -> CandidateRecord:
    around = results(among).orders_around(list(among).index(order), 6)
    before, after = (Region(9, mean, mean, mean, mean, 0.01, mean) for mean in levels)
    surroundings: dict[str, Any] = {"nearby": around, "before": before, "after": after}
    return replace(unknown(number, order), verdict=verdict, present=present, **surroundings)


def matched(
    orders: Sequence[int], known: Sequence[CandidateRecord], *changes: tuple[int, float, float]
) -> dict[int, int]:
    """The orders of the change points that are stored candidates, each with its number."""
    points = [change(list(orders).index(order), *levels) for order, *levels in changes]
    actual = match(results(orders), known, points)
    return {changes[row][0]: known[k].id for row, k in actual.items()}


def test_change_among_commits_measured_later_is_the_candidate() -> None:
    known = [stored(7, 320, Verdict.TRUE_POSITIVE)]
    assert matched(DENSE, known, (311, 1.3, 2.6)) == {311: 7}
    assert matched(DENSE, known, (311, 2.0, 1.0)) == {}


@pytest.mark.parametrize(
    ("order", "levels", "is_same"),
    [
        (300, (1.0, 2.0), True),
        (300, (1.4, 1.7), True),
        (300, (1.0, 3.0), False),
        (300, (0.0, 1.0), False),
        (270, (1.0, 2.0), True),
        (260, (1.0, 2.0), False),
        (370, (1.0, 2.0), True),
        (380, (1.0, 2.0), False),
    ],
)
def test_change_at_other_results_is_the_candidate_if_near_and_of_the_same_levels(
    order: int, levels: tuple[float, float], is_same: bool
) -> None:
    assert matched(DENSE, [stored(7, 320)], (order, *levels)) == ({order: 7} if is_same else {})


def test_change_within_the_noise_may_shift_its_levels() -> None:
    known = [stored(7, 320, levels=(1.0, 1.01))]
    assert matched(DENSE, known, (300, 1.05, 1.08)) == {300: 7}
    assert matched(DENSE, known, (300, 1.5, 1.6)) == {}


def test_results_after_the_end_of_the_series_count_as_distance() -> None:
    known = [stored(7, 380)]
    longer = [*SPARSE, *range(400, 500, 10)]
    assert matched(longer, known, (430, 1.0, 2.0)) == {430: 7}
    assert matched(longer, known, (440, 1.0, 2.0)) == {}


def test_candidate_of_unknown_surroundings_is_compared_by_place() -> None:
    known = [unknown(7, 320)]
    assert matched(SPARSE, known, (370, 5.0, 4.0)) == {370: 7}
    assert matched(DENSE, known, (310, 5.0, 4.0)) == {}


def test_candidate_with_a_verdict_is_matched_before_those_without() -> None:
    known = [stored(1, 320), stored(2, 310, Verdict.FALSE_POSITIVE)]
    assert matched(SPARSE, known, (320, 1.0, 2.0)) == {320: 2}
    assert matched(SPARSE, known, (310, 1.0, 2.0), (320, 1.0, 2.0)) == {310: 2, 320: 1}


def test_candidate_that_the_last_run_found_is_matched_before_withdrawn_ones() -> None:
    known = [stored(1, 300, present=False), stored(2, 330)]
    assert matched(SPARSE, known, (310, 1.0, 2.0)) == {310: 2}
    assert matched(SPARSE, known, (300, 1.0, 2.0)) == {300: 1}


def test_candidates_that_are_found_no_more_are_gone_once() -> None:
    known = [stored(1, 300, Verdict.TRUE_POSITIVE), stored(2, 350, present=False)]
    _, gone = identify(1, results(SPARSE), known, [])
    assert gone == known[:1]


@given(places, places)
def test_match_pairs_each_change_once_and_leaves_no_pair_out(
    old: list[int], new: list[int]
) -> None:
    orders = range(61)
    known = [stored(order, order, among=orders) for order in old]
    actual = match(results(orders), known, [change(place) for place in new])
    assert len(set(actual.values())) == len(actual)
    assert all(abs(old[k] - new[row]) <= 5 for row, k in actual.items())
    left_old = [order for k, order in enumerate(old) if k not in actual.values()]
    left_new = [order for row, order in enumerate(new) if row not in actual]
    assert all(abs(a - b) > 5 for a in left_old for b in left_new)


@given(places)
def test_match_is_the_identity_without_moves(there: list[int]) -> None:
    known = [stored(order, order, among=range(61)) for order in there]
    actual = match(results(range(61)), known, [change(place) for place in there])
    assert actual == {k: k for k in range(len(there))}
