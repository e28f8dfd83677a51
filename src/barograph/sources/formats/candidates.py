"""Place the verdicts of people at the points of a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from barograph.results.candidates import Candidates
from barograph.results.history import History
from barograph.results.repeats import Results
from barograph.results.series import UNKNOWN_TIME, SeriesId
from barograph.results.texts import Texts
from barograph.sources.formats.base import Judgement
from barograph.sources.report import Place, Skip

NO_POINT = "no such point"
FIRST_POINT = "the first point of a series cannot be a change"


def candidates_of(
    history: History, results: Results, judgements: Sequence[tuple[int, Judgement]]
) -> tuple[History, list[Skip]]:
    """Return the history with its candidates, and the verdicts that have no place in it.

    Args:
        history: The history of the results.
        results: The results with their orders, which positions in a file refer to.
        judgements: The number of the file, and the verdict.
    """
    known = {name: number for number, name in enumerate(history.ids)}
    numbers = [_number(known, judgement.series) for _, judgement in judgements]
    ordered = []
    for owner, (source, judgement) in zip(numbers, judgements, strict=True):
        order, position = judgement.order, judgement.position
        if order is None and position is not None:
            rows = np.flatnonzero((results.owners == owner) & (results.sources == source))
            order = int(results.orders[rows[position]]) if 0 <= position < rows.size else None
        ordered.append(judgement._replace(order=order))
    candidates, unplaced, _ = place_candidates(history, numbers, ordered)
    skips = []
    for number, reason in unplaced:
        source, judgement = judgements[number]
        place = Place(results.files[source].name, 0)
        skips.append(Skip(place, judgement.where, str(judgement.series), reason, "candidates"))
    return replace(history, candidates=candidates), skips


def place_candidates(
    history: History, numbers: Sequence[int], judgements: Sequence[Judgement]
) -> tuple[Candidates, list[tuple[int, str]], Counter[str]]:
    """Place verdicts at the points of a history: by order, else by commit, else by time.

    Of several verdicts on one point a final one is preferred, then the one triaged later,
    calculated later, and listed later.

    Args:
        history: The history.
        numbers: The number of the series of each verdict, -1 if it has none.
        judgements: The verdicts, without positions.

    Returns:
        The candidates, the numbers of the verdicts that have no place and why, and counts of what
        was corrected.
    """
    best: dict[tuple[int, int], Judgement] = {}
    unplaced: list[tuple[int, str]] = []
    corrected: Counter[str] = Counter()
    for place, (number, judgement) in enumerate(zip(numbers, judgements, strict=True)):
        index, way = (-1, "") if number < 0 else _index(history, number, judgement)
        corrected[f"candidates placed by their {way}"] += way == "commit"
        if index < 1:
            unplaced.append((place, NO_POINT if index < 0 else FIRST_POINT))
            continue
        before = best.get((number, index))
        corrected["duplicate candidates, one kept"] += before is not None
        if before is None or _rank(judgement) >= _rank(before):
            best[number, index] = judgement
    places = sorted(best)
    candidates, differ = _columns(history, places, [best[place] for place in places])
    corrected["candidates placed by order, whose commit is another"] += differ
    return candidates, unplaced, +corrected


def _number(known: dict[SeriesId, int], name: SeriesId) -> int:
    """Return the number of a series, also if the options gave it a project or a machine."""
    if name in known:
        return known[name]
    matching = [
        number
        for other, number in known.items()
        if replace(other, project=name.project, variant=name.variant) == name
    ]
    return matching[0] if len(matching) == 1 else -1


def _index(history: History, number: int, judgement: Judgement) -> tuple[int, str]:
    """Return the index of a verdict in its series, -1 if there is none, and what it is known by."""
    low, high = int(history.offsets[number]), int(history.offsets[number + 1])
    if judgement.order is not None:
        place = low + int(np.searchsorted(history.orders[low:high], judgement.order))
        if place < high and history.orders[place] == judgement.order:
            return place - low, "order"
    if judgement.commit:
        commits = list(history.commits[low:high])
        if judgement.commit in commits:
            return commits.index(judgement.commit), "commit"
    if judgement.time != UNKNOWN_TIME:
        later = np.flatnonzero(history.times[low:high] >= judgement.time)
        return (int(later[0]) if later.size else -1), "time"
    return -1, ""


def _rank(judgement: Judgement) -> tuple[bool, int, int]:
    return judgement.verdict.is_final, judgement.triaged_on, judgement.calculated_on


def _columns(
    history: History, places: Sequence[tuple[int, int]], chosen: Sequence[Judgement]
) -> tuple[Candidates, int]:
    """Return the candidates, and how many name another commit than their point."""
    series, index = np.array(places, dtype=np.int64).reshape(-1, 2).T.copy()
    rows = history.offsets[series] + index
    stated = [candidate.commit for candidate in chosen]
    pairs = list(zip(history.commits[rows], stated, strict=True))
    differ = sum(point != commit and "" not in (point, commit) for point, commit in pairs)
    candidates = Candidates(
        series=series,
        index=index,
        verdict=np.array([candidate.verdict.value for candidate in chosen], dtype=np.str_),
        calculated_on=np.array([candidate.calculated_on for candidate in chosen], dtype=np.int64),
        triaged_on=np.array([candidate.triaged_on for candidate in chosen], dtype=np.int64),
        orders=history.orders[rows],
        commits=Texts.from_strings(point or commit for point, commit in pairs),
        algorithms=Texts.from_strings([candidate.algorithm for candidate in chosen]),
    )
    return candidates, differ
