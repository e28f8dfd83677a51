"""From a result to a verdict; on what changed meanwhile verdicts are refused, and none is lost."""

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from barograph.series import Direction, SeriesId, Verdict
from barograph.store import Measurement, Store, tokens
from barograph.store.schema import candidates
from barograph.store.tokens import Scope
from barograph.triage import verdicts
from barograph.triage.refresh import CandidateRefresher
from tests.browser.conftest import Board
from tests.triage.test_refresh import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Page

AT = 20
PATIENCE = 30_000  # milliseconds
PEOPLE = ("ada", "wen")


class Desk:
    """A service, its store, and the candidates of one group in it."""

    def __init__(self, board: Board) -> None:
        self.stores: list[Store] = []
        self.url = board(self.stores.append)

    @property
    def store(self) -> Store:
        return self.stores[0]

    def fill(self, tests: tuple[str, ...] = ("insert", "update", "remove")) -> list[int]:
        """Add series that got slower at one commit; return the candidates in their order."""
        lower = Direction.LOWER_IS_BETTER
        self.store.ingest(
            [
                Measurement(
                    SeriesId("db", "linux", "nightly", test, "p99"),
                    *(100.0 + order % 3 + 50.0 * (order >= AT), order, f"{order:040x}"),
                    direction=lower,
                )
                for test in tests
                for order in range(30)
            ],
            "ci",
        )
        return self.recompute()

    def recompute(self) -> list[int]:
        CandidateRefresher(Scripted([AT]), "scripted").refresh(self.store)
        with self.store.read() as connection:
            return list(connection.scalars(sa.select(candidates.c.id).order_by(candidates.c.id)))

    def decide(self, number: int, who: str) -> None:
        items = [(number, 0)]
        noise = Verdict.FALSE_POSITIVE
        self.store.write(lambda c: verdicts.record_batch(c, items, noise, who))

    def said(self, number: int) -> list[tuple[str, str]]:
        """Return verdict and person of all entries on a candidate, the latest last."""
        with self.store.read() as connection:
            entries = verdicts.history(connection, candidate=number)
        return [(one.verdict.word, one.who) for one in reversed(entries)]

    def open(self, page: "Page") -> None:
        page.set_default_timeout(PATIENCE)
        page.goto(self.url)
        page.locator("tr.group[aria-current]").wait_for()


@pytest.fixture
def desk(board: Board) -> Desk:
    return Desk(board)


def press_and_save(page: "Page", key: str) -> None:
    """Press the key of a verdict, and wait until the service answered it.

    The page shows a verdict that is not saved only after a moment, so it cannot tell.
    """
    with page.expect_response("**/api/v1/verdicts"):
        page.keyboard.press(key)


def test_results_sent_over_http_become_a_decided_change(desk: Desk, page: "Page") -> None:
    page.goto(desk.url)
    page.get_by_role("heading", name="Send the first result").wait_for()
    sent = [
        {
            "project": "db",
            "test": "insert",
            "measurement": "ops_per_sec",
            "commit": f"{order:040x}",
            "order": order,
            "direction": "higher_is_better",
            "value": 100.0 + order % 3 - 50.0 * (order >= AT),
        }
        for order in range(30)
    ]
    answer = page.request.post(f"{desk.url}/api/v1/points", data=sent)
    assert answer.ok, answer.text()
    [number] = desk.recompute()
    desk.open(page)
    assert "worse" in page.locator("tr.group").inner_text()
    press_and_save(page, "a")
    page.get_by_role("heading", name="All clear").wait_for()
    assert desk.said(number) == [("real", "local")]
    page.get_by_role("link", name="Processed").click()
    assert page.locator("tr.group", has_text="insert").get_by_text("real", exact=True).is_visible()


def test_second_of_two_people_is_shown_the_verdict_of_the_first(desk: Desk, page: "Page") -> None:
    [number] = desk.fill(("insert",))
    scopes = [Scope.READ, Scope.TRIAGE]
    ada, wen = (
        desk.store.write(lambda c, name=name: tokens.create(c, name, scopes, "test"))  # type: ignore[misc]
        for name in PEOPLE
    )
    assert page.context.browser is not None
    other = page.context.browser.new_context().new_page()
    for window, secret in ((page, ada), (other, wen)):
        window.goto(f"{desk.url}/sign-in")
        window.get_by_label("Token").fill(secret)
        window.keyboard.press("Enter")
        window.locator("tr.group[aria-current]").wait_for()
    press_and_save(page, "a")
    other.keyboard.press("h")
    line = other.locator("tr.refused")
    line.wait_for()
    assert "real by ada" in line.inner_text()
    other.context.close()
    assert desk.said(number) == [("real", "ada")]


def test_group_that_changed_under_the_selection_is_decided_in_part(
    desk: Desk, page: "Page"
) -> None:
    numbers = desk.fill()
    desk.open(page)
    page.keyboard.press("x")
    desk.decide(numbers[1], "wen")
    added = desk.fill(("find",))[-1]
    page.keyboard.press("a")
    page.get_by_text("noise by wen").first.wait_for()
    assert desk.said(numbers[0]) == desk.said(numbers[2]) == [("real", "local")]
    assert desk.said(numbers[1]) == [("noise", "wen")]
    assert desk.said(added) == []


def test_candidate_that_is_gone_is_named_and_the_others_are_decided(
    desk: Desk, page: "Page"
) -> None:
    numbers = desk.fill()
    desk.open(page)
    gone = sa.delete(candidates).where(candidates.c.id == numbers[1])
    desk.store.write(lambda c: c.execute(gone))
    page.keyboard.press("a")
    page.get_by_text("no longer exists").first.wait_for()
    assert desk.said(numbers[0]) == desk.said(numbers[2]) == [("real", "local")]


def test_verdict_from_a_stale_series_page_is_refused(desk: Desk, page: "Page") -> None:
    [number] = desk.fill(("insert",))
    page.set_default_timeout(PATIENCE)
    page.goto(f"{desk.url}/series/1")
    page.locator("#about code").wait_for()
    desk.decide(number, "wen")
    page.get_by_role("button", name="Real").click()
    page.get_by_text("noise by wen").first.wait_for()
    assert desk.said(number) == [("noise", "wen")]
