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
    chosen = [best[place] for place in places]
    series, index_ = np.array(places, dtype=np.int64).reshape(-1, 2).T.copy()
    rows = history.offsets[series] + index_
    pairs = [*zip(history.commits[rows], (each.commit for each in chosen), strict=True)]
    differ = sum(point != commit and "" not in (point, commit) for point, commit in pairs)
    corrected["candidates placed by order, whose commit is another"] += differ
    candidates = Candidates(
        series=series,
        index=index_,
        verdict=np.array([each.verdict.value for each in chosen], dtype=np.str_),
        calculated_on=np.array([each.calculated_on for each in chosen], dtype=np.int64),
        triaged_on=np.array([each.triaged_on for each in chosen], dtype=np.int64),
        orders=history.orders[rows],
        commits=Texts.from_strings(point or commit for point, commit in pairs),
        algorithms=Texts.from_strings(each.algorithm for each in chosen),
    )
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
    series = history[number]
    index = series.index_of(judgement.order) if judgement.order is not None else len(series)
    if index < len(series) and series.orders[index] == judgement.order:
        return index, "order"
    if judgement.commit and judgement.commit in series.commits:
        return series.commits.index(judgement.commit), "commit"
    if judgement.time != UNKNOWN_TIME and series.times is not None:
        later = np.flatnonzero(series.times >= judgement.time)
        return (int(later[0]) if later.size else -1), "time"
    return -1, ""


def _rank(judgement: Judgement) -> tuple[bool, int, int]:
    return judgement.verdict.is_final, judgement.triaged_on, judgement.calculated_on
