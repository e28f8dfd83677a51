"""On a phone every action of the queue and of the processed changes has its place."""

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import ready
from tests.browser.queues import fill_long, groups, press, saved_verdicts
from tests.browser.serving import Board

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTH = 400


@pytest.fixture
def phone(board: Board, page: "Page") -> "Page":
    page.set_viewport_size({"width": WIDTH, "height": 844})
    page.goto(board.url)
    ready(page)
    return page


def stretched(page: "Page") -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth") > WIDTH)


def test_filters_are_added_and_saved_on_a_phone(phone: "Page") -> None:
    assert phone.locator("[data-add-filter]").is_hidden()
    phone.get_by_role("button", name="Filter and sort").click()
    phone.get_by_role("button", name="Add filter").click()
    phone.get_by_label("Field").select_option("test")
    phone.get_by_label("Value").fill("find")
    phone.get_by_role("button", name="Add", exact=True).click()
    phone.wait_for_url("**/?test=find")
    ready(phone)
    phone.get_by_role("button", name="Filter and sort").click()
    phone.get_by_text("Saved filters").click()
    assert not stretched(phone)
    phone.get_by_label("Name of the filter").fill("mine")
    phone.get_by_role("button", name="Save this filter").click()
    phone.locator("summary bdi", has_text="mine").wait_for(state="attached")


def test_queue_is_sorted_on_a_phone(phone: "Page") -> None:
    names = groups(phone).evaluate_all("(rows) => rows.map((row) => row.dataset.name)")
    phone.get_by_role("button", name="Filter and sort").click()
    phone.get_by_label("Sort by").select_option("age")
    phone.wait_for_url("**/?sort=age")
    ready(phone)
    assert phone.locator("[data-sort]").input_value() == "age"
    phone.get_by_role("button", name="Filter and sort").click()
    phone.get_by_label("Sort by").select_option("Expected hazard")
    phone.wait_for_url("**/?")
    ready(phone)
    assert groups(phone).evaluate_all("(rows) => rows.map((row) => row.dataset.name)") == names


@pytest.mark.parametrize("width", [WIDTH, 1024])
def test_series_of_a_row_opens_where_there_is_no_preview(phone: "Page", width: int) -> None:
    phone.set_viewport_size({"width": width, "height": 844})
    row = groups(phone).nth(1)
    number = row.get_attribute("data-series")
    row.locator(".name").click()
    phone.get_by_role("link", name="Series page").click()
    phone.wait_for_url(f"**/series/{number}?change_point=*")


@pytest.mark.parametrize("content", [fill_long])
def test_verdict_is_read_and_reopened_on_a_phone(phone: "Page") -> None:
    press(phone, "r")
    phone.locator("[name=reason]").fill("environment")
    phone.get_by_role("button", name="Give verdict").click()
    saved_verdicts(phone)
    phone.get_by_role("link", name="Processed").click()
    assert phone.get_by_text("environment").is_visible()
    assert not stretched(phone)
    phone.get_by_role("button", name="Reopen").click()
    phone.get_by_role("status").get_by_text("Reopened").wait_for()
    assert set(saved_verdicts(phone).values()) == {"not_triaged"}


def test_no_verdict_is_offered_on_a_phone_without_a_row(phone: "Page") -> None:
    buttons = phone.locator("[data-picked]")
    assert buttons.is_visible()
    phone.locator("[data-select-all]").evaluate("(box) => box.click()")
    buttons.get_by_role("button", name="Noise").click()
    phone.get_by_text("All clear").wait_for()
    assert buttons.is_hidden()
    saved_verdicts(phone)
    phone.goto(f"{phone.url}?q=nothing+like+it")
    phone.get_by_text("Nothing matches").wait_for()
    assert buttons.is_hidden()


@pytest.mark.parametrize("width", [390, 320])
def test_words_of_the_verdicts_fit_their_buttons(phone: "Page", width: int) -> None:
    phone.set_viewport_size({"width": width, "height": 844})
    buttons = phone.locator("[data-picked] button")
    wide = buttons.evaluate_all("(all) => all.filter((b) => b.scrollWidth > b.clientWidth).length")
    assert not wide
    assert not stretched(phone)


def test_rows_of_a_flat_list_have_one_border_on_a_phone(phone: "Page") -> None:
    phone.goto(f"{phone.url}?sort=probability")
    ready(phone)
    widths = groups(phone).first.evaluate(
        "(row) => [row, ...row.children].map((part) => getComputedStyle(part).borderTopWidth)"
    )
    assert widths == ["1px"] + ["0px"] * (len(widths) - 1)
