"""The rows of the queue: the cursor and the way back to it, odd names, and what is counted."""

import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import ready
from tests.browser.queues import fill, fill_long, fill_three, groups, press, saved_verdicts
from tests.browser.serving import Board
from tests.browser.waiting import wait_until
from tests.shared import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

# Whether all elements are as wide as their text.
UNCUT = """(all) => all.every((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getBoundingClientRect().width <= cell.getBoundingClientRect().width + 0.01;
})"""
# Whether nothing cuts the text of an element at its left or right end: no part of the page around
# it, and not the window.
INSIDE = """(all) => all.map((item) => {
  const range = document.createRange();
  range.selectNodeContents(item);
  const rects = [...range.getClientRects()];
  const fits = (left, right) =>
    rects.every((rect) => rect.left >= left - 0.5 && rect.right <= right + 0.5);
  const cuts = (box) => getComputedStyle(box).overflowX !== "visible";
  for (let box = item; box; box = box.parentElement) {
    const { left, right } = box.getBoundingClientRect();
    if (cuts(box) && !fits(left, right)) return false;
  }
  const parts = [...item.querySelectorAll("*")].filter(cuts);
  return fits(0, innerWidth) && parts.every((part) => part.scrollWidth <= part.clientWidth + 1);
})"""
# Answers about the state of the board come when the test wants them, and are shown before the next
# task of the page: no step from the answer to the text waits for anything else.
HELD = """
  const { fetch } = window;
  window.answers = [];
  window.fetch = (path, ...more) => path === "/api/v1/board"
    ? new Promise((resolve) => { answers.push(resolve); })
    : fetch(path, ...more);
  window.answer = async (number, groups) => {
    const state = { groups, silent: 0, suspects: 0, last_result: null };
    answers[number]({ ok: true, status: 200, json: async () => state });
    await new Promise((resolve) => { setTimeout(resolve); });
  };
"""
HOSTILE = ("<script>alert(1)</script>", "\u202egnp.exe\u202c", "x" * 500)


def test_preview_is_part_of_the_first_paint(queue: "Page") -> None:
    def late(route: "Route") -> None:
        time.sleep(1.0)
        route.continue_()

    queue.route("**/queue.js", late)
    queue.reload()
    ready(queue)
    paint, script = wait_until(
        queue,
        """() => {
      const [paint] = performance.getEntriesByName("first-paint");
      const loaded = performance.getEntriesByType("resource");
      const script = loaded.find(({ name }) => name.endsWith("/queue.js"));
      return paint && script && [paint.startTime, script.responseEnd];
    }""",
    )
    assert paint > script


def test_way_back_from_a_series_leads_to_the_row_that_was_left(queue: "Page") -> None:
    press(queue, "j", "Enter")
    queue.locator("#about code").wait_for()
    queue.go_back()
    ready(queue)
    assert groups(queue).nth(1).get_attribute("aria-current") == "true"
    queue.get_by_role("link", name="Queue").first.click()
    queue.wait_for_load_state()
    ready(queue)
    assert groups(queue).first.get_attribute("aria-current") == "true"


@pytest.mark.parametrize("content", [fill_three])
def test_way_back_from_a_verdict_leads_to_the_next_row(queue: "Page") -> None:
    assert groups(queue).count() == 3
    last = groups(queue).last.get_attribute("data-name")
    press(queue, "j", "Enter")
    queue.locator("#about code").wait_for()
    with queue.expect_response("**/api/v1/verdicts"):
        press(queue, "h")
    queue.go_back()
    ready(queue)
    assert groups(queue).count() == 2
    assert queue.locator("tr[aria-current=true]").get_attribute("data-name") == last


def test_undo_leaves_one_cursor_on_the_row_that_came_back(queue: "Page") -> None:
    first = groups(queue).first.get_attribute("data-name")
    press(queue, "a")
    queue.get_by_role("status").get_by_text("Marked 3 series of").wait_for()
    press(queue, "u")
    marked = queue.locator("tr[aria-current=true], tr[tabindex='0']")
    assert marked.evaluate_all("(rows) => rows.map((row) => row.dataset.name)") == [first]
    queue.locator("[data-preview] h2").get_by_text(str(first)).wait_for()


def test_there_is_one_tab_stop_and_the_focus_follows_the_cursor(queue: "Page") -> None:
    press(queue, "j")
    assert queue.locator("tr[tabindex='0']").count() == 1
    assert queue.evaluate("document.activeElement.matches('tr.group[tabindex=\"0\"]')")


def test_focus_goes_to_the_next_row_when_one_is_reopened(queue: "Page") -> None:
    press(queue, "a", "a")
    saved_verdicts(queue)
    queue.goto(queue.url + "processed")
    buttons = queue.locator("[data-reopen]")
    second = buttons.nth(1).get_attribute("aria-label")
    buttons.first.focus()
    with queue.expect_response("**/api/v1/verdicts"):
        press(queue, "Enter")
    assert queue.locator("[data-reopen]:focus").get_attribute("aria-label") == second


def test_undo_that_fails_leaves_a_reopened_change_in_the_queue(queue: "Page") -> None:
    press(queue, "a")
    saved_verdicts(queue)
    queue.goto(queue.url + "processed")
    row = queue.locator("[data-row]").first
    queue.route("**/undo", lambda route: route.fulfill(status=422, json={}))
    with queue.expect_response("**/api/v1/verdicts"):
        row.get_by_role("button", name="Reopen").click()
    press(queue, "u")
    queue.get_by_role("status").get_by_text("Not undone").wait_for()
    assert row.is_hidden()


def test_letters_do_nothing_in_fields_and_where_they_are_switched_off(queue: "Page") -> None:
    press(queue, "/")
    queue.keyboard.type("ha")
    assert groups(queue).count() == 2
    press(queue, "Escape", "?")
    queue.get_by_role("dialog").get_by_text("Single-key shortcuts").click()
    queue.get_by_role("button", name="Close").click()
    press(queue, "h")
    assert groups(queue).count() == 2
    press(queue, "ArrowDown")
    assert groups(queue).nth(1).get_attribute("aria-current") == "true"


@pytest.mark.parametrize("content", [fill_long])
@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_arguments_stay_readable_beside_long_labels(board: Board, page: "Page", width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(board.url)
    ready(page)
    press(page, "o")
    page.locator("tr.member").wait_for()
    arguments = page.locator(".labels > bdi + bdi")
    assert arguments.all_inner_texts() == [" · thread_level 64"] * 2
    assert arguments.evaluate_all(UNCUT)


@pytest.mark.parametrize("content", [fill_long])
@pytest.mark.parametrize("width", [400, 600, 720, 960, 1200])
@pytest.mark.parametrize("sort", ["expected", "change"])
def test_labels_and_navigation_are_shown_in_full_in_narrower_windows(
    board: Board, page: "Page", width: int, sort: str
) -> None:
    page.set_viewport_size({"width": width, "height": 500})
    page.goto(f"{board.url}/?sort={sort}")
    ready(page)
    press(page, "o")
    page.locator("tr.member").wait_for()
    assert page.locator(".labels").evaluate_all(INSIDE) == [True] * 2
    assert page.locator(".nav a").evaluate_all(INSIDE) == [True] * 6
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"{board.url}/processed")
    assert page.locator(".nav a").evaluate_all(INSIDE) == [True] * 6


@pytest.mark.parametrize("content", [partial(fill, names=HOSTILE)])
@pytest.mark.parametrize("width", [390, 1024])
def test_odd_names_neither_run_nor_stretch_the_page(board: Board, page: "Page", width: int) -> None:
    page.on("dialog", lambda _: pytest.fail("a name was run"))
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(board.url)
    ready(page)
    press(page, "o")
    page.locator("tr.member").nth(2).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    names = page.locator("tr.member .name").all_inner_texts()
    assert "<script>alert(1)</script>" in names
    assert all(len(name) <= 60 and "\u202e" not in name for name in names)


def test_a_verdict_updates_what_the_page_counts(queue: "Page") -> None:
    assert queue.get_by_text("2 groups from 2 commits, 4 series.").is_visible()
    press(queue, "h")
    queue.locator("[data-left]").get_by_text("1 group", exact=True).wait_for()
    assert queue.get_by_text("from 2 commits").is_hidden()
    queue.locator("[data-nav-count=queue]").get_by_text("1", exact=True).wait_for()


def test_counts_follow_verdicts_before_the_service_answers(queue: "Page") -> None:
    navigation = queue.locator("[data-nav-count=queue]")
    worse = queue.locator("[data-effect-count=worse]")
    navigation.get_by_text("2").wait_for()
    queue.route("**/api/v1/verdicts", lambda _route: None)  # no answer
    queue.route("**/api/v1/board", lambda _route: None)
    press(queue, "a")
    assert (navigation.inner_text(), worse.inner_text()) == ("1", "1")
    press(queue, "a")
    assert queue.get_by_role("heading", name="All clear").is_visible()
    assert (navigation.inner_text(), worse.inner_text()) == ("", "0")
    press(queue, "u", "u")
    assert (navigation.inner_text(), worse.inner_text()) == ("2", "2")


def test_every_page_counts_what_waits(queue: "Page") -> None:
    queue.locator("[data-nav-count=queue]").get_by_text("2").wait_for()
    assert "ago" in queue.locator("[data-last-result]").inner_text()


def test_earlier_answer_about_the_counts_does_not_replace_a_later_one(
    page: "Page", board: Board
) -> None:
    page.add_init_script(HELD)
    page.goto(board.url)
    wait_for(lambda: page.evaluate("answers.length") == 1)
    page.evaluate("document.dispatchEvent(new CustomEvent('verdictssaved'))")
    wait_for(lambda: page.evaluate("answers.length") == 2)
    page.evaluate("answer(1, 2)")
    page.evaluate("answer(0, 7)")
    assert page.locator("[data-nav-count=queue]").inner_text() == "2"
