"""Verdicts in the queue: by the keyboard, on groups with exceptions, undone, and refused."""

import re
from typing import TYPE_CHECKING

from barograph.results.series import Verdict
from tests.browser.conftest import ready
from tests.browser.queues import fill, groups, press, saved_verdicts
from tests.browser.serving import Board

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


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


def test_a_toast_names_the_labels_of_a_single_series(queue: "Page") -> None:
    press(queue, "o")
    member = queue.locator("tr.member").nth(1)
    name = member.get_attribute("data-name")
    press(queue, "j", "j", "h")
    toast = queue.get_by_role("status")
    toast.get_by_text(f"Marked {name} (linux · nightly · p99) as noise.").wait_for()
    press(queue, "u")
    toast.get_by_text(f"Undone: {name} (linux · nightly · p99) is as before.").wait_for()
    press(queue, "k", "k", "a")
    toast.get_by_text(re.compile(r"Marked 3 series of \w+ as real\.")).wait_for()


def test_rows_keep_their_place_when_new_groups_are_announced(queue: "Page") -> None:
    top = "(row) => row.getBoundingClientRect().top"
    before = groups(queue).first.evaluate(top)
    queue.locator("[data-fresh]").evaluate(
        "(button) => { button.hidden = false; button.textContent = '1 new group'; }"
    )
    assert groups(queue).first.evaluate(top) == before


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


def test_try_again_keeps_the_rows_until_the_service_answers(queue: "Page") -> None:
    queue.route("**/queue/*", lambda route: route.fulfill(status=503, body="{}"))
    queue.evaluate("window.isFirst = true")
    press(queue, "o")
    again = queue.get_by_role("alert").get_by_role("button", name="Try again")
    with queue.expect_response("**/queue/rows?*"):
        again.click()
    queue.get_by_role("alert").get_by_text("The service answered 503.").wait_for()
    assert queue.evaluate("window.isFirst")
    queue.unroute("**/queue/*")
    again.click()
    queue.wait_for_function("() => !window.isFirst")
    ready(queue)


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


def test_row_shows_what_others_did_to_its_group(queue: "Page", board: Board) -> None:
    fill(board.store, ("upsert",))
    points = queue.locator("tr.group").first.get_attribute("data-points") or ""
    board.decide(int(points.split()[-1].split(":")[0]), Verdict.FALSE_POSITIVE, "wen")
    queue.evaluate("dispatchEvent(new Event('focus'))")
    queue.locator("tr.group").first.get_by_text("1 joined, 1 decided or gone").wait_for()
