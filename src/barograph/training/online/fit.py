"""Fit one of the two models to part of the histories, and judge the rest of them by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from barograph.detection.online.budget import ALARM_POLICIES
from barograph.errors import NotEnoughDataError
from barograph.parallel import map_threads
from barograph.series import Floats, Ints
from barograph.training.online.extra_positives import Scarce
from barograph.training.online.rows import WIDTH, WINDOWS, Rows, Singles, lesson, rows_of
from barograph.training.online.truth import Flags, Truth

FOLDS = 5
THREADS = 2
USES: Mapping[str, tuple[int, ...]] = {"online": (0,), "confirm": WINDOWS[1:]}
# Windows that raise no alarm need tail rates alone: where there are many points, one in so many.
SPARSE, MANY = 5, 20_000
ALARMING = frozenset(window for weights in ALARM_POLICIES.values() for window in weights)
STEEPEST = 0.3

Make = Callable[[int], Any]
Lesson = tuple[Singles, Ints, Floats]


def boosted(seed: int, *, trees: int = 400, threads: int = 1) -> Any:
    """Return shallow boosted trees on three tenths of the columns each."""
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=trees,
        max_depth=4,
        learning_rate=min(STEEPEST, 15.0 / trees),
        subsample=0.7,
        colsample_bytree=0.3,
        min_child_weight=3,
        reg_lambda=3,
        max_bin=64,
        n_jobs=threads,
        random_state=seed,
    )


@dataclass(frozen=True)
class Prior:
    """Further histories to learn from, each row of them at a lower weight."""

    truth: Truth
    weight: float

    def lessons(self, seed: int) -> dict[str, Lesson]:
        """Return the rows of each use."""
        everything = np.ones(self.truth.values.size, dtype=np.bool_)
        result = {}
        for use, windows in USES.items():
            parts = [rows_of(self.truth, window) for window in windows]
            X, y, weights = lesson(parts, everything, use, np.random.default_rng(seed))
            result[use] = X, y, self.weight * weights
        return result


@dataclass(frozen=True)
class Fitter:
    """Fits the model of a use to any part of the points.

    Attributes:
        parts: the rows of each window.
        scarce: more rows of changes, for window 0.
        further: what is learned from in any case, by use.
        make: makes an unfitted classifier from a seed.
        seed: of all that is drawn.
    """

    parts: Mapping[int, Rows]
    scarce: Scarce
    further: Mapping[str, Lesson]
    make: Make
    seed: int

    def fitted(self, use: str, allowed: Flags) -> Any:
        """Fit the model of a use to the points allowed."""
        chosen = [self.parts[window] for window in USES[use]]
        lessons = [lesson(chosen, allowed, use, np.random.default_rng(self.seed))]
        lessons += [self.scarce.lesson(allowed)] if use == "online" else []
        lessons += [self.further[use]] if use in self.further else []
        X, y, weights = (np.concatenate(column) for column in zip(*lessons, strict=True))
        if np.unique(y).size < 2:
            raise NotEnoughDataError(f"{int(y.sum())} changes in {y.size} points: nothing to learn")
        return self.make(self.seed).fit(X, y, sample_weight=weights)

    def held_out(self, truth: Truth, allowed: Flags) -> dict[int, Floats]:
        """Return each newest point's probability by models that saw no series of its group.

        It is -1 where there is none: before the first row, of points that are not allowed, and,
        where there are many, of most points in windows that raise no alarm.
        """
        count = np.unique(truth.groups).size
        if count < 2:
            raise NotEnoughDataError(
                f"{count} group of series: nothing could be held out; 2 are needed"
            )
        folds = GroupKFold(min(FOLDS, count), shuffle=True, random_state=self.seed)
        result = {window: np.full(truth.values.size, -1.0) for window in self.parts}

        def judge(train: Ints) -> None:
            inside = np.isin(truth.series, train)
            for use, windows in USES.items():
                model = self.fitted(use, inside & allowed)
                for window in windows:
                    part = self.parts[window]
                    rest = ~inside[part.splits] & allowed[part.newest]
                    if window not in ALARMING and truth.values.size > MANY:
                        rest &= part.splits % SPARSE == 0
                    if rest.any():
                        given = model.predict_proba(part.X[rest, : WIDTH[use]])[:, 1]
                        result[window][part.newest[rest]] = given

        series = np.arange(truth.groups.size)
        # Each fold writes where no other does; trees let go of the interpreter while they grow.
        parts = [train for train, _ in folds.split(series, groups=truth.groups)]
        map_threads(judge, parts, threads=THREADS)
        return result
