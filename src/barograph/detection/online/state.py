"""The state of an online detector, as JSON.

A saved state is that from before the newest commit, with the runs of that commit: the detector
decides on them again when it is restored, so it continues with the same decisions, to the bit.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any, Self

import msgspec

from barograph.detection.online.decision import StepKind
from barograph.detection.online.second_look import AlarmState
from barograph.detection.online.views import kept_from
from barograph.results.series import as_floats, require_finite
from barograph.runtime.errors import DataError

FORMAT, FORMAT_VERSION = "barograph-online-detector", 1


class SavedState(msgspec.Struct):
    """A detector's state from before the newest commit, and the runs of that commit.

    Attributes:
        models: The versions of the models.
        budget: The version of the alarm budget; None in states of a single model.
        history: Maximum number of values to keep.
        count: Number of values before the newest commit.
        values: The kept values before the newest commit.
        runs: The runs of the newest commit; empty before the first value.
        alarm: The standing change, by the names of `AlarmState`.
        steps: The last steps, in order.
    """

    models: list[str]
    budget: str | None
    history: Annotated[int, msgspec.Meta(ge=2, le=sys.maxsize)]
    count: Annotated[int, msgspec.Meta(ge=0)]
    values: list[float]
    runs: list[float]
    alarm: dict[str, Any] | None
    steps: list[tuple[StepKind, int, int, float, int | None]]

    @property
    def alarm_state(self) -> AlarmState | None:
        """The standing change."""
        if self.alarm is None:
            return None
        fields = [self.alarm[name] for name in AlarmState._fields]
        return msgspec.convert(fields, AlarmState)

    @classmethod
    def from_json(cls, state: Any) -> Self:
        """Restore the result of `OnlineDetector.state`.

        Raises:
            DataError: It is no such state, of another version, or damaged.
        """
        if not isinstance(state, Mapping) or state.get("format") != FORMAT:
            raise DataError(f"not the state of an online detector: its format is not {FORMAT!r}")
        if state.get("format_version") != FORMAT_VERSION:
            raise DataError(
                f"the state has the format version {state.get('format_version')!r}; this program "
                f"reads version {FORMAT_VERSION}"
            )
        try:
            saved = msgspec.convert(state, cls)
            _check(saved)
        except (KeyError, ValueError, ArithmeticError) as error:
            raise DataError(f"the state of the online detector is damaged: {error}") from error
        return saved


def _check(saved: SavedState) -> None:
    """Raise a `ValueError` if values are missing or a change is not among them."""
    require_finite(as_floats(saved.values))
    require_finite(as_floats(saved.runs), "runs")
    kept = saved.count - (kept_from(saved.count, saved.history) if saved.count else 0)
    if len(saved.values) != kept:
        raise ValueError(f"{len(saved.values)} values of {saved.count} cannot be the kept ones")
    change = None if saved.alarm_state is None else saved.alarm_state.change
    for place in [*(step[1] for step in saved.steps), 0 if change is None else change]:
        if not 0 <= place < max(saved.count, 1):
            raise ValueError(f"a change at {place} is not within {saved.count} values")
