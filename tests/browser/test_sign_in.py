"""Signing in, what each scope may do, and pages that are older than a session."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from barograph.store import Store, tokens
from barograph.store.tokens import Scope
from tests.browser.serving import serving
from tests.browser.test_every_page import violations
from tests.browser.test_verdicts import Desk, give, start, toast
from tests.store.samples import point

if TYPE_CHECKING:
    from playwright.sync_api import Page

HARNESS = re.compile("^[^?]*/harness$")
SECRETS: dict[str, str] = {}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A service with a token for each kind of person."""
    opened: list[Store] = []

    def fill(store: Store) -> None:
        store.ingest([point(order) for order in range(3)], "ci")
        scopes = {
            "reader": [Scope.READ],
            "ada": [Scope.READ, Scope.TRIAGE],
            "wen": [Scope.READ, Scope.TRIAGE],
            "ci": [Scope.INGEST],
        }
        for name, own in scopes.items():
            SECRETS[name] = store.write(
                lambda c, name=name, own=own: tokens.create(c, name, own, "test")  # type: ignore[misc]
            )
        opened.append(store)

    with serving(tmp_path_factory.mktemp("desk"), fill) as url:
        yield Desk(url, opened[0])


def sign_in(page: "Page", url: str, name: str) -> None:
    page.goto(f"{url}/sign-in?next=/harness")
    page.locator("input:focus").fill(SECRETS[name])  # the field has the focus
    page.keyboard.press("Enter")


def arrive(page: "Page", url: str) -> None:
    """Wait for the way back to the page; redirects are not routed, so it is opened again."""
    page.wait_for_url(HARNESS)
    page.goto(f"{url}/harness")
    page.wait_for_function("window.verdicts")


def test_person_signs_in_gives_a_verdict_and_signs_out(desk: Desk, page: "Page") -> None:
    points = desk.add()
    desk.open(page, "session")
    sign_in(page, desk.url, "ada")
    arrive(page, desk.url)
    give(page, points)
    assert desk.said(points[0]) == [("real", "ada")]
    page.goto(f"{desk.url}/sign-in")  # leads on, because nobody has to sign in twice
    assert "/sign-in" not in page.url


def test_form_keeps_the_rules_of_wcag(desk: Desk, page: "Page") -> None:
    page.goto(f"{desk.url}/sign-in")
    page.locator("summary").click()
    assert not violations(page)


def test_wrong_token_is_answered_beside_the_field(desk: Desk, page: "Page") -> None:
    page.goto(f"{desk.url}/sign-in?next=/harness")
    page.get_by_label("Token").fill("baro_wrong")
    page.get_by_role("button", name="Sign in").click()
    assert page.get_by_role("alert").inner_text() == "Unknown token."
    assert page.get_by_label("Token").evaluate("field => field === document.activeElement")


def test_token_without_read_cannot_sign_in(desk: Desk, page: "Page") -> None:
    sign_in(page, desk.url, "ci")
    assert "pages need the scope read" in page.get_by_role("alert").inner_text()


def test_reader_is_told_which_scope_a_verdict_needs(desk: Desk, page: "Page") -> None:
    points = desk.add()
    desk.open(page, "session")
    sign_in(page, desk.url, "reader")
    arrive(page, desk.url)
    assert "lacks the scope 'triage'" in give(page, points)["failed"]
    assert "Not saved: 2 series of insert." in toast(page)
    assert desk.said(points[0]) == []


def test_verdict_survives_the_end_of_the_session(desk: Desk, page: "Page") -> None:
    points = desk.add()
    desk.open(page, "session")
    sign_in(page, desk.url, "ada")
    arrive(page, desk.url)
    page.context.clear_cookies()
    start(page, points)
    page.wait_for_url("**/sign-in?next=%2Fharness")
    page.get_by_label("Token").fill(SECRETS["ada"])
    page.keyboard.press("Enter")
    arrive(page, desk.url)
    page.wait_for_function("verdicts.pendingCount() === 0")
    assert desk.said(points[0]) == [("real", "ada")]


def sign_in_elsewhere(page: "Page", url: str, name: str) -> None:
    """Sign in again in another tab of the same browser."""
    page.context.clear_cookies()
    other = page.context.new_page()
    other.route(f"{url}/harness", lambda route: route.fulfill(body="other tab"))
    sign_in(other, url, name)
    other.wait_for_url(HARNESS)


def test_verdict_is_not_saved_under_the_name_of_whoever_signs_in_next(
    desk: Desk, page: "Page"
) -> None:
    points = desk.add()
    desk.open(page, "session")
    sign_in(page, desk.url, "ada")
    arrive(page, desk.url)
    page.context.clear_cookies()
    start(page, points)
    page.wait_for_url("**/sign-in?next=%2Fharness")
    page.get_by_label("Token").fill(SECRETS["wen"])
    page.keyboard.press("Enter")
    arrive(page, desk.url)
    assert toast(page).startswith("A verdict by ada was not saved: wen is signed in now.")
    assert page.evaluate("verdicts.pendingCount()") == 0
    assert desk.said(points[0]) == []


def test_page_that_is_older_than_the_session_still_saves(desk: Desk, page: "Page") -> None:
    points = desk.add()
    desk.open(page, "session")
    sign_in(page, desk.url, "ada")
    arrive(page, desk.url)
    sign_in_elsewhere(page, desk.url, "ada")
    give(page, points)
    assert desk.said(points[0]) == [("real", "ada")]


def test_page_of_one_person_saves_nothing_for_another(desk: Desk, page: "Page") -> None:
    points = desk.add()
    desk.open(page, "session")
    sign_in(page, desk.url, "ada")
    arrive(page, desk.url)
    sign_in_elsewhere(page, desk.url, "wen")
    outcome = give(page, points)
    assert outcome["failed"].startswith("This page was opened by ada, and wen is signed in now.")
    assert desk.said(points[0]) == []


def test_page_of_another_site_cannot_give_a_verdict(desk: Desk, page: "Page") -> None:
    points = desk.add()
    desk.open(page, "session")
    sign_in(page, desk.url, "ada")
    arrive(page, desk.url)
    evil = desk.url.replace("127.0.0.1", "localhost")
    page.route(f"{evil}/evil", lambda route: route.fulfill(content_type="text/html", body="evil"))
    page.goto(f"{evil}/evil")
    sent = """async ([url, id]) => {
      const body = JSON.stringify({ verdict: "unsure", change_points: [{ id }] });
      const one = { method: "POST", body, credentials: "include", mode: "no-cors" };
      await fetch(`${url}/api/v1/verdicts`, one).catch(() => {});
      const form = document.createElement("form");
      Object.assign(form, { method: "POST", action: `${url}/sign-out` });
      document.body.append(form);
      form.submit();
    }"""
    with page.expect_navigation():
        page.evaluate(sent, [desk.url, points[0]["id"]])
    assert desk.said(points[0]) == []
    page.goto(f"{desk.url}/sign-in?next=/harness")
    page.wait_for_url(HARNESS)  # still signed in


def test_link_from_another_site_arrives_signed_in(desk: Desk, page: "Page") -> None:
    desk.open(page, "session")
    sign_in(page, desk.url, "ada")
    arrive(page, desk.url)
    elsewhere = desk.url.replace("127.0.0.1", "localhost")
    link = f'<a href="{desk.url}/">board</a>'
    page.route(
        f"{elsewhere}/chat", lambda route: route.fulfill(content_type="text/html", body=link)
    )
    page.goto(f"{elsewhere}/chat")
    page.get_by_role("link").click()
    page.get_by_role("button", name="Sign out").wait_for()
