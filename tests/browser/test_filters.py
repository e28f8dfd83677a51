"""Filters of the queue: added by the keyboard, refused, saved by name."""

from typing import TYPE_CHECKING

from tests.browser.conftest import ready
from tests.browser.queues import groups, press

if TYPE_CHECKING:
    from playwright.sync_api import Page


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


def test_filter_that_no_change_can_pass_is_not_added(queue: "Page") -> None:
    press(queue, "f")
    queue.get_by_label("Field").select_option("probability")
    queue.get_by_label("Value").fill("high")
    press(queue, "Enter")
    assert queue.get_by_role("dialog").is_visible()
    queue.get_by_label("Value").fill("1 %")
    press(queue, "Enter")
    queue.wait_for_url("**/?probability=0.01")


def test_search_for_a_percent_sign_stays_a_search(queue: "Page") -> None:
    press(queue, "/")
    queue.keyboard.type("cpu 50%")
    press(queue, "Enter")
    queue.get_by_role("heading", name="Nothing matches").wait_for()
    assert queue.locator("[name=q]").input_value() == "cpu 50%"


def test_long_name_of_a_saved_filter_is_shortened(queue: "Page") -> None:
    name = "\u202e" + "x" * 90
    queue.goto(queue.url + "?effect=worse")
    current = queue.locator("[data-saved] > summary")
    current.click()
    queue.get_by_label("Name of the filter").fill(name)
    press(queue, "Enter")
    current.get_by_text("xxx").wait_for()
    assert len(current.inner_text()) < 40
    current.click()
    asked: list[str] = []
    queue.once("dialog", lambda dialog: asked.append(dialog.message))
    queue.once("dialog", lambda dialog: dialog.accept())
    queue.get_by_role("button", name="Delete").click()
    current.get_by_text("Saved filters").wait_for()
    assert [("\u202e" in text, len(text) < 80) for text in asked] == [(False, True)]


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
