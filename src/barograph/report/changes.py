"""The changes of a history as every output shows them: levels, size, effect and order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from barograph.results.series import UNKNOWN_TIME, ChangePoint, Direction, Series
from barograph.results.sizes import Size, size_at
from barograph.results.wording import (
    BETTER,
    CHANGED,
    TREND,
    WORSE,
    EffectWord,
    change_text,
    day,
    place_text,
    plural,
)

if TYPE_CHECKING:
    from barograph.detection.slow import SlowChange
    from barograph.models.reasons import ReasonText

EFFECTS: tuple[EffectWord, ...] = (WORSE, CHANGED, TREND, BETTER)  # worst first
SLOW = {"drift": "drift", "noise": "noise change"}  # what people call each kind
LOW_PRIORITY = "low_priority"
MOST_HAZARD = 10.0  # from or to a level of 0, or through it
SWITCHES = 4  # changes by which a series switches between two levels
RETURNED = 0.2  # of a step: a level this close to the one before the step is that level again


@dataclass(frozen=True)
class ReportedChange:
    """A change point with what people want to know about it.

    Attributes:
        series: The number of its series in the history.
        point: The change point.
        direction: Which way is better.
        order: The order of the first result of the new level.
        commit: Its commit; empty if unknown.
        time: Its time in milliseconds since 1970, or `UNKNOWN_TIME`.
        subject: The first line of the commit's message; empty if unknown.
        reasons: Why the model gives it this probability; empty if they were not computed.
        switches: All changes by which its series switches between two levels, oldest first, if
            this one stands for them in a list; else empty.
        slow: The drift or change of noise that this is; `point` then has its begin and its levels
            or deviations. None for a step.
    """

    series: int
    point: ChangePoint
    direction: Direction = Direction.UNKNOWN
    order: int = 0
    commit: str = ""
    time: int = UNKNOWN_TIME
    subject: str = ""
    reasons: Sequence[ReasonText] = ()
    switches: Sequence[ReportedChange] = ()
    slow: SlowChange | None = None

    @property
    def size(self) -> Size:
        """Its size, with the levels on both sides."""
        return size_at(self.point)

    @property
    def where(self) -> tuple[str, str]:
        """Its commit or order, and its day; a moment that is its order takes the place of both."""
        place, date = place_text(self.commit, self.order), day(self.time)
        return ("", place) if date and place.startswith(date) else (place, date)

    @property
    def word(self) -> str:
        """What outputs call it: its effect, and what it is if that is no step."""
        if self.slow is None:
            return self.effect
        if self.slow.kind == "noise":
            return "noisier" if self.slow.after > self.slow.before else "steadier"
        return f"drift, {self.effect}"

    @property
    def amount(self) -> str:
        """Its size in percent, or the factor of the noise."""
        before, after, is_trend = self.size
        if self.slow is None or not is_trend or not before:
            return change_text(self.size.percent)
        return f"{float(f'{after / before:.2g}'):g} times"

    @property
    def note(self) -> str:
        """How long a drift or noise lasts, or how often the series switches between two levels."""
        if self.slow is not None:
            kind = "standard deviations, " if self.slow.kind == "noise" else ""
            length = plural(self.slow.end - self.slow.begin, "result")
            return f"{kind}over {length}{' so far' * (self.slow.end == self.point.after.count)}"
        if not self.switches:
            return ""
        last = self.switches[-1]
        place = day(last.time) or f"at {place_text(last.commit, last.order)}"
        return f"{len(self.switches)} switches between these levels, last {place}"

    @property
    def effect(self) -> EffectWord:
        """WORSE, BETTER or TREND, or CHANGED if the direction is unknown."""
        return self.size.effect(self.direction)

    @property
    def rank(self) -> tuple[int, float]:
        """Its place in a list: changes for the worse come first, large ones before small.

        The expected size is |log(after / before)| times the probability, if there is one.
        """
        hazard, probability = self.size.hazard(self.direction), self.point.probability
        size = MOST_HAZARD if hazard is None else min(abs(hazard), MOST_HAZARD)
        return EFFECTS.index(self.effect), -size * (1.0 if probability is None else probability)


@dataclass(frozen=True)
class Findings:
    """The changes that were found in a history.

    Attributes:
        series: All series that were searched.
        changes: The changes of each series, oldest first.
        shortest: Number of points below which a series cannot be searched.
        kinds: What the configuration calls each series, such as `low_priority`; "" for nothing.
            Empty if it names no kinds.
        slow: The drifts and changes of noise of each series; empty if none were searched for.
    """

    series: Sequence[Series]
    changes: Sequence[Sequence[ReportedChange]]
    shortest: int = 0
    kinds: Sequence[str] = ()
    slow: Sequence[Sequence[ReportedChange]] = ()

    @cached_property
    def worst_first(self) -> list[ReportedChange]:
        """All changes: worse, unknown, trends, better; by expected size within each.

        Those of series of low priority come after all others.
        """
        return self._ranked(self.changes)

    @cached_property
    def listed(self) -> list[list[ReportedChange]]:
        """The steps of each series, oldest first, with one for all by which it switches.

        Drifts and changes of noise follow.
        """
        slow = self.slow or [()] * len(self.series)
        pairs = zip(self.changes, slow, strict=True)
        return [[*list_switches_once(changes), *others] for changes, others in pairs]

    @cached_property
    def rows(self) -> list[ReportedChange]:
        """The listed changes of all series, ranked as `worst_first`."""
        return self._ranked(self.listed)

    def _ranked(self, changes: Sequence[Sequence[ReportedChange]]) -> list[ReportedChange]:
        every = [change for of_series in changes for change in of_series]
        return sorted(every, key=lambda change: (self.is_low(change.series), *change.rank))

    def kind_of(self, series: int) -> str:
        """Return what the configuration calls a series, by its number; "" for nothing."""
        return self.kinds[series] if self.kinds else ""

    def is_low(self, series: int) -> bool:
        """Return whether the configuration gives a series, by its number, a low priority."""
        return self.kind_of(series) == LOW_PRIORITY

    @cached_property
    def changed(self) -> list[int]:
        """The numbers of the series that changed, in the order of their worst changes."""
        return list(dict.fromkeys(change.series for change in self.rows))

    def count_slow(self, kind: str) -> int:
        """Return the number of drifts, or of changes of noise."""
        return sum(change.slow is not None and change.slow.kind == kind for change in self.rows)

    @cached_property
    def too_short(self) -> list[int]:
        """The numbers of the series that are too short to be searched."""
        return [k for k, series in enumerate(self.series) if len(series) < self.shortest]

    @cached_property
    def quiet(self) -> list[int]:
        """The numbers of the series that were searched and did not change."""
        left_out = {*self.changed, *self.too_short}
        return [k for k in range(len(self.series)) if k not in left_out]

    def count(self, effect: str) -> int:
        """Return the number of changes with an effect."""
        return sum(change.effect == effect for change in self.worst_first)


def list_switches_once(changes: Sequence[ReportedChange]) -> list[ReportedChange]:
    """Return the changes of a series, with the worst one for all by which it switches.

    A series switches between two levels where at least four changes follow each other of which
    each next one brings the level back to where it was, within a fifth of the step.

    Args:
        changes: The changes, oldest first.
    """
    listed: list[ReportedChange] = []
    first = 0
    for end in range(1, len(changes) + 1):
        if end < len(changes) and _is_undone(changes[end - 1], changes[end]):
            continue
        run, first = changes[first:end], end
        if len(run) >= SWITCHES:
            run = [replace(min(run, key=lambda change: change.rank), switches=run)]
        listed += run
    return listed


def _is_undone(change: ReportedChange, following: ReportedChange) -> bool:
    before, after, _ = change.size
    return abs(following.size.after - before) <= RETURNED * abs(after - before)
