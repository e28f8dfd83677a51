"""Signing in, what each scope may do, and pages that are older than a session."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from barograph.server.store import Store, tokens
from barograph.server.store.tokens import Scope
from tests.browser.serving import Board, serving
from tests.browser.test_every_page import violations
from tests.browser.test_verdicts import add, give, open_harness, start, toast
from tests.store.samples import point

if TYPE_CHECKING:
    from playwright.sync_api import Page

HARNESS = re.compile("^[^?]*/harness$")
SCOPES = {
    "reader": [Scope.READ],
    "ada": [Scope.READ, Scope.TRIAGE],
    "wen": [Scope.READ, Scope.TRIAGE],
    "ci": [Scope.INGEST],
}
SECRETS: dict[str, str] = {}


def fill(store: Store) -> None:
    store.ingest([point(order) for order in range(3)], "ci")
    for name, scopes in SCOPES.items():
        SECRETS[name] = store.write(
            lambda c, name=name, scopes=scopes: tokens.create(c, name, scopes, "test")  # type: ignore[misc]
        )


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A service with a token for each kind of person."""
    with serving(tmp_path_factory.mktemp("board"), fill) as board:
        yield board


def sign_in(page: "Page", url: str, name: str) -> None:
    page.goto(f"{url}/sign-in?next=/harness")
    page.locator("input:focus").fill(SECRETS[name])  # the field has the focus
    page.keyboard.press("Enter")


def arrive(page: "Page", url: str) -> None:
    """Wait for the way back to the page; redirects are not routed, so it is opened again."""
    page.wait_for_url(HARNESS)
    page.goto(f"{url}/harness")
    page.wait_for_function("window.verdicts")


def open_signed_in(page: "Page", board: Board, name: str) -> None:
    open_harness(page, board, "session")
    sign_in(page, board.url, name)
    arrive(page, board.url)


def test_person_signs_in_once_and_gives_a_verdict(board: Board, page: "Page") -> None:
    points = add(board)
    open_signed_in(page, board, "ada")
    give(page, points)
    assert board.verdicts(points[0]["id"]) == [("real", "ada")]
    page.goto(f"{board.url}/sign-in")  # leads on, because a second time is not needed
    assert "/sign-in" not in page.url


def test_reader_signs_in_with_another_token(board: Board, page: "Page") -> None:
    sign_in(page, board.url, "reader")
    page.wait_for_url(HARNESS)
    page.goto(f"{board.url}/?effect=unknown&state=any")
    page.get_by_role("link", name="Sign in with another token").click()
    page.get_by_label("Token").fill(SECRETS["ada"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/?effect=unknown&state=any")
    page.locator("bdi.who", has_text="ada").wait_for()
    assert page.locator("[data-picked] [data-verdict]").first.is_enabled()


def test_form_keeps_the_rules_of_wcag(board: Board, page: "Page") -> None:
    page.goto(f"{board.url}/sign-in")
    page.locator("summary").click()
    assert not violations(page)


def test_wrong_token_is_refused_beside_the_field(board: Board, page: "Page") -> None:
    page.goto(f"{board.url}/sign-in?next=/harness")
    page.get_by_label("Token").fill("baro_wrong")
    page.get_by_role("button", name="Sign in").click()
    assert page.get_by_role("alert").inner_text() == "Unknown token."
    page.get_by_label("Token").and_(page.locator(":focus")).wait_for()


def test_token_without_read_cannot_sign_in(board: Board, page: "Page") -> None:
    sign_in(page, board.url, "ci")
    assert "pages need the scope read" in page.get_by_role("alert").inner_text()


def test_verdict_of_a_reader_is_refused_with_the_scope_it_needs(board: Board, page: "Page") -> None:
    points = add(board)
    open_signed_in(page, board, "reader")
    assert "lacks the scope 'triage'" in give(page, points)["failed"]
    assert "Not saved: 2 series of insert." in toast(page)
    assert board.verdicts(points[0]["id"]) == []


def test_verdict_survives_the_end_of_the_session(board: Board, page: "Page") -> None:
    points = add(board)
    open_signed_in(page, board, "ada")
    page.context.clear_cookies()
    start(page, points)
    page.wait_for_url("**/sign-in?next=%2Fharness")
    page.get_by_label("Token").fill(SECRETS["ada"])
    page.keyboard.press("Enter")
    arrive(page, board.url)
    page.evaluate("verdicts.settled()")
    assert board.verdicts(points[0]["id"]) == [("real", "ada")]


def sign_in_elsewhere(page: "Page", url: str, name: str) -> None:
    """Sign in again in another tab of the same browser."""
    page.context.clear_cookies()
    other = page.context.new_page()
    other.route(f"{url}/harness", lambda route: route.fulfill(body="other tab"))
    sign_in(other, url, name)
    other.wait_for_url(HARNESS)


def test_verdict_is_not_saved_under_the_name_of_whoever_signs_in_next(
    board: Board, page: "Page"
) -> None:
    points = add(board)
    open_signed_in(page, board, "ada")
    page.context.clear_cookies()
    start(page, points)
    page.wait_for_url("**/sign-in?next=%2Fharness")
    page.get_by_label("Token").fill(SECRETS["wen"])
    page.keyboard.press("Enter")
    arrive(page, board.url)
    assert toast(page).startswith("A verdict by ada was not saved: wen is signed in now.")
    page.evaluate("verdicts.settled()")
    assert board.verdicts(points[0]["id"]) == []


def test_page_that_is_older_than_the_session_still_saves(board: Board, page: "Page") -> None:
    points = add(board)
    open_signed_in(page, board, "ada")
    sign_in_elsewhere(page, board.url, "ada")
    give(page, points)
    assert board.verdicts(points[0]["id"]) == [("real", "ada")]


def test_page_of_one_person_saves_nothing_for_another(board: Board, page: "Page") -> None:
    points = add(board)
    open_signed_in(page, board, "ada")
    sign_in_elsewhere(page, board.url, "wen")
    outcome = give(page, points)
    assert outcome["failed"].startswith("This page was opened by ada, and wen is signed in now.")
    assert board.verdicts(points[0]["id"]) == []


def test_page_of_another_site_cannot_give_a_verdict(board: Board, page: "Page") -> None:
    points = add(board)
    open_signed_in(page, board, "ada")
    evil = board.url.replace("127.0.0.1", "localhost")
    page.route(f"{evil}/evil", lambda route: route.fulfill(content_type="text/html", body="evil"))
    page.goto(f"{evil}/evil")
    forge = """async ([url, id]) => {
      const body = JSON.stringify({ verdict: "unsure", change_points: [{ id }] });
      const options = { method: "POST", body, credentials: "include", mode: "no-cors" };
      await fetch(`${url}/api/v1/verdicts`, options).catch(() => {});
      const form = document.createElement("form");
      Object.assign(form, { method: "POST", action: `${url}/sign-out` });
      document.body.append(form);
      form.submit();
    }"""
    with page.expect_navigation():
        page.evaluate(forge, [board.url, points[0]["id"]])
    assert board.verdicts(points[0]["id"]) == []
    page.goto(f"{board.url}/sign-in?next=/harness")
    page.wait_for_url(HARNESS)  # still signed in


def test_link_from_another_site_arrives_signed_in(board: Board, page: "Page") -> None:
    open_signed_in(page, board, "ada")
    elsewhere = board.url.replace("127.0.0.1", "localhost")
    link = f'<a href="{board.url}/">board</a>'
    page.route(
        f"{elsewhere}/chat", lambda route: route.fulfill(content_type="text/html", body=link)
    )
    page.goto(f"{elsewhere}/chat")
    page.get_by_role("link").click()
    page.get_by_role("button", name="Sign out").wait_for()
