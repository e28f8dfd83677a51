"""A verdict is placed at a point by order, position, commit or time, in that order."""

from __future__ import annotations

from typing import Any

import pytest

from barograph.results.candidates import Candidates
from barograph.results.history import History
from barograph.results.series import SeriesId, Verdict
from barograph.sources.formats.base import Judgement, ReadOptions
from barograph.sources.formats.candidates import FIRST_POINT, NO_POINT, candidates_of
from barograph.sources.report import Skip
from tests.sources.formats.collecting import collected, result

REAL, NOISE = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE
SERIES = SeriesId("", "", "", "a", "")
# Listed newest first, as some tools do.
POINTS = [result(k, order=10 * k, commit=f"c{k}", time=1000 * k) for k in (4, 3, 2, 1)]


def judged(verdict: Verdict = REAL, series: SeriesId = SERIES, **fields: Any) -> Judgement:
    return Judgement(series, verdict, "line 7", **fields)


def placed(
    *judgements: Judgement, options: ReadOptions | None = None, source: int = 0
) -> tuple[Candidates, list[Skip]]:
    """Place verdicts of a file in the history of `POINTS`."""
    results = collected(POINTS, [result(9, "b", order=5)], options=options)
    history, _, _ = History.from_results(results)
    pairs = [(source, judgement) for judgement in judgements]
    candidates, skips = candidates_of(history, results, pairs)
    return candidates.candidates, skips


@pytest.mark.parametrize(
    ("fields", "index"),
    [
        ({"order": 30}, 2),
        ({"order": 30, "commit": "c2"}, 2),
        ({"order": 31, "commit": "c2"}, 1),
        ({"position": 0}, 3),
        ({"commit": "c4"}, 3),
        ({"commit": "gone", "time": 2000}, 1),
        ({"time": 2001}, 2),
    ],
)
def test_verdict_is_placed(fields: dict[str, Any], index: int) -> None:
    placed_points, skips = placed(judged(**fields))
    assert (placed_points.index.tolist(), skips) == ([index], [])
    assert list(placed_points.commits) == [f"c{index + 1}"]
    assert placed_points.orders.tolist() == [10 * (index + 1)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"order": 31}, NO_POINT),
        ({"order": 50}, NO_POINT),
        ({"position": 4}, NO_POINT),
        ({"position": -1}, NO_POINT),
        ({"commit": "gone"}, NO_POINT),
        ({"time": 9000}, NO_POINT),
        ({}, NO_POINT),
        ({"order": 10}, FIRST_POINT),
    ],
)
def test_verdict_without_a_place_is_skipped_with_the_reason(
    fields: dict[str, Any], reason: str
) -> None:
    placed_points, [skip] = placed(judged(**fields))
    assert (len(placed_points.index), skip.reason, skip.kind) == (0, reason, "candidates")
    assert (skip.place.file, skip.field) == ("file0", "line 7")


def test_position_counts_in_the_file_of_the_verdict() -> None:
    _, [skip] = placed(judged(position=1), source=1)
    assert (skip.reason, skip.place.file) == (NO_POINT, "file1")


def test_verdict_of_an_unknown_series_is_skipped() -> None:
    _, [skip] = placed(judged(series=SeriesId("", "", "", "z", ""), order=20))
    assert skip.reason == NO_POINT


def test_verdict_finds_its_series_though_options_named_the_machine() -> None:
    options = ReadOptions(project="p", machine="m")
    placed_points, skips = placed(judged(order=20), options=options)
    assert (placed_points.index.tolist(), skips) == ([1], [])


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ((REAL, 1), (NOISE, 2), NOISE),
        ((REAL, 2), (NOISE, 1), REAL),
        ((REAL, 1), (Verdict.NOT_TRIAGED, 2), REAL),
        ((Verdict.UNDER_INVESTIGATION, 9), (NOISE, 1), NOISE),
        ((REAL, 1), (NOISE, 1), NOISE),
    ],
)
def test_of_several_verdicts_on_a_point_the_final_then_the_later_is_kept(
    first: tuple[Verdict, int], second: tuple[Verdict, int], kept: Verdict
) -> None:
    placed_points, _ = placed(
        *(judged(item, order=20, triaged_on=on) for item, on in (first, second))
    )
    assert placed_points.verdict.tolist() == [kept.value]


def test_candidates_are_sorted_by_series_and_index() -> None:
    placed_points, _ = placed(
        judged(NOISE, order=40, algorithm="E"), judged(order=20, calculated_on=3)
    )
    assert placed_points.index.tolist() == [1, 3]
    assert (list(placed_points.algorithms), placed_points.calculated_on.tolist()[0]) == (
        ["", "E"],
        3,
    )
