"""The online detector: a verdict on the newest commit alone (Bauer et al. 2022, Algorithm 1)."""

from collections import deque
from functools import partial

import numpy as np

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import Decision, Kind, Step, reasons
from barograph.detection.online.recent import HISTORY, Recent
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.second_look import LOOKS, REPEAT, Look, SecondLook
from barograph.errors import ConfigError
from barograph.series import Floats, as_float

SHORTEST_HISTORY = 64


class OnlineDetector:
    """Judge each point of one series as it lands; no later point is ever needed.

    Alone, this is Algorithm 1: a model of window 0 judges the newest point. Pre runs from the last
    change point found to just before it; a model of the feature set `online` knows the current
    regime from the values alone. With `confirm`, a model of windows 1 to 10 looks again as points
    arrive: change points are confirmed, moved or withdrawn, and alarms of all windows share one
    budget.

    Args:
        model: judges the newest point.
        confirm: judges points that others have followed.
        budget: how the windows share the alarms; by default as released with the models, for
            three false alarms in a thousand points.
        history: how many values are kept at most, at least half of them at any time; and how many
            change points, and how many steps.
    """

    def __init__(
        self,
        model: Scorer,
        confirm: Scorer | None = None,
        *,
        budget: Budget | None = None,
        history: int = HISTORY,
    ) -> None:
        if history < SHORTEST_HISTORY:
            raise ConfigError(f"history is {history}: it must be {SHORTEST_HISTORY} or more")
        if confirm is None and budget is not None:
            raise ConfigError("a budget is shared between windows: it needs a confirming model")
        self._model, self._confirm = model, confirm
        sets = (model.feature_set,) if confirm is None else (model.feature_set, confirm.feature_set)
        self._recent = Recent(history, sets)
        self._most = history
        self._change_points: list[int] = []
        self._steps: deque[Step] = deque(maxlen=history)
        self._second: SecondLook | None = None
        if confirm is not None:
            self._budget = budget or Budget.released(model, confirm)
            self._second = SecondLook(self._budget)
        self._seen: deque[list[Look]] = deque(maxlen=LOOKS[-1] + 1)

    @property
    def change_points(self) -> list[int]:
        """The indices that stand now, rising; the last of them, as many as `history` says."""
        return list(self._change_points)

    @property
    def steps(self) -> list[Step]:
        """What was called, confirmed, moved or withdrawn last, in order; as `history` bounds it."""
        return list(self._steps)

    def __len__(self) -> int:
        """How many values have landed."""
        return self._recent.count

    def update(self, value: float) -> Decision:
        """Take the newest value and say whether a new regime begins with it, or just began.

        Raises:
            DataError: the value is no finite number; the detector is as before.
        """
        self._recent.append(as_float(value, self._recent.count))
        if self._second is None:
            return self._first_look(len(self) - 1)
        return self._look_again(self._second, len(self) - 1)

    def _first_look(self, at: int) -> Decision:
        """Algorithm 1."""
        if at < self._recent.first(self._model.feature_set):
            return Decision(at, at, 0.0, is_change=False)
        row = self._row(self._model, 0, at)
        probability = float(self._model.predict_proba(row[None, :])[0, 1])
        step = Step(Kind.CALLED, at, at, probability)
        called = probability >= self._model.threshold
        if called:
            self._record([step])
        explain = partial(reasons, self._model, row)
        return Decision(at, at, probability, called, (step,) if called else (), explain)

    def _look_again(self, second: SecondLook, at: int) -> Decision:
        """Look at the newest point and at those before it."""
        wanted = second.wanted(at, self._recent.first(self._model.feature_set))
        rows = {(w, s): self._row(self._of(w), w, s) for w, s in wanted}
        looks = self._looks(rows)
        alarm, steps = second.see(at, looks)
        self._record(steps)
        redone = self._redo(at, steps)
        steps += redone
        self._learn(at, looks)
        if alarm is None and redone:
            last = redone[-1]
            row = self._row(self._model, 0, last.index)
            explain = partial(reasons, self._model, row)
            return Decision(last.index, at, last.probability, True, tuple(steps), explain)
        shown = alarm or next(iter(looks), None)
        if shown is None:
            return Decision(at, at, 0.0, is_change=False)
        row = rows[shown.window, shown.split]
        explain = partial(reasons, self._of(shown.window), row)
        return Decision(
            shown.split, at, shown.probability, alarm is not None, tuple(steps), explain
        )

    def _looks(self, rows: dict[tuple[int, int], Floats]) -> list[Look]:
        """Ask each model once for all of its rows."""
        looks = []
        for newest in (True, False):
            part = [key for key in rows if (key[0] == 0) is newest]
            if not part:
                continue
            model = self._of(0 if newest else 1)
            given = model.predict_proba(np.array([rows[key] for key in part]))[:, 1]
            for (window, split), probability in zip(part, given.tolist(), strict=True):
                surprise = self._budget.surprise(window, probability)
                looks.append(Look(window, split, probability, surprise))
        return looks

    def _learn(self, at: int, looks: list[Look]) -> None:
        """Let the platform learn from a point that is known to be quiet by now."""
        if self._budget.platform is None:
            return
        self._seen.append(looks)
        then = at - LOOKS[-1]
        if any(abs(c - then) <= REPEAT for c in self._change_points[-LOOKS[-1] :]):
            return
        for look in self._seen[0] if len(self._seen) > LOOKS[-1] else []:
            nominal = self._budget.tails[look.window].surprise(look.probability)
            self._budget.platform.observe(look.window, float(nominal))

    def _of(self, window: int) -> Scorer:
        """Return the model of a window."""
        return self._model if window == 0 or self._confirm is None else self._confirm

    def _row(self, model: Scorer, window: int, split: int) -> Floats:
        """Describe a point, with Pre from the change point that stands before it."""
        start = next((c for c in reversed(self._change_points) if c < split), 0)
        return self._recent.row(model.feature_set, start, split, split + window + 1)

    def _record(self, steps: list[Step]) -> None:
        """Note the steps, and let the change points follow them."""
        for step in steps:
            gone = step.index if step.kind is Kind.WITHDRAWN else step.moved_from
            if gone in self._change_points:
                self._change_points.remove(gone)
            if step.kind in (Kind.CALLED, Kind.MOVED) and step.index not in self._change_points:
                # One that is left out lies before every value that is kept: no Pre starts there.
                known = sorted([*self._change_points, step.index])
                self._change_points = known[-self._most :]
        self._steps += steps

    def _redo(self, at: int, steps: list[Step]) -> list[Step]:
        """Decide anew on the points behind a change point that is gone: their Pre is another."""
        gone = [
            step.index if step.moved_from is None else min(step.index, step.moved_from)
            for step in steps
            if step.kind in (Kind.WITHDRAWN, Kind.MOVED)
        ]
        if (
            not gone
            or 0 not in self._budget.weights
            or not self._recent.by_change_points(self._model.feature_set)
        ):
            return []
        redone: list[Step] = []
        for split in range(min(gone) + 1, at + 1):
            if split in self._change_points:
                continue
            row = self._row(self._model, 0, split)
            probability = float(self._model.predict_proba(row[None, :])[0, 1])
            score = self._budget.score(0, self._budget.surprise(0, probability))
            if score >= self._budget.threshold:
                redone.append(Step(Kind.CALLED, split, at, probability))
                self._record(redone[-1:])
        return redone
