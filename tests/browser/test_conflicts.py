"""From a result to a verdict; on what changed meanwhile verdicts are refused, and none is lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from barograph.results.series import Direction, SeriesId, Verdict
from barograph.server.store import Measurement, Store, tokens
from barograph.server.store.schema import candidates
from barograph.server.store.tokens import Scope
from barograph.server.triage.refresh import CandidateRefresher
from tests.browser.conftest import ready
from tests.browser.serving import Board, serving
from tests.triage.test_refresh import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Page

STEP = 20
PEOPLE = ("ada", "wen")


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    """A service over an empty store."""
    with serving(tmp_path) as board:
        yield board


def fill(
    store: Store, tests: tuple[str, ...] = ("insert", "update", "remove"), first: int = 0
) -> list[int]:
    """Add series that got slower at the same commit; return all candidates in their order.

    Args:
        store: Where to add them.
        tests: Their names.
        first: Order of their first commit.
    """
    store.ingest(
        [
            Measurement(
                SeriesId("db", "linux", "nightly", test, "p99"),
                *(100.0 + k % 3 + 50.0 * (k >= STEP), first + k, f"{first + k:040x}"),
                direction=Direction.LOWER_IS_BETTER,
            )
            for test in tests
            for k in range(30)
        ],
        "ci",
    )
    return recompute(store)


def recompute(store: Store) -> list[int]:
    CandidateRefresher(Scripted([STEP]), "scripted").refresh(store)
    with store.read() as connection:
        return list(connection.scalars(sa.select(candidates.c.id).order_by(candidates.c.id)))


def open_queue(page: "Page", board: Board) -> None:
    page.goto(board.url)
    ready(page)


def token(board: Board, name: str) -> str:
    """Return the secret of a new token of a person who may give verdicts."""
    scopes = [Scope.READ, Scope.TRIAGE]
    return board.store.write(lambda connection: tokens.create(connection, name, scopes, "test"))


def sign_in(page: "Page", secret: str) -> None:
    page.get_by_label("Token").fill(secret)
    page.keyboard.press("Enter")


def press_and_save(page: "Page", key: str) -> None:
    """Press the key of a verdict, and wait until the service answered it.

    The page shows a verdict that is not saved only after a moment, so it cannot tell.
    """
    with page.expect_response("**/api/v1/verdicts"):
        page.keyboard.press(key)


def test_results_sent_over_http_become_a_decided_change(board: Board, page: "Page") -> None:
    page.goto(board.url)
    page.get_by_role("heading", name="Send the first result").wait_for()
    page.goto("about:blank")  # the page would open the queue by itself, at any moment
    sent = [
        {
            "project": "db",
            "test": "insert",
            "measurement": "ops_per_sec",
            "commit": f"{order:040x}",
            "order": order,
            "direction": "higher_is_better",
            "value": 100.0 + order % 3 - 50.0 * (order >= STEP),
        }
        for order in range(30)
    ]
    answer = page.request.post(f"{board.url}/api/v1/points", data=sent)
    assert answer.ok, answer.text()
    [number] = recompute(board.store)
    open_queue(page, board)
    assert "worse" in page.locator("tr.group").inner_text()
    press_and_save(page, "a")
    page.get_by_role("heading", name="All clear").wait_for()
    assert board.verdicts(number) == [("real", "local")]
    page.get_by_role("link", name="Processed").click()
    page.locator("[data-row]", has_text="insert").get_by_text("real", exact=True).wait_for()


def test_second_of_two_people_is_shown_the_verdict_of_the_first(board: Board, page: "Page") -> None:
    [number] = fill(board.store, ("insert",))
    assert page.context.browser is not None
    other = page.context.browser.new_context().new_page()
    for window, name in zip((page, other), PEOPLE, strict=True):
        secret = token(board, name)  # without any token there is no sign-in
        window.goto(f"{board.url}/sign-in")
        sign_in(window, secret)
        ready(window)
    press_and_save(page, "a")
    other.keyboard.press("h")
    line = other.locator("tr.refused")
    line.wait_for()
    assert "real by ada" in line.inner_text()
    other.context.close()
    assert board.verdicts(number) == [("real", "ada")]


def test_verdict_that_is_saved_after_a_sign_in_leaves_the_list(board: Board, page: "Page") -> None:
    [number] = fill(board.store, ("insert",))
    secret = token(board, "ada")
    page.goto(board.url)
    sign_in(page, secret)
    ready(page)
    page.context.clear_cookies()
    page.keyboard.press("a")
    page.wait_for_url("**/sign-in?*")
    sign_in(page, secret)
    page.get_by_role("heading", name="All clear").wait_for()
    assert board.verdicts(number) == [("real", "ada")]


def test_verdict_is_kept_if_another_request_finds_that_the_session_ended(
    board: Board, page: "Page"
) -> None:
    fill(board.store, ("insert",))
    numbers = fill(board.store, ("update",), first=100)
    secret = token(board, "ada")
    page.goto(board.url)
    sign_in(page, secret)
    ready(page)
    page.route("**/api/v1/verdicts", lambda _: None)  # the service is slow to answer this one
    page.context.clear_cookies()
    page.keyboard.press("a")
    page.wait_for_url("**/sign-in?*")
    page.unroute("**/api/v1/verdicts")
    with page.expect_response("**/api/v1/verdicts"):
        sign_in(page, secret)
    ready(page)
    assert len(page.locator("tr.group").all()) == 1
    saved = [entry for number in numbers for entry in board.verdicts(number)]
    assert saved == [("real", "ada")]


def test_group_that_changed_under_the_selection_is_decided_in_part(
    board: Board, page: "Page"
) -> None:
    numbers = fill(board.store)
    open_queue(page, board)
    page.keyboard.press("x")
    board.decide(numbers[1], Verdict.FALSE_POSITIVE, "wen")
    added = fill(board.store, ("find",))[-1]
    page.keyboard.press("a")
    page.get_by_text("noise by wen").first.wait_for()
    assert board.verdicts(numbers[0]) == board.verdicts(numbers[2]) == [("real", "local")]
    assert board.verdicts(numbers[1]) == [("noise", "wen")]
    assert board.verdicts(added) == []


def test_candidate_that_is_gone_is_named_and_the_others_are_decided(
    board: Board, page: "Page"
) -> None:
    numbers = fill(board.store)
    open_queue(page, board)
    gone = sa.delete(candidates).where(candidates.c.id == numbers[1])
    board.store.write(lambda c: c.execute(gone))
    page.keyboard.press("a")
    page.get_by_text("no longer exists").first.wait_for()
    assert board.verdicts(numbers[0]) == board.verdicts(numbers[2]) == [("real", "local")]


def test_verdict_from_a_stale_series_page_is_refused(board: Board, page: "Page") -> None:
    [number] = fill(board.store, ("insert",))
    page.goto(f"{board.url}/series/1")
    page.locator("#about code").wait_for()
    board.decide(number, Verdict.FALSE_POSITIVE, "wen")
    page.get_by_role("button", name="Real").click()
    page.get_by_text("noise by wen").first.wait_for()
    assert board.verdicts(number) == [("noise", "wen")]
