"""Verdicts of a page: saved in the background, undone, and never lost."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.server.store import Store
from barograph.server.store.schema import candidates
from tests.browser.conftest import pause_clock
from tests.browser.serving import Board, serving
from tests.store.samples import point

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

HARNESS = """<!doctype html><html lang="en"><title>Harness</title>
<link rel="stylesheet" href="/static/x/tokens.css">
<link rel="stylesheet" href="/static/x/board.css">
HEAD<main><p>Rows</p></main>
<script type="module">import * as verdicts from "/static/x/verdicts.js";
window.verdicts = verdicts; window.heard = [];
verdicts.onChange(({ type, pending }) => heard.push(type + pending));</script>"""
GIVE = "(points) => verdicts.give('true_positive', points, { label: '2 series of insert' })"

# A listener that fails with every outcome; what fails is counted instead of reported.
BROKEN = """() => {
  window.broken = 0;
  addEventListener("error", (event) => { window.broken += 1; event.preventDefault(); });
  verdicts.onChange(({ type }) => { if (type === "saved") throw new Error("broken"); });
}"""


def open_harness(page: "Page", board: Board, head: str = "") -> None:
    """Open a page with nothing but the module."""

    def answer(route: "Route") -> None:
        content = session_head(route) if head == "session" else head
        route.fulfill(content_type="text/html", body=HARNESS.replace("HEAD", content))

    page.route(f"{board.url}/harness", answer)
    page.goto(f"{board.url}/harness")
    page.wait_for_function("window.verdicts")


def session_head(route: "Route") -> str:
    """Return what a page of the service says about who is signed in."""
    answer = route.request.frame.page.context.request.get(
        route.request.url.replace("/harness", "/api/v1/session")
    )
    session = answer.json() if answer.ok else {}
    names = {"csrf-token": session.get("csrf"), "person": session.get("name")}
    return "".join(f'<meta name="{k}" content="{v}">' for k, v in names.items() if v)


def add(board: Board, count: int = 2) -> list[dict[str, int]]:
    """Add candidates; return what a page knows of them."""
    row = {"series": 1, "order": 1, "commit": "", "verdict": "not_triaged", "present": True}

    def work(connection: sa.Connection) -> list[int]:
        added = sa.insert(candidates).returning(candidates.c.id)
        return list(connection.scalars(added, [row] * count))

    return [{"id": number, "version": 0} for number in board.store.write(work)]


def fill(store: Store) -> None:
    store.ingest([point(order) for order in range(3)], "ci")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    with serving(tmp_path_factory.mktemp("board"), fill) as board:
        yield board


def give(page: "Page", points: list[dict[str, int]]) -> Any:
    return page.evaluate(GIVE, points)


def start(page: "Page", points: list[dict[str, int]]) -> None:
    """Give a verdict without waiting for it."""
    page.evaluate(f"(points) => {{ ({GIVE})(points); }}", points)


def toast(page: "Page") -> str:
    return page.get_by_role("status").inner_text()


def test_verdict_is_saved_and_undone_from_the_toast(board: Board, page: "Page") -> None:
    first, second = points = add(board)
    page.clock.install()
    open_harness(page, board)
    pause_clock(page)  # or the toast may go before it is read
    outcome = give(page, points)
    assert [saved["version"] for saved in outcome["saved"]] == [1, 1]
    assert toast(page).startswith("Marked 2 series of insert as real.")
    with page.expect_response("**/undo"):
        page.get_by_role("button", name="Undo").click()
    page.wait_for_function("heard.at(-1) === 'pending0'")
    entries = [("real", "local"), ("not triaged", "local")]
    assert board.verdicts(first["id"]) == board.verdicts(second["id"]) == entries
    assert page.evaluate("heard") == [
        *("given0", "pending1", "saved0", "pending0"),
        *("undoing0", "pending1", "undone0", "pending0"),
    ]


def test_every_step_is_undone_back_to_the_opening_of_the_page(board: Board, page: "Page") -> None:
    [point] = add(board, 1)
    open_harness(page, board)
    page.evaluate("(p) => verdicts.give('false_positive', p)", [point])
    page.evaluate("(p) => verdicts.give('unsure', p)", [point])  # with the version before
    assert len(board.verdicts(point["id"])) == 2
    for _ in range(2):
        page.evaluate("verdicts.undo()")
    assert page.evaluate("verdicts.undo()") is None
    words = [word for word, _ in board.verdicts(point["id"])]
    assert words == ["noise", "unsure", "noise", "not triaged"]


def test_verdict_waits_while_offline_and_is_saved_once(board: Board, page: "Page") -> None:
    points = add(board)
    open_harness(page, board)
    page.context.set_offline(True)
    start(page, points)
    page.get_by_text("1 not saved yet").wait_for()
    page.mouse.click(5, 5)  # browsers ask only on pages that were used
    page.once("dialog", lambda dialog: dialog.dismiss())
    with page.expect_event("dialog") as leaving:
        page.evaluate("setTimeout(() => location.reload())")
    assert leaving.value.type == "beforeunload"
    page.context.set_offline(False)
    page.evaluate("verdicts.settled()")
    assert board.verdicts(points[0]["id"]) == [("real", "local")]


def test_answer_that_was_lost_does_not_record_twice(board: Board, page: "Page") -> None:
    points = add(board)
    open_harness(page, board)
    lost: list[int] = []

    def lose(route: "Route") -> None:
        lost.append(route.fetch().status)
        route.abort()

    page.route("**/api/v1/verdicts", lose, times=1)
    outcome = give(page, points)
    assert lost == [200]
    assert [saved["version"] for saved in outcome["saved"]] == [1, 1]
    assert board.verdicts(points[0]["id"]) == [("real", "local")]


def test_verdict_that_was_not_sent_yet_is_undone_without_the_service(
    board: Board, page: "Page"
) -> None:
    first, second = add(board)
    open_harness(page, board)
    page.context.set_offline(True)
    start(page, [first])
    start(page, [second])
    assert page.evaluate("verdicts.undo()")["cancelled"]
    page.context.set_offline(False)
    page.evaluate("verdicts.settled()")
    assert board.verdicts(first["id"]) == [("real", "local")]
    assert board.verdicts(second["id"]) == []


def test_two_people_on_the_same_group_do_not_overwrite_each_other(
    board: Board, page: "Page"
) -> None:
    first, second = points = add(board)
    open_harness(page, board)
    board.decide(second["id"], Verdict.FALSE_POSITIVE, "wen")
    outcome = give(page, points)
    refused = [(answer["id"], answer["who"]) for answer in outcome["refused"]]
    assert refused == [(second["id"], "wen")]
    assert toast(page).startswith("1 of 2 not saved. Decided meanwhile: noise by wen")
    assert board.verdicts(second["id"]) == [("noise", "wen")]
    with page.expect_response("**/api/v1/verdicts"):
        page.get_by_role("button", name="Replace with real").click()
    assert board.verdicts(second["id"]) == [("noise", "wen"), ("real", "local")]
    assert board.verdicts(first["id"]) == [("real", "local")]


def test_verdict_on_a_point_that_is_gone_says_so(board: Board, page: "Page") -> None:
    open_harness(page, board)
    give(page, [{"id": 999_999, "version": 0}])
    assert toast(page).startswith("This change point no longer exists.")
    # What is not saved stays until it was read.
    page.get_by_role("button", name="Close").click()
    page.get_by_role("status").wait_for(state="hidden")


def test_toast_stays_while_it_is_hovered_or_focused(board: Board, page: "Page") -> None:
    page.clock.install()
    open_harness(page, board)
    pause_clock(page)
    message = page.get_by_role("status")
    for hold, release in (
        (message.hover, lambda: page.mouse.move(1, 1)),
        (
            message.get_by_role("button").focus,
            lambda: page.evaluate("document.activeElement.blur()"),
        ),
    ):
        give(page, add(board, 1))
        hold()
        page.clock.fast_forward(60_000)
        assert message.is_visible()
        release()
        page.clock.fast_forward(7000)
        assert message.is_visible()
        page.clock.fast_forward(2000)
        assert message.is_hidden()


def test_names_in_a_toast_are_text(board: Board, page: "Page") -> None:
    [point] = add(board, 1)
    open_harness(page, board)
    label = "<img src=x onerror=alert(1)>"
    give_named = "([p, label]) => { verdicts.give('true_positive', p, { label }); }"
    page.evaluate(give_named, [[point], label])
    assert label in toast(page)
    assert page.locator("img").count() == 0


def test_part_of_a_page_that_fails_loses_no_verdict(board: Board, page: "Page") -> None:
    first, second = add(board)
    open_harness(page, board)
    page.evaluate(BROKEN)
    outcomes = page.evaluate(
        "(points) => Promise.all(points.map((point) => verdicts.give('unsure', [point])))",
        [first, second],
    )
    assert [outcome["failed"] for outcome in outcomes] == ["", ""]
    assert board.verdicts(first["id"]) == board.verdicts(second["id"]) == [("unsure", "local")]
    assert page.evaluate("broken") == 2
