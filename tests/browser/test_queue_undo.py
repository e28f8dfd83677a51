"""After an undo that fails, or only partly succeeds, the queue shows what the service has."""

from typing import TYPE_CHECKING

from barograph.results.series import Verdict
from tests.browser.queues import groups, press, saved_verdicts
from tests.browser.serving import Board

if TYPE_CHECKING:
    from playwright.sync_api import Page


def give(page: "Page", key: str = "a") -> None:
    with page.expect_response("**/api/v1/verdicts"):
        press(page, key)


def refuse_undo(page: "Page", times: int | None = None) -> None:
    answer = {"error": {"message": "the verdicts of this project are locked"}}
    page.route("**/undo", lambda route: route.fulfill(status=409, json=answer), times=times)


def undo(page: "Page") -> None:
    with page.expect_response("**/undo"):
        press(page, "u")


def test_undo_that_fails_takes_the_rows_away_again(queue: "Page") -> None:
    refuse_undo(queue)
    press(queue, "x", "j", "Shift+X")
    give(queue)
    undo(queue)
    queue.get_by_role("status").get_by_text("Not undone").wait_for()
    assert "are locked" in queue.get_by_role("status").all_inner_texts()[-1]
    assert groups(queue).count() == 0
    assert queue.get_by_role("heading", name="All clear").is_visible()
    assert set(saved_verdicts(queue).values()) == {"true_positive"}


def test_undo_that_failed_can_be_tried_again(queue: "Page") -> None:
    refuse_undo(queue, times=1)
    give(queue)
    undo(queue)
    with queue.expect_response("**/undo"):
        queue.get_by_role("button", name="Try again").click()
    assert groups(queue).count() == 2
    assert set(saved_verdicts(queue).values()) == {"not_triaged"}


def test_undo_of_an_exception_that_fails_leaves_it_marked(queue: "Page") -> None:
    refuse_undo(queue)
    press(queue, "o")
    queue.locator("tr.member").nth(2).wait_for()
    press(queue, "j", "j")
    give(queue, "h")
    undo(queue)
    queue.get_by_role("status").get_by_text("Not undone").wait_for()
    assert queue.locator("tr.member.excepted").count() == 1
    assert groups(queue).first.locator("[data-count]").inner_text() == "2"


def test_undo_of_an_exception_brings_back_a_group_that_another_verdict_took(queue: "Page") -> None:
    press(queue, "o")
    queue.locator("tr.member").nth(2).wait_for()
    press(queue, "j", "j")
    give(queue, "h")
    press(queue, "k", "k", "k")
    give(queue, "a")
    refuse_undo(queue, times=1)
    undo(queue)
    queue.get_by_role("status").get_by_text("Not undone").wait_for()
    assert groups(queue).count() == 1
    undo(queue)
    queue.locator("tr.group").nth(1).wait_for()
    assert groups(queue).first.locator("[data-count]").inner_text() == "1"
    assert queue.locator("tr.member.excepted").count() == 2
    give(queue, "i")
    assert groups(queue).count() == 1
    verdicts = sorted(saved_verdicts(queue).values())
    assert verdicts == ["not_triaged", "true_positive", "true_positive", "under_investigation"]


def test_member_that_somebody_decided_stays_away_after_an_undo(queue: "Page", board: Board) -> None:
    points = groups(queue).first.get_attribute("data-points") or ""
    give(queue)
    saved_verdicts(queue)
    board.decide(int(points.split()[-1].split(":")[0]), Verdict.FALSE_POSITIVE, "wen")
    undo(queue)
    queue.get_by_role("status").get_by_text(
        "1 of 3 not undone. Decided meanwhile: noise"
    ).wait_for()
    assert groups(queue).count() == 2
    assert groups(queue).first.locator("[data-count]").inner_text() == "2"


def test_undo_brings_back_those_beside_a_refused_member(queue: "Page", board: Board) -> None:
    points = groups(queue).first.get_attribute("data-points") or ""
    board.decide(int(points.split()[-1].split(":")[0]), Verdict.FALSE_POSITIVE, "wen")
    give(queue)
    queue.locator("tr.refused").get_by_role("button", name="Keep theirs").click()
    assert groups(queue).count() == 1
    undo(queue)
    assert groups(queue).count() == 2
    assert groups(queue).first.locator("[data-count]").inner_text() == "2"
    give(queue, "i")
    verdicts = sorted(saved_verdicts(queue).values())
    assert verdicts == [
        "false_positive",
        "not_triaged",
        "under_investigation",
        "under_investigation",
    ]


def test_group_with_an_exception_comes_back_when_its_verdict_fails(queue: "Page") -> None:
    answer = {"error": {"message": "the verdicts of this project are locked"}}
    press(queue, "o")
    queue.locator("tr.member").nth(2).wait_for()
    press(queue, "j", "j")
    give(queue, "h")
    queue.route("**/api/v1/verdicts", lambda route: route.fulfill(status=409, json=answer))
    press(queue, "k", "k", "k")
    give(queue, "a")
    queue.get_by_role("status").get_by_text("Not saved: 2 series of").wait_for()
    assert groups(queue).count() == 2
    assert queue.locator("tr.member.excepted").count() == 1
    assert groups(queue).first.locator("[data-count]").inner_text() == "2"
    assert sorted(saved_verdicts(queue).values()) == ["false_positive", *["not_triaged"] * 3]


def test_verdict_that_replaces_another_takes_the_row_away(queue: "Page", board: Board) -> None:
    number = groups(queue).nth(1).get_attribute("data-candidate") or ""
    board.decide(int(number), Verdict.FALSE_POSITIVE, "wen")
    press(queue, "j")
    give(queue)
    queue.locator("tr.refused").wait_for()
    with queue.expect_response("**/api/v1/verdicts"):
        queue.get_by_role("button", name="Replace with real").click()
    assert groups(queue).count() == 1
    assert queue.locator("tr.refused").count() == 0
    assert [word for word, _ in board.verdicts(int(number))] == ["noise", "real"]


def test_verdicts_say_why_they_are_not_saved_while_offline(queue: "Page") -> None:
    queue.context.set_offline(True)
    press(queue, "a", "h")
    queue.get_by_text("2 not saved yet. You are offline.").wait_for()
    press(queue, "u")
    assert groups(queue).count() == 1
    queue.get_by_text("1 not saved yet. You are offline.").wait_for()
    queue.context.set_offline(False)
    queue.locator("[data-pending]").wait_for(state="hidden")
    assert sorted(saved_verdicts(queue).values()) == ["not_triaged", *["true_positive"] * 3]
