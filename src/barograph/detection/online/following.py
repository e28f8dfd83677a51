"""The second look over many series in batches: what can matter is judged, the rest passed over."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import Step
from barograph.detection.online.newest import in_parts
from barograph.detection.online.rounds import Flags
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.second_look import LOOKS, Look, SecondLook, Standing
from barograph.detection.online.sight import OF_THE_REGIME, RegimeSight
from barograph.errors import ConfigError
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.series import Floats, Ints


@dataclass(frozen=True)
class Landed:
    """Points of many series that landed, and the values that are read as each of them does.

    Attributes:
        values: all series, one behind the other.
        newest: the points to look at, series after series, rising, without a gap in any.
        bounds: where the points of each series begin in `newest`, and the end of the last.
        places: of each point in its own series.
        starts: the first value that is read as each point lands.
    """

    values: Floats
    newest: Ints
    bounds: Ints
    places: Ints
    starts: Ints


@dataclass(frozen=True)
class Followed:
    """What the second look did to one series; all by places in it.

    Attributes:
        alarms: the points at which an alarm was raised.
        steps: what happened, in order.
        after: what stood after each step.
        standing: what the next look has to know; None where nothing stands.
    """

    alarms: list[int]
    steps: list[Step]
    after: list[Standing]
    standing: Standing | None


NOTHING = Followed([], [], [], None)


def check_pair(model: Scorer, confirm: Scorer, budget: Budget) -> None:
    """Refuse models and budgets with which batches could not answer as single points do."""
    for one in (model, confirm):
        if one.feature_set not in OF_THE_REGIME:
            raise ConfigError(
                f"the feature set {one.feature_set!r} depends on what was called before: replay "
                f"with a second look needs one of {', '.join(OF_THE_REGIME)}"
            )
    if budget.platform is not None:
        raise ConfigError("a platform that learns depends on the order of all series: not replayed")


def look_again(
    model: Scorer,
    confirm: Scorer,
    landed: Landed,
    budget: Budget,
    standing: Sequence[Standing | None],
    *,
    threads: int | None = 1,
) -> tuple[Floats, list[Followed]]:
    """Compute all looks that can matter, then let the second look of each series take its way.

    Args:
        model: judges the newest point.
        confirm: judges points that others have followed.
        landed: the points to look at.
        budget: whose alarms count how much.
        standing: of each series, what stood before its first point.
        threads: for the features; one on each usable core if None.

    Returns:
        The probability of each point as it was the newest, 0 where it was not judged; and what
        became of each series.
    """
    view = _View(model, confirm, landed, budget, threads)
    before = np.zeros(landed.values.size, dtype=np.bool_)
    for k, one in enumerate(standing):
        if one is not None and one.change is not None:
            low = int(landed.bounds[k])
            split = int(landed.newest[low] - landed.places[low]) + one.change
            before[max(split, 0)] = True
    every: dict[int, Flags | None] = dict.fromkeys((0, *budget.weights))
    view.judge(every | _others(budget, before))
    hot, splits = view.hot()
    view.judge(_others(budget, splits & ~before))
    watched = np.array([one is not None for one in standing], dtype=np.bool_)
    followed = [
        view.followed(hot[low:high], slice(low, high), one) if busy else NOTHING
        for (low, high), one, busy in zip(
            pairwise(landed.bounds.tolist()),
            standing,
            (watched | _any(hot, landed.bounds)).tolist(),
            strict=True,
        )
    ]
    return view.newest, followed


def _others(budget: Budget, splits: Flags) -> dict[int, Flags | None]:
    """The windows that raise no alarm but judge those that stand, at some splits alone."""
    if not splits.any():
        return {}
    return {window: splits for window in LOOKS if window not in budget.weights}


def _any(hot: Flags, bounds: Ints) -> Flags:
    """Whether anything is hot in each series."""
    total = np.concatenate([[0], np.cumsum(hot)])
    result: Flags = total[bounds[1:]] > total[bounds[:-1]]
    return result


class _View:
    """The probabilities and surprises of all windows, by newest point; NaN where nobody asked."""

    def __init__(
        self,
        model: Scorer,
        confirm: Scorer,
        landed: Landed,
        budget: Budget,
        threads: int | None,
    ) -> None:
        self._model, self._confirm = model, confirm
        self._landed, self._budget, self._threads = landed, budget, threads
        self._judged: dict[int, Floats] = {}
        self._surprises: dict[int, Floats] = {}

    @property
    def newest(self) -> Floats:
        """The probability of each point as it was the newest; 0 where it was not judged."""
        return np.nan_to_num(self._judged[0], nan=0.0)

    def judge(self, wanted: Mapping[int, Flags | None]) -> None:
        """Judge all windows together, each at all splits or at some.

        Windows of one point read the same history: together they take one way through it.
        """
        if not wanted:
            return
        landed = self._landed
        asked = {}
        for window, splits in wanted.items():
            here = landed.places >= RegimeSight.first + window
            if splits is not None:
                here &= splits[np.maximum(landed.newest - window, 0)]
            asked[window] = np.flatnonzero(here)
        rows = np.concatenate([np.empty(0, dtype=np.int64), *asked.values()])
        back = np.repeat(list(asked), [one.size for one in asked.values()])
        order = np.lexsort((landed.newest[rows] - back, landed.starts[rows]))
        found = np.empty(rows.size)
        found[order] = in_parts(
            lambda part: self._said(rows[order[part]], back[order[part]]),
            *(rows.size, self._threads),
        )
        for window, mine in asked.items():
            kept = self._judged.setdefault(window, np.full(landed.newest.size, np.nan))
            surprise = self._surprises.setdefault(window, np.full(landed.newest.size, np.nan))
            said = found[back == window]
            kept[mine] = said
            surprise[mine] = self._budget.tails[window].surprise(said)

    def _said(self, rows: Ints, back: Ints) -> Floats:
        """Ask each model once for the points that landed at `rows`, so many points back."""
        landed, ends = self._landed, self._landed.newest[rows] + 1
        starts = landed.starts[rows]
        low, high = int(starts.min()), int(ends.max())
        bounds = starts - low, ends - back - 1 - low, ends - low
        values = landed.values[low:high]
        matrix = feature_matrix(values, *bounds, "confirm", threads=1)
        said = np.empty(rows.size)
        for model, mine in ((self._model, back == 0), (self._confirm, back > 0)):
            if mine.any():  # the columns of `online` are the first ones of `confirm`
                columns = len(FEATURE_SETS[model.feature_set])
                part = np.ascontiguousarray(matrix[mine, :columns])
                said[mine] = model.predict_proba(part)[:, 1]
        return said

    def hot(self) -> tuple[Flags, Flags]:
        """The points at which a score reaches the threshold, and the splits that it speaks of."""
        landed, budget = self._landed, self._budget
        hot = np.zeros(landed.newest.size, dtype=np.bool_)
        splits = np.zeros(landed.values.size, dtype=np.bool_)
        for window, weight in budget.weights.items():
            above = self._surprises[window] + math.log(weight) >= budget.threshold
            above &= landed.places >= RegimeSight.first + window
            hot |= above
            splits[landed.newest[above] - window] = True
        return hot, splits

    def followed(self, hot: Flags, part: slice, before: Standing | None) -> Followed:
        """Let the second look see all points of one series at which something can happen."""
        second = SecondLook(self._budget, before)
        alarms: list[int] = []
        steps: list[Step] = []
        after: list[Standing] = []
        place, row = int(self._landed.places[part.start]), -1
        while (row := _next(hot, row + 1, place, second)) < hot.size:
            at = place + row
            looks = [
                Look(window, split, *self._seen(window, part.start + row))
                for window, split in second.wanted(at, RegimeSight.first)
            ]
            alarm, seen = second.see(at, looks)
            steps += seen
            after += [second.standing] * len(seen)
            alarms += [at] if alarm is not None else []
        return Followed(alarms, steps, after, second.standing_at(place + hot.size))

    def _seen(self, window: int, row: int) -> tuple[float, float]:
        return float(self._judged[window][row]), float(self._surprises[window][row])


def _next(hot: Flags, row: int, place: int, second: SecondLook) -> int:
    """Return the next point at which something can happen."""
    if row >= hot.size or second.is_watching(place + row):
        return row
    ahead = hot[row:]
    return row + (int(ahead.argmax()) if ahead.any() else ahead.size)
