"""The queue in a browser: the keyboard alone, groups with exceptions, undo, filters, odd names."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barograph.detection import Hunter
from barograph.series import Direction, SeriesId, Verdict
from barograph.service import RefreshLoop, WorkerConfig
from barograph.store import Measurement, Store
from tests.browser.conftest import ready
from tests.browser.serving import Board, Fill, serving
from tests.shared import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

LENGTH = 30
# The module is the one that the page has loaded.
SAVED = """async () => {
  const { src } = document.querySelector('script[src$="queue.js"]');
  const { pendingCount } = await import(src.replace("queue.js", "verdicts.js"));
  while (pendingCount()) await new Promise((resolve) => setTimeout(resolve, 20));
}"""
# Whether all elements are as wide as their text.
UNCUT = """(all) => all.every((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getBoundingClientRect().width <= cell.getBoundingClientRect().width + 0.01;
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
# Where each test got slower, and by how much; others change as the first does.
TESTS = {"insert": (25, 20.0), "update": (25, 20.0), "remove": (25, 20.0), "find": (15, 8.0)}
LOWER = Direction.LOWER_IS_BETTER
HOSTILE = ("<script>alert(1)</script>", "\u202egnp.exe\u202c", "x" * 500)


LONG = SeriesId("db", "v" * 30, "t" * 30, "insert", "m" * 30, (("thread_level", "64"),))


def fill(store: Store, names: tuple[str, ...] = tuple(TESTS)) -> None:
    """Three series that got slower at the same commit, and a fourth at another."""
    rows = []
    for name in names:
        step, size = TESTS.get(name, TESTS["insert"])
        series = SeriesId("db", "linux", "nightly", name, "p99")
        for order in range(LENGTH):
            value = 100.0 + (order * 7919 % 13) / 13 + size * (order >= step)
            commit = f"{order:040x}"
            rows.append(Measurement(series, value, order, commit, direction=LOWER))
    search(store, rows)


def fill_long(store: Store) -> None:
    """A series with long labels that got slower."""
    values = [100.0 + (k * 7919 % 13) / 13 + 20.0 * (k >= 25) for k in range(LENGTH)]
    search(store, [Measurement(LONG, value, k, direction=LOWER) for k, value in enumerate(values)])


def fill_three(store: Store) -> None:
    """Groups at three commits."""
    fill(store)
    series = SeriesId("db", "linux", "nightly", "scan", "p99")
    values = [100.0 + (k * 7919 % 13) / 13 + 5.0 * (k >= 10) for k in range(LENGTH)]
    search(
        store, [Measurement(series, value, k, direction=LOWER) for k, value in enumerate(values)]
    )


def search(store: Store, sent: list[Measurement]) -> None:
    """Store results and find their change points."""
    store.ingest(sent, "ci")
    RefreshLoop(store, WorkerConfig("", Hunter(), "Hunter", None)).run_once(clusters=False)


@pytest.fixture
def content() -> Fill:
    """What the store of the service holds."""
    return fill


@pytest.fixture
def board(tmp_path: Path, content: Fill) -> Iterator[Board]:
    with serving(tmp_path, content) as board:
        yield board


@pytest.fixture
def queue(board: Board, page: "Page") -> "Page":
    """The open queue, with the cursor on its first group."""
    page.goto(board.url)
    ready(page)
    return page


def groups(page: "Page") -> "Locator":
    return page.locator("tr.group")


def press(page: "Page", *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def saved_verdicts(page: "Page") -> dict[str, str]:
    """The verdicts by test, from the API, once all are saved."""
    page.evaluate(SAVED)
    answer = page.evaluate("fetch('/api/v1/change-points').then((answer) => answer.json())")
    names = page.evaluate("fetch('/api/v1/series').then((answer) => answer.json())")
    tests = {series["id"]: series["test"] for series in names["series"]}
    return {tests[point["series"]]: point["verdict"] for point in answer["change_points"]}


def test_a_group_with_an_exception_is_decided_by_the_keyboard_alone(queue: "Page") -> None:
    assert groups(queue).count() == 2
    press(queue, "o")
    queue.locator("tr.member").nth(2).wait_for()
    exception = queue.locator("tr.member").nth(1).get_attribute("data-name")
    press(queue, "j", "j", "h")
    queue.locator("tr.member.excepted .tag.noise").wait_for()
    press(queue, "k", "k", "k", "a")
    assert groups(queue).count() == 1
    queue.get_by_role("status").get_by_text("as real").wait_for()
    press(queue, "n")
    queue.get_by_role("heading", name="All clear").wait_for()
    verdicts = saved_verdicts(queue)
    assert verdicts.pop(str(exception)) == "false_positive"
    assert verdicts.pop("find") == "unsure"
    assert set(verdicts.values()) == {"true_positive"}


def test_undo_brings_the_row_back_in_place(queue: "Page") -> None:
    names = groups(queue).evaluate_all("(rows) => rows.map((row) => row.dataset.name)")
    press(queue, "a", "h")
    assert groups(queue).count() == 0
    press(queue, "u", "u")
    assert groups(queue).evaluate_all("(rows) => rows.map((row) => row.dataset.name)") == names
    assert set(saved_verdicts(queue).values()) == {"not_triaged"}


def test_group_opens_although_its_undo_is_not_saved_yet(queue: "Page") -> None:
    def hold(route: "Route") -> None:
        queue.wait_for_timeout(500)
        route.continue_()

    with queue.expect_response("**/api/v1/verdicts"):
        press(queue, "a")
    queue.route("**/undo", hold)
    press(queue, "u", "o")
    queue.locator("tr.member").nth(2).wait_for()
    assert queue.get_by_role("alert").is_hidden()


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


def test_a_verdict_updates_what_the_page_counts(queue: "Page") -> None:
    assert queue.get_by_text("2 groups from 2 commits, 4 series.").is_visible()
    press(queue, "h")
    queue.locator("[data-left]").get_by_text("1 group", exact=True).wait_for()
    assert queue.get_by_text("from 2 commits").is_hidden()
    queue.locator("[data-nav-count=queue]").get_by_text("1", exact=True).wait_for()


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


def test_the_preview_fills_when_the_window_becomes_wide(queue: "Page") -> None:
    queue.set_viewport_size({"width": 1024, "height": 800})
    queue.reload()
    ready(queue)
    assert queue.locator("[data-preview]").is_hidden()
    queue.set_viewport_size({"width": 1440, "height": 800})
    queue.locator("[data-part=reasons] li").first.wait_for()


def test_a_selection_is_decided_at_once(queue: "Page") -> None:
    press(queue, "x", "j", "Shift+X")
    assert queue.get_by_text("2 selected").is_visible()
    press(queue, "i")
    assert groups(queue).count() == 0
    assert set(saved_verdicts(queue).values()) == {"under_investigation"}


def test_change_that_another_person_decided_comes_back_with_their_name(
    queue: "Page", board: Board
) -> None:
    [number] = groups(queue).nth(1).evaluate_all("(rows) => rows.map((r) => r.dataset.candidate)")
    board.decide(int(number), Verdict.FALSE_POSITIVE, "wen")
    press(queue, "j", "a")
    line = queue.locator("tr.refused")
    line.wait_for()
    assert "noise by wen" in line.inner_text()
    assert groups(queue).count() == 2


def test_members_that_joined_since_are_left_out_and_counted(queue: "Page", board: Board) -> None:
    fill(board.store, ("upsert",))
    press(queue, "o")
    queue.locator("tr.member").nth(2).wait_for()
    press(queue, "a")
    queue.get_by_role("status").get_by_text("1 new member was left out.").wait_for()
    assert saved_verdicts(queue)["upsert"] == "not_triaged"


def test_members_that_do_not_load_leave_the_group_closed(queue: "Page") -> None:
    queue.route("**/queue/members?*", lambda route: route.fulfill(status=503, body="{}"), times=1)
    press(queue, "o")
    queue.get_by_role("alert").get_by_text("The service answered 503.").wait_for()
    assert queue.locator(".twist").first.get_attribute("aria-expanded") == "false"
    press(queue, "o")
    queue.locator("tr.member").nth(2).wait_for()
    assert queue.get_by_role("alert").is_hidden()


def test_slow_parts_of_the_preview_show_that_they_load(board: Board, page: "Page") -> None:
    held: list[Route] = []
    page.route("**/change-points/*/reasons", lambda route: held.append(route))  # noqa: PLW0108
    page.goto(board.url)
    part = page.locator("[data-part=reasons]")
    part.locator(".bone").first.wait_for()
    assert part.get_by_role("heading").inner_text().startswith("Why")
    while not held:
        page.wait_for_timeout(10)
    held[0].fulfill(json={"probability": 0.5, "reasons": [], "facts": ["It rained."]})
    part.get_by_text("It rained.").wait_for()
    assert part.locator(".bone").count() == 0


def test_a_reason_and_a_note_go_with_the_verdict(queue: "Page") -> None:
    press(queue, "r")
    queue.locator("[name=verdict]").select_option("false_positive")
    queue.locator("[name=reason]").fill("environment")
    queue.locator("[name=note]").fill("a noisy host")
    queue.get_by_role("button", name="Give verdict").click()
    queue.get_by_role("status").get_by_text("as noise").wait_for()  # the dialog closes later
    assert groups(queue).count() == 1
    saved_verdicts(queue)
    queue.goto(queue.url + "processed")
    assert queue.get_by_text("a noisy host").first.is_visible()
    queue.get_by_role("button", name="Reopen").first.click()
    queue.get_by_role("status").get_by_text("Reopened").wait_for()


def test_a_filter_added_by_keyboard_lives_in_the_address(queue: "Page") -> None:
    press(queue, "f")
    queue.get_by_label("Field").select_option("test")
    queue.get_by_label("Value").fill("find")
    press(queue, "Enter")
    queue.wait_for_url("**/?test=find")
    ready(queue)
    assert groups(queue).count() == 1
    queue.reload()
    assert groups(queue).count() == 1
    queue.get_by_role("link", name="Remove the filter: Test").click()
    queue.wait_for_url("**/")
    ready(queue)
    press(queue, "/")
    queue.keyboard.type("nothing like it")
    press(queue, "Enter")
    queue.get_by_role("heading", name="Nothing matches").wait_for()


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


def test_there_is_one_tab_stop_and_the_focus_follows_the_cursor(queue: "Page") -> None:
    press(queue, "j")
    assert queue.locator("tr[tabindex='0']").count() == 1
    assert queue.evaluate("document.activeElement.matches('tr.group[tabindex=\"0\"]')")


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


def test_row_shows_what_others_did_to_its_group(queue: "Page", board: Board) -> None:
    fill(board.store, ("upsert",))
    points = queue.locator("tr.group").first.get_attribute("data-points") or ""
    board.decide(int(points.split()[-1].split(":")[0]), Verdict.FALSE_POSITIVE, "wen")
    queue.evaluate("dispatchEvent(new Event('focus'))")
    queue.locator("tr.group").first.get_by_text("1 joined, 1 decided or gone").wait_for()


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


def test_search_for_a_percent_sign_stays_a_search(queue: "Page") -> None:
    press(queue, "/")
    queue.keyboard.type("cpu 50%")
    press(queue, "Enter")
    queue.get_by_role("heading", name="Nothing matches").wait_for()
    assert queue.locator("[name=q]").input_value() == "cpu 50%"


def test_filter_that_no_change_can_pass_is_not_added(queue: "Page") -> None:
    press(queue, "f")
    queue.get_by_label("Field").select_option("probability")
    queue.get_by_label("Value").fill("high")
    press(queue, "Enter")
    assert queue.get_by_role("dialog").is_visible()
    queue.get_by_label("Value").fill("1 %")
    press(queue, "Enter")
    queue.wait_for_url("**/?probability=0.01")


def test_a_saved_filter_is_renamed_and_deleted(queue: "Page") -> None:
    def menu() -> None:
        queue.locator("[data-saved] > summary").click()

    queue.goto(queue.url + "?effect=worse")
    menu()
    queue.get_by_label("Name of the filter").fill("Mornin")
    press(queue, "Enter")
    queue.locator("[data-saved] > summary", has_text="Mornin").wait_for()
    menu()
    queue.get_by_role("button", name="Rename Mornin").click()
    queue.keyboard.type("Morning")
    press(queue, "Enter")
    queue.locator("[data-saved] > summary", has_text="Morning").wait_for()
    menu()
    queue.once("dialog", lambda dialog: dialog.dismiss())
    queue.get_by_role("button", name="Delete Morning").click()
    queue.once("dialog", lambda dialog: dialog.accept())
    queue.get_by_role("button", name="Delete Morning").click()
    queue.locator("[data-saved] > summary", has_text="Saved filters").wait_for()


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
