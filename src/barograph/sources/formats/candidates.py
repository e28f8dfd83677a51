"""Place the verdicts of files at the points of a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from barograph.candidates import Candidates
from barograph.history import History
from barograph.series import UNKNOWN_TIME, Ints, SeriesId
from barograph.sources.formats.base import Judgement
from barograph.sources.formats.collected import Collected
from barograph.sources.report import Place, Skip
from barograph.texts import Texts

NO_POINT = "no such point"
FIRST_POINT = "the first point of a series cannot be a change"


def candidates_of(
    history: History,
    results: Collected,
    orders: Ints,
    judgements: Sequence[tuple[int, Judgement]],
) -> tuple[History, list[Skip]]:
    """Return the history with its candidates, and the verdicts that have no place in it.

    Of several verdicts on one point a final one is preferred, then the later one.

    Args:
        history: The history of the results.
        results: The results, which positions in a file refer to.
        orders: The order of each result.
        judgements: The number of the file, and the verdict.
    """
    if not judgements:
        return history, []
    numbers = {name: number for number, name in enumerate(history.ids)}
    best: dict[tuple[int, int], Judgement] = {}
    skips: list[Skip] = []
    for source, judgement in judgements:
        number = _number(numbers, judgement.series)
        index = -1 if number < 0 else _index(history, number, source, judgement, results, orders)
        if index < 1:
            reason = NO_POINT if index < 0 else FIRST_POINT
            place = Place(results.files[source].name, 0)
            skips.append(Skip(place, judgement.where, str(judgement.series), reason, "candidates"))
            continue
        before = best.get((number, index))
        if before is None or _rank(judgement) >= _rank(before):
            best[number, index] = judgement
    return replace(history, candidates=_columns(history, best)), skips


def _number(numbers: dict[SeriesId, int], name: SeriesId) -> int:
    """Return the number of a series, also if the options gave it a project or a machine."""
    if name in numbers:
        return numbers[name]
    matching = [
        number
        for known, number in numbers.items()
        if replace(known, project=name.project, variant=name.variant) == name
    ]
    return matching[0] if len(matching) == 1 else -1


def _index(
    history: History,
    number: int,
    source: int,
    judgement: Judgement,
    results: Collected,
    orders: Ints,
) -> int:
    """Return the index of a verdict in its series, -1 if there is none."""
    low, high = int(history.offsets[number]), int(history.offsets[number + 1])
    order = judgement.order
    if order is None and judgement.position is not None:
        rows = np.flatnonzero((results.owners == number) & (results.sources == source))
        if not 0 <= judgement.position < rows.size:
            return -1
        order = int(orders[rows[judgement.position]])
    if order is not None:
        place = int(np.searchsorted(history.orders[low:high], order))
        if place < high - low and history.orders[low + place] == order:
            return place
    if judgement.commit:
        commits = list(history.commits[low:high])
        if judgement.commit in commits:
            return commits.index(judgement.commit)
    if judgement.time != UNKNOWN_TIME:
        later = np.flatnonzero(history.times[low:high] >= judgement.time)
        return int(later[0]) if later.size else -1
    return -1


def _rank(judgement: Judgement) -> tuple[bool, int, int]:
    return judgement.verdict.is_final, judgement.triaged_on, judgement.calculated_on


def _columns(history: History, best: dict[tuple[int, int], Judgement]) -> Candidates:
    places = sorted(best)
    chosen = [best[place] for place in places]
    series = np.array([number for number, _ in places], dtype=np.int64)
    index = np.array([place for _, place in places], dtype=np.int64)
    rows = history.offsets[series] + index
    return Candidates(
        series=series,
        index=index,
        verdict=np.array([candidate.verdict.value for candidate in chosen], dtype=np.str_),
        calculated_on=np.array([candidate.calculated_on for candidate in chosen], dtype=np.int64),
        triaged_on=np.array([candidate.triaged_on for candidate in chosen], dtype=np.int64),
        orders=history.orders[rows],
        commits=history.commits.take(rows),
        algorithms=Texts.from_strings([candidate.algorithm for candidate in chosen]),
    )
