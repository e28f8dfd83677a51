"""What the features of the newest results say, in sentences; see docs/online.md."""

from __future__ import annotations

import math

from barograph.models.facets import Facet, FeatureRow, percent_text, points_text, times_text

RECENT = 100  # results that the columns ending in _100 look back on


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


def _size(row: FeatureRow, name: str) -> str:
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


def _noise(row: FeatureRow, name: str) -> str:
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
    Facet("size", ("step_of_level", "step_of_extent", "step_sign"), _size),
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
        _noise,
    ),
    Facet("known", ("regime_length", "history_length"), _known),
)
