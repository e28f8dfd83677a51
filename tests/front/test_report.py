"""The report is one page that is well-formed, small, safe, and complete."""

import base64
import json
import re
import time
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pytest

from barograph.models.reasons import ReasonText
from barograph.report.changes import Findings, ReportedChange, list_switches_once
from barograph.report.page import report_page
from barograph.report.panel import chart_data, thinned
from barograph.results.series import ChangePoint, Direction, Floats, Region, Series, SeriesId

RNG = np.random.default_rng(6)
EVIL = "</script><script>alert(1)</script> <b onload=x>& \u202eevil"
RIGHT_TO_LEFT = "\u05d1\u05d3\u05d9\u05e7\u05d4 \u0627\u062e\u062a\u0628\u0627\u0631"
LONG = "very_long_name_" * 33 + "tail!"
VOID = {"meta", "input", "br", "link"}
START = 1_767_225_600_000


def step(size: int, first: int, by: float) -> Floats:
    values = RNG.normal(100.0, 1.0, size)
    values[first:] += by
    return values


def one_series(
    name: str, values: Floats, direction: Direction = Direction.LOWER_IS_BETTER
) -> Series:
    size = values.size
    return Series(
        SeriesId("db", "linux", "nightly", name, "latency"),
        np.arange(size),
        values,
        [f"{k:040x}" for k in range(size)],
        START + np.arange(size) * 3_600_000,
        direction,
    )


def change(
    number: int, series: Series, index: int, probability: float | None = 0.9
) -> ReportedChange:
    point = ChangePoint(
        index,
        1.0,
        None,
        Region.of(series.values[:index]),
        Region.of(series.values[index:]),
        probability=probability,
    )
    reasons = [ReasonText("The level rose.", 0.3), ReasonText("It held for 2 points.", -0.1)]
    known = (
        series.commits[index],
        int((series.times if series.times is not None else [0] * 99)[index]),
    )
    return ReportedChange(number, point, series.direction, index, *known, reasons=reasons)


def findings(names: list[str], size: int = 60) -> Findings:
    """Return series that rise by a tenth in the middle, the last one quiet."""
    every = [one_series(name, step(size, size // 2, 10.0)) for name in names]
    quiet = one_series("quiet", RNG.normal(100.0, 1.0, size))
    changes = [[change(k, series, size // 2)] for k, series in enumerate(every)]
    return Findings([*every, quiet], [*changes, []], 3)


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects text and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("script", "style"):
            self.kind = dict(attrs).get("type") or tag

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts[self.kind] = self.scripts.get(self.kind, "") + data
        else:
            self.text += data

    def values(self, tag: str, name: str) -> list[str]:
        return [value for t, n, value in self.attributes if (t, n) == (tag, name)]


@pytest.fixture(scope="module")
def html() -> str:
    names = ["insert", EVIL, RIGHT_TO_LEFT, LONG]
    return report_page(findings(names), "barograph report <b>.csv", "Found.")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_page_makes_no_request_and_has_no_inline_handlers(html: str, page: Page) -> None:
    assert "//" not in re.sub(r"//[^\n]*", "", page.scripts["module"])
    assert "http:" not in html
    assert "https:" not in html
    assert not page.values("script", "src")
    assert not [tag for tag, _, _ in page.attributes if tag in ("link", "img", "iframe", "base")]
    assert all(target.startswith("#") for target in page.values("a", "href"))
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "style"]


def test_only_the_scripts_and_styles_of_the_page_may_run(page: Page) -> None:
    policy = next(value for value in page.values("meta", "content") if "default-src" in value)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind in ("module", "style"):
        digest = base64.b64encode(sha256(page.scripts[kind].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_names_cannot_break_the_page(html: str, page: Page) -> None:
    assert html.count("<script") == 2
    assert "alert(1)" in page.text
    assert "<b onload" not in html
    assert "\u202e" not in html
    assert "barograph report <b>.csv" in page.text


def test_long_names_are_cut_in_the_middle_and_found_by_search(page: Page) -> None:
    assert LONG not in page.text
    assert re.search(r"very_long_name_very\w+\u2026\w+_tail!", page.text)
    assert any(LONG.lower() in text for text in page.values("tr", "data-text"))


def test_names_of_any_script_are_isolated(html: str) -> None:
    assert f"<bdi>{RIGHT_TO_LEFT}</bdi>" in html


def test_page_says_what_changed_and_what_did_not(page: Page) -> None:
    assert "4 changes in 4 of 5 series: 4 worse" in page.text
    assert "1 did not change. Found." in page.text
    assert "The level rose. Against: It held for 2 points." in page.text
    assert "90 % real" in page.text
    assert "2026-01-02" in page.text
    assert "db/linux/nightly/quiet/latency" in page.text


def test_data_of_the_charts_can_be_decoded(page: Page) -> None:
    content = json.loads(page.scripts["application/json"])
    assert len(content["series"]) == 4
    first = content["series"][0]
    values = first["values"]
    assert len(values) == first["count"] == 60
    assert abs(np.mean(values[:30]) - 100) < 1
    [[index, text, effect, probability]] = first["changes"]
    assert (index, effect, probability) == (30, "worse", 0.9)
    assert text.endswith(" %, 90 % real")
    number = first["names"][30]
    assert content["names"][number] == f"{30:040x}"[:8]
    assert content["times"][number] == START // 1000 + 30 * 3600


def test_unit_of_a_series_is_at_its_levels_and_in_the_data_of_its_chart() -> None:
    series = replace(one_series("a", step(60, 30, 10.0)), unit="<b>\u202ems")
    page = Page(report_page(Findings([series], [[change(0, series, 30)]])))
    assert re.search(r"\d \u2192 1[\d.]+ <b>\ufffdms at ", page.text)
    [packed] = json.loads(page.scripts["application/json"])["series"]
    assert packed["unit"] == "<b>\ufffdms"


def test_worst_changes_come_first_and_improvements_last() -> None:
    series = [
        one_series("better", step(40, 20, -30.0)),
        one_series("slightly worse", step(40, 20, 5.0)),
        one_series("unknown", step(40, 20, 50.0), Direction.UNKNOWN),
        one_series("much worse", step(40, 20, 20.0)),
    ]
    actual = Findings(series, [[change(k, name, 20)] for k, name in enumerate(series)])
    assert actual.changed == [3, 1, 2, 0]
    title = "4 changes in 4 of 4 series: 2 worse, 1 of unknown direction, 1 better"
    assert f"<title>{title} · Barograph report</title>" in report_page(actual)


def levels(*means: float, each: int = 10) -> tuple[Series, list[ReportedChange]]:
    """Return a series of levels, and the changes between them."""
    series = one_series("levels", np.repeat(means, each) + RNG.normal(0.0, 0.1, len(means) * each))
    regions = [Region.of(part) for part in np.split(series.values, len(means))]
    changes = []
    for k in range(1, len(means)):
        point = ChangePoint(k * each, 1.0, None, regions[k - 1], regions[k], probability=0.9)
        assert series.times is not None
        place = k * each, series.commits[k * each], int(series.times[k * each])
        changes.append(ReportedChange(0, point, series.direction, *place))
    return series, changes


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([100, 150, 101, 149, 100], [4]),  # back and forth, twice
        ([100, 150, 100, 150], [0, 0, 0]),  # once and a half
        ([100, 150, 200, 250, 300, 350], [0] * 5),  # a staircase
        ([100, 150, 120, 150, 120], [0] * 4),  # the first change is not undone
        ([100, 50, 100, 150, 100, 150, 100], [0, 0, 4]),  # 50 is another level
        ([300, 100, 150, 100, 150, 100], [0, 4]),
    ],
)
def test_series_that_switches_between_two_levels_has_one_row(
    means: list[float], expected: list[int]
) -> None:
    _, changes = levels(*means)
    listed = list_switches_once(changes)
    assert [len(change.switches) for change in listed] == expected


def test_report_says_once_that_a_series_switches() -> None:
    series, changes = levels(100, 150, 101, 149, 100)
    page = Page(report_page(Findings([series], [changes])))
    assert "4 changes in 1 of 1 series: 2 worse, 2 better" in page.text
    assert page.values("tr", "data-rank") == ["1"]
    assert page.text.count("4 switches between these levels, last 2026-01-02") == 2  # row and card
    [searched] = page.values("tr", "data-text")
    assert all(change.commit in searched for change in changes)
    [packed] = json.loads(page.scripts["application/json"])["series"]
    assert [index for index, *_ in packed["changes"]] == [10, 20, 30, 40]


def test_results_without_commits_times_and_probabilities_are_shown() -> None:
    values = step(40, 20, 5.0)
    series = Series(SeriesId("", "", "", "plain", ""), np.arange(100, 140), values)
    point = change(0, one_series("x", values), 20, None).point
    page = Page(report_page(Findings([series], [[ReportedChange(0, point, order=120)]])))
    assert "at order 120." in page.text
    assert "real" not in page.text.lower().replace("really", "")
    assert json.loads(page.scripts["application/json"])["times"][0] is None


def test_report_without_a_change_says_so() -> None:
    quiet = one_series("quiet", RNG.normal(100.0, 1.0, 30))
    page = Page(report_page(Findings([quiet], [[]])))
    assert "0 of 1 series changed" in page.text
    assert "1 series did not change" in page.text


def test_thinning_keeps_extremes_ends_and_both_sides_of_changes() -> None:
    values = RNG.normal(0.0, 1.0, 5000)
    values[[1234, 4321]] = 50.0, -50.0
    kept = thinned(values, [2500])
    assert kept.size <= 604
    assert {0, 1234, 2499, 2500, 4321, 4999} <= set(kept.tolist())


def test_results_far_outside_keep_their_values() -> None:
    values = step(200, 100, 5.0)
    values[50] = 1e6
    series = one_series("spike", values)
    [packed] = json.loads(chart_data([(series, [change(0, series, 100)])]))["series"]
    assert packed["index"] is None
    assert packed["values"][50] == 1e6
    assert packed["limits"][1] < 200


def test_a_hundred_series_take_half_a_megabyte_and_a_second() -> None:
    actual = findings([f"test {k}" for k in range(100)], size=250)
    report_page(findings(["warm"]))
    began = time.process_time()
    html = report_page(actual)
    assert time.process_time() - began < 1.0
    assert len(html.encode()) < 500_000
