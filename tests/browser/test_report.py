"""The report of `barograph report` in a browser, on a desk and on a phone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from barograph.report.changes import Findings, ReportedChange
from barograph.report.page import report_page
from barograph.results.series import ChangePoint, Direction, Region, Series, SeriesId
from tests.browser.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZE, MIDDLE = 60, 30
DRAWN = """() => [...document.querySelectorAll("canvas")].every((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((byte) => byte !== 0);
})"""
# Whether something is written in the margin left of the numbers of the vertical axis.
INK_AT_THE_EDGE = """(canvas) => {
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const edge = canvas.getContext("2d").getImageData(0, 0, 13 * scale, canvas.height);
    return edge.data.some((byte) => byte !== 0);
}"""
# Opacity and width of each level that is drawn: a horizontal line, thicker than a grid's.
RECORD_LINES = """() => {
  window.levels = [];
  const { moveTo, lineTo, stroke } = CanvasRenderingContext2D.prototype;
  let from = null, to = null;
  Object.assign(CanvasRenderingContext2D.prototype, {
    moveTo(...place) { from = place; return moveTo.apply(this, place); },
    lineTo(...place) { to = place; return lineTo.apply(this, place); },
    stroke() {
      const isFlat = from && to && from[1] === to[1], { lineWidth, globalAlpha } = this;
      if (isFlat && lineWidth >= 1.5 && lineWidth < 3) levels.push([globalAlpha, to[0] - from[0]]);
      from = to = null;
      return stroke.call(this);
    },
  });
}"""
OVERLAPS = """() => [...document.querySelectorAll("tbody td:not(.name)")]
    .filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"""


def stepped(number: int, before: float, after: float) -> tuple[Series, list[ReportedChange]]:
    """Return a series with a step, and the step."""
    values = np.repeat([before, after], MIDDLE)
    name, way = SeriesId("", "", "", f"test{number}", "time"), Direction.LOWER_IS_BETTER
    series = Series(name, np.arange(SIZE), values, direction=way)
    regions = Region.of(values[:MIDDLE]), Region.of(values[MIDDLE:])
    point = ChangePoint(MIDDLE, 1.0, None, *regions, probability=0.94)
    return series, [ReportedChange(number, point, way, MIDDLE)]


@pytest.mark.parametrize("width", [1280, 400, 360])
def test_note_on_switches_is_shown_in_full(page: Page, width: int) -> None:
    series, _ = stepped(0, 100.0, 121.0)
    regions = [Region.of(np.full(2, level)) for level in [100.0, 121.0] * 8]
    points = [
        ChangePoint(2 * k, 1.0, None, *pair, probability=0.94)
        for k, pair in enumerate(pairwise(regions), start=1)
    ]
    changes = [ReportedChange(0, point, series.direction, point.index) for point in points]
    page.set_viewport_size({"width": width, "height": 900})
    page.set_content(report_page(Findings([series], [changes])))
    note = page.get_by_text("15 switches between these levels, last at order 30", exact=True)
    assert note.count() == 1
    edges = "(note) => [note, note.closest('td')].map((e) => e.getBoundingClientRect())"
    inner, outer = note.evaluate(edges)
    assert outer["left"] <= inner["left"]
    assert inner["right"] <= outer["right"]
    assert note.evaluate("(note) => note.scrollWidth <= note.clientWidth")


def test_charts_are_drawn(page: Page) -> None:
    series, changes = zip(*(stepped(k, 100.0, 121.0) for k in range(3)), strict=True)
    page.set_viewport_size({"width": 1280, "height": 3000})
    page.set_content(report_page(Findings([*series], [*changes])))
    assert page.locator("canvas").count() >= len(series)
    wait_until(page, DRAWN)


@pytest.mark.parametrize("unit", ["", "ops/s"])
def test_readout_and_axis_have_the_unit(page: Page, unit: str) -> None:
    series, changes = stepped(0, 100.0, 121.0)
    page.set_content(report_page(Findings([replace(series, unit=unit)], [changes])))
    wait_until(page, DRAWN)
    page.locator("canvas.chart").focus()
    page.keyboard.press("End")
    text = f"121 {unit}".rstrip()
    readout = page.locator("figure output").text_content()
    assert readout == f"{text} \u00b7 level {text} \u00b7 order 59 \u00b7 result 60 of 60"
    assert page.locator("canvas.chart").evaluate(INK_AT_THE_EDGE) == bool(unit)


@pytest.mark.parametrize("width", [1280, 400, 360])
def test_long_numbers_stay_in_their_columns(page: Page, width: int) -> None:
    levels = [(10.0, 373.6), (1e-9, 1e6), (5.0, 2400.0), (0.0, 7.0), (100.0, 90.0)]
    stepped_series = [stepped(k, *pair) for k, pair in enumerate(levels)]
    series, changes = zip(*stepped_series, strict=True)
    page.set_viewport_size({"width": width, "height": 900})
    page.set_content(report_page(Findings([*series], [*changes])))
    assert page.locator("tbody tr").count() == len(levels)
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_level_is_strong_over_the_results_that_the_change_was_measured_with(page: Page) -> None:
    values = np.repeat([100.0, 121.0], 100)
    series = Series(SeriesId("", "", "", "test", "time"), np.arange(200), values)
    regions = Region.of(values[:100]), Region.of(values[100:])
    change = ReportedChange(0, ChangePoint(100, 1.0, None, *regions), series.direction, 100)
    page.evaluate(RECORD_LINES)
    page.set_content(report_page(Findings([series], [[change]])))
    wait_until(page, "levels.length >= 8")
    strong = page.evaluate("levels.filter(([alpha]) => alpha === 1).map(([, width]) => width)")
    faint = page.evaluate("levels.filter(([alpha]) => alpha < 0.5).map(([, width]) => width)")
    for size in (min, max):  # in the table and in the chart
        assert size(strong) / size(faint) == pytest.approx(30 / 70, rel=0.03)
