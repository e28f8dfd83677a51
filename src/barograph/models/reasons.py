"""Why a model gives a candidate its probability, in sentences.

Many features measure one property in different ways, so a facet, a property that people talk about,
owns several columns. Contributions are summed by facet, and the facets that contribute most are
named, each by the sentence of its column that contributes most. docs/features-contrasts.md defines
the columns. A column of another feature set is a facet of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from barograph.features import FEATURE_SETS
from barograph.models.triage import TriageModel
from barograph.results.series import Floats
from barograph.results.sizes import Size
from barograph.runtime.errors import ConfigError

LIMIT = 3
SMALL = 0.05  # a facet with less than this share of the largest contribution is not named
MANY = 1000.0  # noise units: beyond, the exact number says nothing
SAME_NOISE = 1.5  # ratio of two noises that count as equal
FLAT = 0.15  # rise of a level that counts as none, as a share of step and noise
RELATED = 0.2  # correlation of neighbours that counts as some


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
    """Return the columns of the set `contrast` that start with one of the patterns."""
    known = FEATURE_SETS["contrast"]
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
FACETS = (
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


class ReasonText(NamedTuple):
    """A reason in words.

    Attributes:
        text: A sentence.
        part: What it adds to the probability of a real change, negative if it speaks against one;
            None if the model gives no contributions.
    """

    text: str
    part: float | None


def explain(
    model: TriageModel,
    rows: Floats,
    *,
    sizes: Sequence[Size | None] | None = None,
    limit: int = LIMIT,
) -> list[list[ReasonText]]:
    """Return the main reasons for the probability of each candidate, the most decisive first.

    Args:
        model: The model that scored the candidates.
        rows: One row of features per candidate, in the order of the model's columns.
        sizes: The size of each candidate, if they are known.
        limit: Maximum number of reasons of a candidate.

    Example:
        >>> from barograph.features import feature_matrix
        >>> model = TriageModel.default("label_free")
        >>> values = [10.0, 10.1, 9.9] * 10 + [12.0, 12.1, 11.9] * 10
        >>> rows = feature_matrix(values, [0], [30], [60], model.feature_set)
        >>> [reasons] = explain(model, rows, sizes=[Size(10.0, 12.0)])
        >>> reasons[0].text
        'The level rose by 13.5 noise units and stayed for 30 points.'
    """
    if not rows.shape[0]:
        return []
    try:
        parts = model.reasons(rows)[1].tolist()
    except ConfigError:  # the classifier is not a sum over features
        parts = [[] for _ in range(rows.shape[0])]
    facets = _facets_of(model.columns)
    return [
        sentences(
            facets,
            FeatureRow(
                dict(zip(model.columns, values, strict=True)),
                dict(zip(model.columns, contributions, strict=False)),
                size,
            ),
            limit,
        )
        for values, contributions, size in zip(
            rows.tolist(), parts, sizes or [None] * rows.shape[0], strict=True
        )
    ]


def paragraph(reasons: Sequence[ReasonText]) -> str:
    """Return reasons as one text: those for a real change, then those against it.

    Example:
        >>> paragraph([ReasonText("The new level held for 2 points.", -0.1)])
        'Against a real change: The new level held for 2 points.'
    """
    against = [reason.text for reason in reasons if reason.part is not None and reason.part < 0]
    text = [reason.text for reason in reasons if reason.text not in against]
    return " ".join([*text, *(["Against a real change:"] if against else []), *against])


def sentences(facets: Sequence[Facet], row: FeatureRow, limit: int = LIMIT) -> list[ReasonText]:
    """Return what the facets of a row say that contribute most, the most decisive first."""
    if not row.parts:
        return _worded([(f, f.text(row, f.columns[0]), None) for f in facets[:limit]])
    totals = sorted(((row.total(f.columns), f) for f in facets), key=lambda item: -abs(item[0]))
    least = SMALL * abs(totals[0][0]) if totals else 0.0
    named = [(total, f) for total, f in totals[:limit] if total and abs(total) >= least]
    return _once(_worded([(f, f.text(row, row.leading(f.columns)), total) for total, f in named]))


def _once(reasons: Sequence[ReasonText]) -> list[ReasonText]:
    """Return each sentence once, with the sum of its parts: facets may share one."""
    parts: dict[str, float] = {}
    for text, part in reasons:
        parts[text] = parts.get(text, 0.0) + (part or 0.0)
    known = [ReasonText(text, part) for text, part in parts.items()]
    return sorted(known, key=lambda reason: -abs(reason.part or 0.0))


def _worded(items: Sequence[tuple[Facet, str, float | None]]) -> list[ReasonText]:
    """Return the sentences; how far the level moved and how long it stayed are one sentence."""
    by_name = {facet.name: (text, part) for facet, text, part in items}
    step, hold = by_name.get(STEP), by_name.get(HOLD)
    prefix = "The new level held for "
    if step is None or hold is None or "," in step[0] or not hold[0].startswith(prefix):
        return [ReasonText(text, part) for _, text, part in items]
    if (step[1] or 0.0) * (hold[1] or 0.0) < 0:
        return [ReasonText(text, part) for _, text, part in items]
    joined = f"{step[0][:-1]} and stayed for {hold[0].removeprefix(prefix)}"
    part = None if step[1] is None or hold[1] is None else step[1] + hold[1]
    rest = [(f, text, total) for f, text, total in items if f.name not in (STEP, HOLD)]
    explained = [ReasonText(joined, part), *(ReasonText(text, total) for _, text, total in rest)]
    return sorted(explained, key=lambda reason: -abs(reason.part or 0.0))


@lru_cache
def _facets_of(columns: tuple[str, ...]) -> tuple[Facet, ...]:
    """Return the facets of a model; a column that has none becomes one of its own."""
    facets, remaining = [], dict.fromkeys(columns)
    for facet in FACETS:
        names = tuple(name for name in facet.columns if name in remaining)
        if names:
            facets.append(Facet(facet.name, names, facet.text))
            for name in names:
                del remaining[name]
    return (*facets, *(Facet(name, (name,), _plain) for name in remaining))


def _plain(row: FeatureRow, name: str) -> str:
    return f"{name.replace('_', ' ').capitalize()} is {row.values[name]:.3g}."
