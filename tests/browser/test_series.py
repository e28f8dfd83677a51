"""The pages of series and commits in a browser: the view, the keys, verdicts, hostile names."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from barograph.results.series import Direction, SeriesId, Verdict
from barograph.results.wording import number, typeset
from barograph.server.store import Measurement, Store, commit_details
from barograph.server.store.commit_details import CommitDetails
from barograph.server.triage.refresh import CandidateRefresher
from tests.browser.conftest import DRAWN_TEXTS
from tests.browser.serving import Board, serving
from tests.browser.waiting import wait_until
from tests.triage.test_refresh import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Page, Position

EVIL = '<script>document.title="x"</script>\u202e' + "n" * 400
STEP = 30
# Which paints came before the chart was drawn, once there was a paint and a chart.
PAINTED = """() => {
  const [drawn] = performance.getEntriesByName("chart-drawn");
  const paints = performance.getEntriesByType("paint");
  return drawn && paints.length
    ? paints.filter(({ startTime }) => startTime < drawn.startTime).map(({ name }) => name)
    : null;
}"""
NUMBERS = (
    *(0.0, 1.0, -2.5, 999.94, 1000.0, 12345.6, 0.012341, -0.5, 123.456, 123456789.0),
    *(4e-300, -1.25e-300, 1.3e11, 123456789012.0),
    *(19068.5, 19067.5, -19068.5, -19067.5),  # half way between whole numbers
)
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def fill(store: Store) -> None:
    """Two variants that fall at one commit, and a series with a hostile name."""
    random = np.random.default_rng(1)
    sent = [
        Measurement(
            SeriesId("db", variant, "", test, "ops"),
            float(random.normal(80.0 if order >= STEP else 100.0, 1.0)),
            order,
            f"c{order}",
            time=1_700_000_000_000 + order * 3_600_000,
            direction=Direction.HIGHER_IS_BETTER,
            unit="ops/s" if variant == "arm" else "",
        )
        for variant, test in (("linux", "insert"), ("arm", "insert"), ("<b>", EVIL))
        for order in range(60)
    ]
    store.ingest(sent, "ci")
    CandidateRefresher(Scripted([12, STEP]), "scripted").refresh(store)


def describe(store: Store, parents: dict[str, str]) -> None:
    """Store the parents of commits."""
    details = [CommitDetails("db", name, parent=parent) for name, parent in parents.items()]
    store.write(lambda connection: commit_details.save(connection, details))


def result(order: int) -> Measurement:
    """A result of a series that falls."""
    series = SeriesId("db", "linux", "", "insert", "ops")
    value = (80.0 if order >= STEP else 100.0) + order % 3
    return Measurement(series, value, order, f"c{order}", time=1_700_000_000_000 + order)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A service that all tests of this module share."""
    with serving(tmp_path_factory.mktemp("board"), fill) as board:
        yield board


def focused(page: "Page", url: str) -> None:
    """Open the page of a series, and focus its chart."""
    page.goto(url)
    page.locator("#about code").wait_for()
    page.locator("#chart").focus()


def test_the_address_keeps_the_view_of_a_chart(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1")
    page.keyboard.press("+")
    page.get_by_role("button", name="From zero").click()
    page.get_by_role("button", name="Time").click()
    page.wait_for_url("**axis=time**")
    view = page.url
    assert "scale=zero" in view
    page.goto("about:blank")
    focused(page, view)
    assert page.locator("[data-axis=time]").get_attribute("aria-pressed") == "true"
    page.locator("#chart").focus()
    page.keyboard.press("0")
    page.wait_for_url(lambda address: "from=" not in address)
    assert "axis=time" in page.url


def test_chart_is_part_of_the_first_paint(page: "Page", board: Board) -> None:
    page.goto(f"{board.url}/series/1")
    assert wait_until(page, PAINTED) == []


def test_a_panel_keeps_its_height_while_it_waits(page: "Page", board: Board) -> None:
    page.route("**/api/v1/change-points/**", lambda _route: None)  # no answer
    page.goto(f"{board.url}/series/1")
    page.wait_for_selector("#reasons .bones")
    waiting, empty = page.evaluate("""() => {
      const panels = [...document.querySelectorAll("aside .panel")];
      const heights = () => panels.map((panel) => panel.offsetHeight);
      const waiting = heights();
      for (const bones of document.querySelectorAll(".bones")) bones.remove();
      return [waiting, heights()];
    }""")
    assert waiting == empty


def test_keys_read_results_and_jump_between_changes(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1")
    page.keyboard.press("Home")
    assert "result 1 of 60" in page.locator("#readout").inner_text()
    page.keyboard.press("ArrowRight")
    assert "result 2 of 60" in page.locator("#readout").inner_text()
    page.locator("#chart").blur()
    page.keyboard.press("[")
    page.wait_for_url("**change_point=1**")
    assert "c12" in page.locator("#about").inner_text()


def plot_place(page: "Page", share: float) -> "Position":
    """A place in the middle of the plot, at a share of its width."""
    box = page.locator("#chart").bounding_box()
    assert box is not None
    return {"x": 60 + share * (box["width"] - 66), "y": box["height"] / 2}


def test_a_verdict_is_about_the_change_that_a_click_and_the_keys_lead_to(
    page: "Page", board: Board
) -> None:
    focused(page, f"{board.url}/series/1?change_point=2")
    about, chart = page.locator("#about"), page.locator("#chart")
    moves: list[tuple[Callable[[], object], str]] = [
        (lambda: chart.click(position=plot_place(page, 0.9)), "c30"),
        (lambda: page.keyboard.press("["), "c12"),
        (lambda: page.keyboard.press("]"), "c30"),
        (lambda: chart.click(position=plot_place(page, 0.1)), "c12"),
        (lambda: page.keyboard.press("End"), "c30"),
        (lambda: page.keyboard.press("Home"), "c12"),
    ]
    for move, commit in moves:
        move()
        assert f" at {commit}: " in about.inner_text()
    page.wait_for_url("**change_point=1**")
    with page.expect_request("**/api/v1/verdicts") as sent:
        page.keyboard.press("n")
    body = sent.value.post_data_json
    assert body is not None
    assert [point["id"] for point in body["change_points"]] == [1]
    assert about.inner_text().endswith("c12: not sure")
    with page.expect_response("**/undo"):
        page.keyboard.press("u")


def test_finger_that_scrolls_the_page_selects_no_change(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1?change_point=2")
    box, place = page.locator("#chart").bounding_box(), plot_place(page, 0.1)
    assert box is not None
    point = {"x": box["x"] + place["x"], "y": box["y"] + place["y"]}
    touch = page.context.new_cdp_session(page)
    for end, commit in (("touchCancel", "c30"), ("touchEnd", "c12")):
        for kind, points in (("touchStart", [point]), (end, [])):
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        assert f" at {commit}: " in page.locator("#about").inner_text()


def test_a_mark_says_what_it_marks_and_that_it_can_be_clicked(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1?change_point=2")
    chart, place = page.locator("#chart"), plot_place(page, 0.5)
    chart.hover(position=place)
    assert (chart.get_attribute("title"), chart.evaluate("e => e.style.cursor")) == ("", "")
    chart.hover(position={"x": place["x"], "y": 14})
    assert (chart.get_attribute("title") or "").endswith(" at c30")
    assert chart.evaluate("(canvas) => getComputedStyle(canvas).cursor") == "pointer"


def test_a_verdict_shows_at_once_and_can_be_undone(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/2")
    page.locator("#chart").blur()
    with page.expect_response("**/api/v1/verdicts"):
        page.keyboard.press("h")
        assert page.locator("#about").inner_text().endswith("noise")
    assert page.locator("[data-verdict=false_positive]").get_attribute("aria-pressed") == "true"
    with page.expect_response("**/undo"):
        page.keyboard.press("u")
    assert page.locator("#about").inner_text().endswith("to decide")


def test_panels_hold_the_evidence_about_the_newest_undecided_change(
    page: "Page", board: Board
) -> None:
    focused(page, f"{board.url}/series/1")
    suspects = page.locator("#suspects")
    suspects.get_by_text("Commits that were not measured may lie between.").wait_for()
    assert "Nothing left to halve" not in suspects.inner_text()
    page.locator("#siblings li a").wait_for()
    assert "1 fell" in page.locator("#siblings").inner_text()
    page.locator("#reasons .fact").first.wait_for()
    page.locator("#history li").first.wait_for()


def test_nothing_is_left_to_halve_once_the_parent_of_the_only_suspect_is_known(
    page: "Page", tmp_path: Path
) -> None:
    with serving(tmp_path, fill) as board:
        focused(page, f"{board.url}/series/1")
        describe(board.store, {f"c{STEP}": "u2", "u2": "u1"})
        page.reload()
        suspects = page.locator("#suspects")
        suspects.get_by_text("Run u1 next to halve the range. Commits that were not").wait_for()
        assert suspects.locator("li.next").inner_text().split() == ["u1", "run", "next"]
        describe(board.store, {f"c{STEP}": f"c{STEP - 1}"})
        page.reload()
        suspects.get_by_text("Nothing left to halve.").wait_for()
        assert "may lie between" not in suspects.inner_text()


def test_the_newest_undecided_change_has_its_label_beside_another(
    page: "Page", tmp_path_factory: pytest.TempPathFactory
) -> None:
    def close(store: Store) -> None:
        store.ingest([result(order) for order in range(STEP + 2)], "ci")
        CandidateRefresher(Scripted([STEP - 2, STEP]), "scripted").refresh(store)

    page.add_init_script(DRAWN_TEXTS)
    with serving(tmp_path_factory.mktemp("close"), close) as board:
        board.decide(1, Verdict.TRUE_POSITIVE, "wen")
        focused(page, f"{board.url}/series/1")
        size = page.locator("#about b").inner_text()
        wait_until(page, "(size) => texts.some((text) => text.startsWith(size))", size)


def test_numbers_are_written_as_the_command_line_does(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1")
    written = page.evaluate(
        """async (numbers) => {
          const { format } = await import('/static/x/scales.js');
          return numbers.map((value) => format(value));
        }""",
        list(NUMBERS),
    )
    assert written == [typeset(number(value)) for value in NUMBERS]


def test_numbers_that_hardly_differ_have_the_digits_that_tell_them_apart(
    page: "Page", tmp_path_factory: pytest.TempPathFactory
) -> None:
    def close(store: Store) -> None:
        sent = [result(order) for order in range(60)]
        store.ingest([row._replace(value=10.0 + row.value / 1e6) for row in sent], "ci")

    page.add_init_script(DRAWN_TEXTS)
    with serving(tmp_path_factory.mktemp("digits"), close) as board:
        page.goto(f"{board.url}/series/1")
        wait_until(page, "texts.length > 0")
        drawn: list[str] = page.evaluate("texts")
        ticks = drawn[: [bool(DAY.fullmatch(text)) for text in drawn].index(True)]
        assert len(ticks) >= 3
        assert len(set(ticks)) == len(ticks)
        cells = page.locator("#results td:nth-child(4)").all_inner_texts()
        assert {*cells} == {"10.00008", "10.000081", "10.000082"}


def test_days_stand_once_below_a_chart(page: "Page", board: Board) -> None:
    page.add_init_script(DRAWN_TEXTS)
    page.goto(f"{board.url}/series/1")
    wait_until(page, "texts.length > 0")
    [first, *rest] = [text for text in page.evaluate("texts") if DAY.fullmatch(text)]
    days = [first, *rest[: rest.index(first) if first in rest else None]]
    assert 2 <= len(days) == len(set(days))


def test_many_results_are_drawn_as_ranges(
    page: "Page", tmp_path_factory: pytest.TempPathFactory
) -> None:
    page.add_init_script("""
      const { rect } = CanvasRenderingContext2D.prototype;
      window.heights = [];
      CanvasRenderingContext2D.prototype.rect = function (x, y, width, height) {
        if (width < 2) heights.push(height);
        return rect.call(this, x, y, width, height);
      };
    """)
    sent = [result(order % STEP)._replace(order=order, commit=f"c{order}") for order in range(5000)]
    with serving(tmp_path_factory.mktemp("many"), lambda store: store.ingest(sent, "ci")) as board:
        page.goto(f"{board.url}/series/1")
        wait_until(page, "heights.length > 0")
        assert max(page.evaluate("heights")) > 50


def test_change_before_the_first_answer_is_announced(page: "Page", board: Board) -> None:
    page.clock.install()
    path = "**/series/2/change-points*"
    page.route(path, lambda route: route.fulfill(status=503, json={}), times=1)
    focused(page, f"{board.url}/series/2")
    stale = page.locator("[data-stale]")
    stale.get_by_text("What you see may be older.").wait_for()
    page.route(path, lambda route: route.fulfill(json={"change_points": []}))
    page.clock.fast_forward(31_000)
    stale.get_by_text("The data has changed.").wait_for()


def test_an_unchanged_series_shows_no_notice(page: "Page", board: Board) -> None:
    with page.expect_response("**/series/1/change-points*"):
        page.goto(f"{board.url}/series/1")
    page.locator("#history li").first.wait_for()
    assert page.locator("[data-stale]").is_hidden()


def test_a_panel_that_fails_offers_to_try_again(page: "Page", board: Board) -> None:
    page.route("**/suspects", lambda route: route.fulfill(status=500, body="{}"))
    focused(page, f"{board.url}/series/1")
    again = page.locator("#suspects").get_by_role("button", name="Try again")
    again.wait_for()
    page.unroute("**/suspects")
    again.click()
    page.locator("#suspects li code").first.wait_for()


def test_table_shows_the_newest_results_and_then_all(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1")
    numbers = page.locator("#results tbody tr td:first-child")
    assert numbers.all_inner_texts() == [str(60 - k) for k in range(15)]
    page.get_by_role("button", name="Show more").click()
    assert numbers.all_inner_texts() == [str(60 - k) for k in range(60)]
    assert page.get_by_role("button", name="Show more").is_hidden()


def test_deviations_from_the_level_have_the_same_digits(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1")
    cells = page.locator("#results tbody td:nth-child(6)").all_inner_texts()
    assert len(cells) == 15
    assert all(re.fullmatch(r"[+\u2212]\d+\.\d\d %", cell) for cell in cells)


def test_history_says_what_found_and_scored_a_change(page: "Page", board: Board) -> None:
    same = dict.fromkeys(("who", "verdict", "from_order", "to_order")) | {"time": None}
    events = [
        same | {"kind": "detected", "text": "Triaged", "probability": None},
        same | {"kind": "scored", "text": "label_free-90aa31b7c2d4", "probability": 0.78},
    ]
    answer = {"events": events}
    page.route("**/history", lambda route: route.fulfill(json=answer))
    focused(page, f"{board.url}/series/1")
    items = page.locator("#history li span")
    items.nth(1).wait_for()
    assert items.all_inner_texts() == [
        "Probability 78 %, from the model label_free-90aa31b7c2d4.",
        "Found by the detector Triaged.",
    ]
    page.locator("#suspects").get_by_text("1 of 1 sibling moved").wait_for()


@pytest.mark.parametrize("panel", ["reasons", "suspects", "alike", "siblings", "history"])
def test_message_of_a_panel_that_fails_has_its_width(
    page: "Page", board: Board, panel: str
) -> None:
    page.route(f"**/{panel}", lambda route: route.fulfill(status=500, body="{}"))
    focused(page, f"{board.url}/series/1")
    message = page.locator(f"#{panel} [data-list] > *", has_text="Not loaded")
    message.wait_for()
    wide = "(item) => item.clientWidth > 0.9 * item.parentNode.clientWidth"
    assert message.evaluate(wide)
    assert message.evaluate("(item) => item.clientHeight") < 60


def test_facts_of_another_change_go_where_those_of_this_fail(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1")
    fact = page.locator("#suspects [data-next]")
    fact.get_by_text("Commits that were not measured").wait_for()
    page.route("**/suspects", lambda route: route.fulfill(status=500, body="{}"))
    page.locator("#chart").blur()
    page.keyboard.press("[")
    page.locator("#suspects").get_by_role("button", name="Try again").wait_for()
    assert fact.inner_text() == ""


def test_values_have_their_unit(page: "Page", board: Board) -> None:
    page.add_init_script(DRAWN_TEXTS)
    focused(page, f"{board.url}/series/2")
    assert "In ops/s, higher is better." in page.locator(".title").inner_text()
    assert page.locator("#results th", has_text="ops, ops/s").count() == 1
    page.keyboard.press("End")
    assert re.match(
        r"[\d.]+ ops/s \u00b7 level [\d.]+ ops/s \u00b7", page.locator("#readout").inner_text()
    )
    assert "ops/s" in page.evaluate("texts")  # beside the axis
    before = page.locator("#suspects [data-list] li").first
    before.get_by_text(re.compile(r"^[\d.]+ ops/s$")).wait_for()
    with page.expect_download() as csv:
        page.get_by_role("button", name="CSV").click()
    rows = csv.value.path().read_text(encoding="utf-8").splitlines()
    assert rows[1].split(",")[4] == "ops/s"
    page.goto(f"{board.url}/series?q=arm")
    assert page.locator("td", has_text=re.compile(r"^[\d.]+ ops/s$")).count() == 1
    page.goto(f"{board.url}/series/1")
    page.locator("#chart").focus()
    page.keyboard.press("End")
    assert re.match(r"[\d.]+ ops \u00b7", page.locator("#readout").inner_text())


def test_downloads_hold_the_results_and_the_picture(page: "Page", board: Board) -> None:
    focused(page, f"{board.url}/series/1")
    with page.expect_download() as csv:
        page.get_by_role("button", name="CSV").click()
    lines = csv.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0] == "order,commit,time,value,unit,least,largest,runs"
    assert len(lines) == 61
    assert lines[1].startswith("0,c0,2023-11-14T22:13:20.000Z,")
    with page.expect_download() as png:
        page.get_by_role("button", name="PNG").click()
    assert png.value.path().read_bytes().startswith(b"\x89PNG")


def test_result_that_moves_a_change_is_announced_and_keeps_its_verdict(
    page: "Page", tmp_path_factory: pytest.TempPathFactory
) -> None:
    def gapped(store: Store) -> None:
        sent = [result(order) for order in range(60) if order != STEP]
        store.ingest(sent, "ci")
        CandidateRefresher(Scripted([STEP]), "scripted").refresh(store)

    with serving(tmp_path_factory.mktemp("gapped"), gapped) as board:
        page.clock.install()
        with page.expect_response("**/series/1/change-points*"):  # later states differ from this
            page.goto(f"{board.url}/series/1")
        page.locator("#about", has_text=f"c{STEP + 1}").wait_for()
        with page.expect_response("**/api/v1/verdicts"):
            page.keyboard.press("a")
        board.store.ingest([result(STEP)], "ci")
        CandidateRefresher(Scripted([STEP]), "scripted").refresh(board.store)
        page.clock.fast_forward(31_000)
        page.get_by_role("status").get_by_role("link", name="Show it").click()
        page.locator("#about", has_text=re.compile(rf"c{STEP}: real$")).wait_for()
        page.locator("#history", has_text=f"Moved from order {STEP + 1} to order {STEP}").wait_for()


@pytest.mark.parametrize("path", ["/series/3", "/series", "/commit?project=db&order=30"])
def test_a_hostile_name_stays_text(page: "Page", board: Board, path: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(board.url + path)
    page.locator("main table").first.wait_for()
    assert "Barograph" in page.title()
    assert page.locator("main").evaluate("e => e.scrollWidth <= window.innerWidth")


def test_a_commit_takes_one_verdict_for_a_group(page: "Page", board: Board) -> None:
    page.goto(f"{board.url}/commit?project=db&order=12")
    group = page.locator("[data-group]").first
    count = group.locator("tr[data-change]").count()
    with page.expect_response("**/api/v1/verdicts"):
        group.get_by_role("button", name="Noise").click()
    assert group.locator("td[data-state]").all_inner_texts() == ["noise"] * count
    with page.expect_response("**/undo"):
        page.keyboard.press("u")
    assert group.locator("td[data-state]").all_inner_texts() == ["to decide"] * count


def test_a_commit_takes_back_a_verdict_on_a_change_that_is_gone(page: "Page", board: Board) -> None:
    page.goto(f"{board.url}/commit?project=db&order=12")
    rows = page.locator("[data-group]").first.locator("tr[data-change]")
    numbers = [int(row.get_attribute("data-change") or 0) for row in rows.all()]
    unknown = dict.fromkeys(("version", "verdict", "who", "time"))
    refused = [{"id": number, "why": "gone", **unknown} for number in numbers]
    answer = {"batch": 1, "saved": [], "refused": refused}
    page.route("**/api/v1/verdicts", lambda route: route.fulfill(json=answer))
    page.locator("[data-group]").first.get_by_role("button", name="Noise").click()
    page.get_by_text("no longer exists").wait_for()
    assert rows.locator("[data-state]").all_inner_texts() == ["to decide"] * len(numbers)


def test_end_of_the_session_does_not_take_the_page_away(board: Board, page: "Page") -> None:
    """What the page asks for by itself never leads to another page."""
    page.route("**/series/1/change-points*", lambda route: route.fulfill(status=401, json={}))
    page.goto(f"{board.url}/series/1")
    page.locator("[data-stale]").get_by_text("What you see may be older.").wait_for()
    assert page.url == f"{board.url}/series/1"
