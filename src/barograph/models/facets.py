"""What groups of features say, in sentences: one facet for each property that people talk about.

Many features measure one property in different ways, so a facet owns several columns. Its sentence
quotes the column that contributes most. docs/features-contrasts.md and docs/online.md define the
columns. Columns of other feature sets have no facet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from barograph.features import FEATURE_SETS
from barograph.results.sizes import Size

MANY = 1000.0  # noise units: beyond, the exact number says nothing
SAME_NOISE = 1.5  # ratio of two noises that count as equal
FLAT = 0.15  # rise of a level that counts as none, as a share of step and noise
RELATED = 0.2  # correlation of neighbours that counts as some
RECENT = 100  # results that the columns ending in _100 look back on


@dataclass(frozen=True)
class FeatureRow:
    """The features of one candidate, and what each adds to its probability.

    Attributes:
        values: The features by column.
        parts: The contributions by column; empty if the model cannot be explained.
        size: The size of the change; None if it is unknown.
    """

    values: Mapping[str, float]
    parts: Mapping[str, float] = field(default_factory=dict)
    size: Size | None = None

    @property
    def moved(self) -> str:
        """What the level did: "rose", "fell", or "moved" if that is unknown."""
        if self.size is None or self.size.is_trend or not self.size.percent:
            return "moved"
        return "rose" if self.size.percent > 0 else "fell"

    def total(self, columns: tuple[str, ...]) -> float:
        """Return the sum of the contributions of some columns."""
        return math.fsum(self.parts.get(name, 0.0) for name in columns)

    def leading(self, columns: tuple[str, ...]) -> str:
        """Return the column that contributes most in the direction of the sum."""
        sign = math.copysign(1.0, self.total(columns))
        return max(columns, key=lambda name: sign * self.parts.get(name, 0.0))


@dataclass(frozen=True)
class Facet:
    """A property that several columns measure.

    Attributes:
        name: A short name.
        columns: The columns.
        text: Returns the sentence, from a row and the column that contributes most.
    """

    name: str
    columns: tuple[str, ...]
    text: Callable[[FeatureRow, str], str]


def _columns(*patterns: str) -> tuple[str, ...]:
    """Return the columns of `contrast` and `confirm` that start with one of the patterns."""
    known = (*FEATURE_SETS["contrast"], *FEATURE_SETS["confirm"])
    return tuple(name for pattern in patterns for name in known if name.startswith(pattern))


def times_text(logarithm: float) -> str:
    """Return a ratio from log(1 + ratio), as text."""
    ratio = math.expm1(abs(logarithm))
    if ratio >= MANY:
        return f"over {MANY:,.0f}"
    return f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"


def percent_text(share: float) -> str:
    """Return a share in percent, as text."""
    percent = 100.0 * share
    return f"{percent:,.0f} %" if abs(percent) >= 10 else f"{percent:.2g} %"


def points_text(count: float) -> str:
    """Return a number of points, as text."""
    whole = round(count)
    return f"{whole:,} point{'s' * (whole != 1)}"


def _size(row: FeatureRow, name: str) -> str:
    if name == "step_over_series_moves":
        times = times_text(row.values[name])
        return f"The level {row.moved} by {times} times the noise of the series."
    if name.startswith("wide_step_") or name == "step_12":
        width = name.rpartition("_")[2]
        beside = f", comparing the {width} results before and after"
        if row.values[name] > 0:
            return f"The level {row.moved} by {times_text(row.values[name])} noise units{beside}."
    value = row.values["hold_step" if name == "hold_step" else "step_over_noise"]
    return f"The level {row.moved} by {times_text(value)} noise units."


def _hold(row: FeatureRow, name: str) -> str:
    before, after = (math.expm1(row.values[f"hold_{side}"]) for side in ("before", "after"))
    if name == "hold_shortest" and before < after:
        return _held_before(before)
    if round(after) == 0:
        return "The first results after the change are nearer to the level before it."
    return f"The new level held for {points_text(after)}."


def _held_before(points: float) -> str:
    if round(points) == 0:
        return "The last results before the change are nearer to the level after it."
    return f"The level before the change had held for {points_text(points)}."


def _past(row: FeatureRow, name: str) -> str:
    if name == "points_before":
        return f"The series has {points_text(math.exp(row.values[name]))} before the change."
    return _held_before(math.expm1(row.values["hold_before"]))


def _range(row: FeatureRow, name: str) -> str:
    value = row.values[name]
    if value < 0:  # against the direction of the change, which is clear from the whole sides
        value = row.values["step_of_range"]
    return f"The change is {percent_text(math.expm1(value))} of the range of the series."


def _overlap(row: FeatureRow, name: str) -> str:
    beyond = 0.5 * (1.0 + row.values[name])
    if beyond > 0.995:
        return "The results before and after the change do not overlap."
    return f"A later result lies beyond an earlier one in {percent_text(beyond)} of all pairs."


def _relative(row: FeatureRow, name: str) -> str:
    share = math.expm1(row.values[name])
    if row.size is not None and math.isfinite(row.size.percent):  # as it is printed elsewhere
        share = abs(row.size.percent) / 100.0
    return f"The change is {percent_text(share)} of the level."


def _noise(row: FeatureRow, name: str) -> str:
    unit = "level" if name == "noise_relative" else "range of the series"
    return f"The noise is {percent_text(math.expm1(row.values[name]))} of the {unit}."


def _jump(row: FeatureRow, _name: str) -> str:
    move = row.values["jump_over_moves"]
    if move < 0:
        return "The first result after the change goes against its direction."
    if math.expm1(move) >= MANY:
        return "Neighbouring results hardly differ, except at the change."
    times = times_text(move)
    return f"The first result after the change moved {times} times as far as neighbours usually do."


def _drift(row: FeatureRow, name: str) -> str:
    side = "before" if name == "pre_slope" else "after"
    rise = row.values[name]
    if abs(rise) < FLAT:
        return f"The level {side} the change is flat."
    way = "in the same direction" if rise > 0 else "in the other direction"
    return f"The level {side} the change drifts {way}, by {percent_text(abs(rise))} of the change."


def _wandering(row: FeatureRow, name: str) -> str:
    value = row.values[name]
    if not name.endswith("lag1"):
        unit = "noise" if name == "moves_over_noise" else "range of the series"
        return f"Neighbouring results differ by {percent_text(math.expm1(value))} of the {unit}."
    how = "alternate" if value < 0 else "resemble each other"
    if abs(value) < RELATED:
        how = "are independent"
    return f"Neighbouring results {how} (correlation {value:.2f})."


def _groups(row: FeatureRow, name: str) -> str:
    where = "of the series" if name.startswith("series") else "around the change"
    share = percent_text(row.values[name])
    return f"Dividing the values in two groups explains {share} of the variance {where}."


def _tails(row: FeatureRow, name: str) -> str:
    side = "before" if name == "pre_tail" else "after"
    far = times_text(row.values[name])
    return f"The farthest result {side} the change is {far} noise units from its level."


def _spread(row: FeatureRow, name: str) -> str:
    ratio = math.exp(min(row.values[name], math.log(MANY)))
    if ratio < SAME_NOISE:
        return "The noise is the same before and after the change."
    return f"The noise before and after the change differs by a factor of {ratio:.1f}."


STEP, HOLD = "step", "hold"
# The order is that of importance to people, for models that give no contributions.
STEP_FACETS = (
    Facet(
        STEP,
        _columns("step_over", "step_t", "cohen_d", "step_12", "wide_step", "hold_step"),
        _size,
    ),
    Facet(HOLD, ("hold_after", "hold_shortest", "after_length", "points_behind"), _hold),
    Facet("overlap", _columns("rank_separation", "wide_rank"), _overlap),
    Facet("range", (*_columns("wide_share"), "step_of_range", "hold_share"), _range),
    Facet("relative", ("step_relative",), _relative),
    Facet("past", ("hold_before", "pre_length", "points_before"), _past),
    Facet("jump", ("jump_over_moves", "jump_share"), _jump),
    Facet("drift", ("pre_slope", "after_slope"), _drift),
    Facet(
        "wandering", ("series_lag1", "pre_lag1", "moves_over_noise", "moves_of_range"), _wandering
    ),
    Facet("groups", ("bimodality", "series_bimodality"), _groups),
    Facet("tails", ("pre_tail", "after_tail"), _tails),
    Facet("spread", ("spread_change",), _spread),
    Facet("noise", ("noise_relative", "noise_of_range"), _noise),
)


def _departure(row: FeatureRow, _name: str) -> str:
    edge = row.values["edge"]
    which = "newest result" if not row.values.get("window") else "result nearest to the old level"
    if edge <= 0:
        return f"The {which} does not leave the current level."
    return f"The {which} is {times_text(edge)} noise units away from the current level."


def _move(row: FeatureRow, name: str) -> str:
    if row.values[name] < 0:
        return "The last move between results goes against the change."
    if name == "jump_of_largest":
        return f"The move is {times_text(row.values[name])} times the largest one before it."
    return f"The results moved by {times_text(row.values['jump'])} noise units at once."


def _newest_size(row: FeatureRow, name: str) -> str:
    if name == "step_of_extent":
        share = percent_text(math.expm1(row.values[name]))
        return f"The change is {share} of the range of the series."
    if name == "step_sign":
        return f"The results {'rose' if row.values[name] > 0 else 'fell'}."
    share = percent_text(math.expm1(row.values["step_of_level"]) / 100.0)
    return f"The change is {share} of the current level."


def _reach(row: FeatureRow, name: str) -> str:
    if name.startswith("gap_"):
        count = name.removeprefix("gap_")
        if row.values[name] > 0:
            return f"None of the {count} results before it reached as far."
        return f"One of the {count} results before it reached as far."
    return f"{_share_of_past(row, name)} reached as far."


def _share_of_past(row: FeatureRow, name: str) -> str:
    which = f"last {RECENT}" if name.endswith("_100") else "earlier"
    share = row.values[name]
    return f"{percent_text(share) if share else 'None'} of the {which} results"


def _visits(row: FeatureRow, name: str) -> str:
    if name == "since_visit":
        ago = points_text(math.exp(row.values[name]))
        return f"The series was last at the new level {ago} ago."
    if name == "former_level":
        if row.values[name] < 0.5:
            return "The new level is close to an earlier one."
        return "The new level is unlike every earlier one."
    return f"{_share_of_past(row, name)} were at the new level."


def _shifts(row: FeatureRow, name: str) -> str:
    if name == "shifts":
        share = percent_text(math.exp(row.values[name]))
        return f"The level shifted at about {share} of the earlier results."
    which = "mean" if name == "step_of_mean_shift" else "largest"
    return f"The change is {times_text(row.values[name])} times the {which} shift before it."


def _spikes(row: FeatureRow, name: str) -> str:
    if name == "spikes_lasting":
        return f"Of earlier departures of this size, {percent_text(row.values[name])} lasted."
    if name == "since_spike":
        ago = points_text(math.exp(row.values[name]))
        return f"The last departure of this size was {ago} ago."
    count = round(math.expm1(row.values[name]))
    if not count:
        return "The series never departed as far before."
    return f"The series departed as far {count:,} time{'s' * (count != 1)} before."


def _start(row: FeatureRow, name: str) -> str:
    if name in ("split_gain", "split_place"):
        if row.values["split_gain"] > 0.999:
            return "No other start of the change fits better."
        return "Another start of the change fits better."
    if name in ("level_lately", "trend_lately"):
        if row.values[name] > 0.5:
            return "The level had already moved before this result."
        return "The level was stable before this result."
    which = "result" if name == "one_before" else "second result"
    return f"The {which} before it was at {percent_text(row.values[name])} of the change."


def _segment(row: FeatureRow, name: str) -> str:
    if name == "segment_noise":
        return f"The results since the change vary by {times_text(row.values[name])} noise units."
    share = percent_text(row.values["segment_share"])
    return f"{share} of the results since the change are beyond its middle."


def _newest_noise(row: FeatureRow, name: str) -> str:
    if name == "regime_lag1":
        return f"Neighbouring results have a correlation of {row.values[name]:.2f}."
    if name.startswith("moves"):
        share = percent_text(math.exp(row.values["moves_of_unit"]))
        return f"Neighbouring results differ by {share} of the noise."
    unit = "level" if name == "unit_of_level" else "range of the series"
    return f"The noise is {percent_text(math.exp(row.values[name]))} of the {unit}."


def _known(row: FeatureRow, name: str) -> str:
    whose = "current level" if name == "regime_length" else "series"
    return f"The {whose} has {points_text(math.exp(row.values[name]))}."


NEWEST_FACETS = (
    Facet("departure", ("edge", "edge_30", "edge_moves", "segment_step"), _departure),
    Facet("move", ("jump", "jump_moves", "jump_of_largest"), _move),
    Facet("size", ("step_of_level", "step_of_extent", "step_sign"), _newest_size),
    Facet("reach", ("gap_40", "gap_15", "gap_5", "beyond", "beyond_100"), _reach),
    Facet("visits", ("visits", "visits_100", "since_visit", "former_level"), _visits),
    Facet("shifts", ("step_of_largest_shift", "step_of_mean_shift", "shifts"), _shifts),
    Facet("spikes", ("spikes_both", "spikes", "since_spike", "spikes_lasting"), _spikes),
    Facet(
        "start",
        ("split_gain", "split_place", "one_before", "two_before", "level_lately", "trend_lately"),
        _start,
    ),
    Facet(
        "segment",
        ("segment_share", "segment_first", "segment_last", "segment_noise", "window"),
        _segment,
    ),
    Facet(
        "habits",
        ("unit_of_level", "unit_of_extent", "moves_of_unit", "moves_lately", "regime_lag1"),
        _newest_noise,
    ),
    Facet("known", ("regime_length", "history_length"), _known),
)
