"""How many alarms a change gets, and how many change points stand close together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from operating_points import measure
from side_by_side import shares

from barograph.detection.online import AlarmStep, Budget, OnlineJudge, PendingSeries, StepKind
from barograph.detection.online.second_look import BEFORE, direction_of
from barograph.detection.online.views import HISTORY
from barograph.learning.online.alarms import Raised, known_within
from barograph.learning.online.truth import Truth
from barograph.models import TriageModel
from barograph.results.series import Floats
from barograph.results.sizes import size_of

CLOSE = 10
LATEST = 1_000_000  # a delay beyond every series


def counted(
    online: TriageModel, confirm: TriageModel, budget: Budget, truth: Truth
) -> dict[str, Any]:
    """Replay the detector over histories and count its alarms.

    Returns:
        `alarms per found change`: alarms in the direction of a change that point within 10 points
        of it, per change that an alarm points at. `close`: the percentage of standing change
        points within 10 of another; `close, same direction`: of another in the same direction.
    """
    parts = np.split(truth.values, truth.offsets[1:-1])
    judge = OnlineJudge(online, confirm, budget)
    seen = judge.judge([PendingSeries(values, 0) for values in parts]).logs
    raised = called(truth, [replayed.steps for replayed in seen])
    point = measure(truth, raised, budget.threshold)
    known = truth.changes[known_within(truth, raised, LATEST)]
    each = [_alarms_of(truth, raised, int(change)) for change in known]
    close = np.array(
        [
            row
            for values, replayed in zip(parts, seen, strict=True)
            for row in _close(values, replayed.change_points)
        ]
    ).reshape(-1, 2)
    withdrawn = [
        first + step.index
        for first, replayed in zip(truth.offsets.tolist(), seen, strict=False)
        for step in replayed.steps
        if step.kind is StepKind.WITHDRAWN
    ]
    return {
        "threshold": budget.threshold,
        "false by place": point.false_by_place,
        "false by time": point.false_by_time,
        "found": list(point.recall),
        "known": list(point.known),
        "alarms per found change": float(np.mean(each)) if each else 0.0,
        "close": 100.0 * float(close[:, 0].mean()) if close.size else 0.0,
        "close, same direction": 100.0 * float(close[:, 1].mean()) if close.size else 0.0,
        "standing": len(close),
        "withdrawn": len(withdrawn),
        "withdrawn near a mark": int(truth.marked[np.array(withdrawn, dtype=np.int64)].sum()),
    }


def row(name: str, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table."""
    shown = {
        key: shares(value) if isinstance(value, list) else value
        for key, value in counts.items()
        if not key.startswith("withdrawn")
    }
    return {"detector": name, **shown}


def called(truth: Truth, steps_by_series: Iterable[Sequence[AlarmStep]]) -> Raised:
    """Return the alarms of all series: the steps that called a change."""
    alarms = [
        (first + step.newest, first + step.index)
        for first, steps in zip(truth.offsets.tolist(), steps_by_series, strict=False)
        for step in steps
        if step.kind is StepKind.CALLED
    ]
    table = np.array(alarms, dtype=np.int64).reshape(-1, 2)
    return Raised(table[:, 0], table[:, 1], np.full(len(table), np.nan))


def percent_of(step: AlarmStep, values: Floats) -> float:
    """Return the change of the level at a step, as far as `gate` knows it."""
    before = values[max(0, step.index - HISTORY) : step.index]
    after = values[step.index : step.newest + 1]
    return size_of(before, after).percent if before.size else 0.0


def _alarms_of(truth: Truth, raised: Raised, change: int) -> int:
    """Count the alarms near a change and in its direction."""
    series = truth.series[change]
    first, end = int(truth.offsets[series]), int(truth.offsets[series + 1])
    near = np.abs(raised.places - change) <= CLOSE
    near &= truth.series[raised.places] == series
    expected = _direction(truth.values, change, first, min(change + CLOSE, end))
    directions = [
        _direction(truth.values, place, first, alarm + 1)
        for alarm, place in zip(
            raised.points[near].tolist(), raised.places[near].tolist(), strict=True
        )
    ]
    return sum(direction * expected >= 0 for direction in directions)


def _close(values: Floats, standing: list[int]) -> list[tuple[bool, bool]]:
    """Return for each change point whether another is close, and one in the same direction."""
    edges = [0, *standing, values.size]
    directions = [
        _direction(values, edges[k], edges[k - 1], min(edges[k] + CLOSE, edges[k + 1]))
        for k in range(1, len(edges) - 1)
    ]
    rows = []
    for k, place in enumerate(standing):
        near = [
            directions[k] * directions[j] >= 0
            for j, other in enumerate(standing)
            if j != k and abs(other - place) <= CLOSE
        ]
        rows.append((bool(near), any(near)))
    return rows


def _direction(values: Floats, place: int, first: int, end: int) -> int:
    before = values[max(first, place - BEFORE) : place]
    return direction_of(before.tolist(), values[place:end].tolist())
