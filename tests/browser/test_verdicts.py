"""Verdicts of a page: saved in the background, undone, and never lost."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from barograph.series import Verdict
from barograph.store import Store
from barograph.store.schema import candidates
from barograph.triage import verdicts
from tests.browser.serving import serving
from tests.store.samples import point

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page, Route

HARNESS = """<!doctype html><html lang="en"><title>Harness</title>
<link rel="stylesheet" href="/static/x/tokens.css">
<link rel="stylesheet" href="/static/x/board.css">
HEAD<main><p>Rows</p></main>
<script type="module">import * as verdicts from "/static/x/verdicts.js";
window.verdicts = verdicts; window.heard = [];
verdicts.onChange(({ type, pending }) => heard.push(type + pending));</script>"""
GIVE = "(points) => verdicts.give('true_positive', points, { label: '2 series of insert' })"


class Desk:
    """A service with candidates, and a page that gives verdicts on them."""

    def __init__(self, url: str, store: Store) -> None:
        self.url, self.store = url, store

    def open(self, page: "Page", head: str = "") -> None:
        """Open a page with nothing but the module."""
        page.route(f"{self.url}/harness", lambda route: _harness(route, head))
        page.goto(f"{self.url}/harness")
        page.wait_for_function("window.verdicts")

    def add(self, count: int = 2) -> list[dict[str, int]]:
        """Add candidates; return what a page knows of them."""
        one = {"series": 1, "order": 1, "commit": "", "verdict": "not_triaged", "present": True}

        def work(connection: sa.Connection) -> list[int]:
            added = sa.insert(candidates).returning(candidates.c.id)
            return list(connection.scalars(added, [one] * count))

        return [{"id": number, "version": 0} for number in self.store.write(work)]

    def said(self, point: dict[str, int]) -> list[tuple[str, str]]:
        """Return verdict and person of all entries on a candidate, the latest last."""
        with self.store.read() as connection:
            entries = verdicts.history(connection, candidate=point["id"])
        return [(one.verdict.word, one.who) for one in reversed(entries)]

    def decide(self, point: dict[str, int], verdict: Verdict, who: str) -> None:
        """Let another person decide."""
        items = [(point["id"], None)]
        self.store.write(lambda c: verdicts.record_batch(c, items, verdict, who))


def _harness(route: "Route", head: str) -> None:
    if head == "session":
        csrf = route.request.frame.page.context.request.get(
            route.request.url.replace("/harness", "/api/v1/session")
        )
        own = csrf.json() if csrf.ok else {}
        names = {"csrf-token": own.get("csrf"), "person": own.get("name")}
        head = "".join(f'<meta name="{k}" content="{v}">' for k, v in names.items() if v)
    route.fulfill(content_type="text/html", body=HARNESS.replace("HEAD", head))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened: list[Store] = []

    def fill(store: Store) -> None:
        store.ingest([point(order) for order in range(3)], "ci")
        opened.append(store)

    with serving(tmp_path_factory.mktemp("desk"), fill) as url:
        yield Desk(url, opened[0])


def give(page: "Page", points: list[dict[str, int]]) -> Any:
    return page.evaluate(GIVE, points)


def start(page: "Page", points: list[dict[str, int]]) -> None:
    """Give a verdict without waiting for it."""
    page.evaluate(f"(points) => {{ ({GIVE})(points); }}", points)


def toast(page: "Page") -> str:
    return page.get_by_role("status").inner_text()


def test_verdict_is_saved_and_undone_from_the_toast(desk: Desk, page: "Page") -> None:
    first, second = points = desk.add()
    desk.open(page)
    outcome = give(page, points)
    assert [one["version"] for one in outcome["saved"]] == [1, 1]
    assert toast(page).startswith("Marked 2 series of insert as real.")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("heard.includes('undone0')")
    assert desk.said(first) == desk.said(second) == [("real", "local"), ("not triaged", "local")]
    assert page.evaluate("heard") == [
        *("given0", "pending1", "saved0", "pending0"),
        *("undoing0", "pending1", "undone0", "pending0"),
    ]


def test_every_step_is_undone_back_to_the_opening_of_the_page(desk: Desk, page: "Page") -> None:
    [one] = desk.add(1)
    desk.open(page)
    page.evaluate("(p) => verdicts.give('false_positive', p)", [one])
    page.evaluate("(p) => verdicts.give('unsure', p)", [one])  # with the version before
    assert len(desk.said(one)) == 2
    for _ in range(2):
        page.evaluate("verdicts.undo()")
    assert page.evaluate("verdicts.undo()") is None
    assert [word for word, _ in desk.said(one)] == ["noise", "unsure", "noise", "not triaged"]


def test_verdict_waits_while_offline_and_is_saved_once(desk: Desk, page: "Page") -> None:
    points = desk.add()
    desk.open(page)
    page.context.set_offline(True)
    start(page, points)
    page.get_by_text("1 not saved yet").wait_for()
    leaving: list[str] = []

    def stay(dialog: "Dialog") -> None:
        leaving.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.mouse.click(5, 5)  # browsers ask only on pages that were used
    page.evaluate("setTimeout(() => location.reload())")
    page.wait_for_timeout(300)
    assert leaving == ["beforeunload"]
    page.context.set_offline(False)
    page.wait_for_function("verdicts.pendingCount() === 0")
    assert desk.said(points[0]) == [("real", "local")]


def test_answer_that_was_lost_does_not_record_twice(desk: Desk, page: "Page") -> None:
    points = desk.add()
    desk.open(page)
    lost: list[int] = []

    def lose(route: "Route") -> None:
        lost.append(route.fetch().status)
        route.abort()

    page.route("**/api/v1/verdicts", lose, times=1)
    outcome = give(page, points)
    assert lost == [200]
    assert [one["version"] for one in outcome["saved"]] == [1, 1]
    assert desk.said(points[0]) == [("real", "local")]


def test_verdict_that_was_not_sent_yet_is_undone_without_the_service(
    desk: Desk, page: "Page"
) -> None:
    one, two = desk.add()
    desk.open(page)
    page.context.set_offline(True)
    start(page, [one])
    start(page, [two])
    assert page.evaluate("verdicts.undo()")["cancelled"]
    page.context.set_offline(False)
    page.wait_for_function("verdicts.pendingCount() === 0")
    assert (desk.said(one), desk.said(two)) == ([("real", "local")], [])


def test_two_people_on_one_group_do_not_overwrite_each_other(desk: Desk, page: "Page") -> None:
    one, two = points = desk.add()
    desk.open(page)
    desk.decide(two, Verdict.FALSE_POSITIVE, "wen")
    outcome = give(page, points)
    assert [(refused["id"], refused["who"]) for refused in outcome["refused"]] == [
        (two["id"], "wen")
    ]
    assert toast(page).startswith("1 of 2 not saved. Decided meanwhile: noise by wen")
    assert desk.said(two) == [("noise", "wen")]
    page.get_by_role("button", name="Replace with real").click()
    page.wait_for_function("verdicts.pendingCount() === 0")
    assert desk.said(two) == [("noise", "wen"), ("real", "local")]
    assert desk.said(one) == [("real", "local")]


def test_verdict_on_a_point_that_is_gone_is_said_clearly(desk: Desk, page: "Page") -> None:
    desk.open(page)
    give(page, [{"id": 999_999, "version": 0}])
    assert toast(page) == "This change point no longer exists."


def test_toast_stays_while_it_is_hovered_or_focused(desk: Desk, page: "Page") -> None:
    page.clock.install()
    desk.open(page)
    message = page.get_by_role("status")
    for hold, release in (
        (message.hover, lambda: page.mouse.move(1, 1)),
        (
            message.get_by_role("button").focus,
            lambda: page.evaluate("document.activeElement.blur()"),
        ),
    ):
        give(page, desk.add(1))
        hold()
        page.clock.fast_forward(60_000)
        assert message.is_visible()
        release()
        page.clock.fast_forward(7000)
        assert message.is_visible()
        page.clock.fast_forward(2000)
        assert message.is_hidden()


def test_names_in_a_toast_are_text(desk: Desk, page: "Page") -> None:
    [one] = desk.add(1)
    desk.open(page)
    label = "<img src=x onerror=alert(1)>"
    page.evaluate("([p, label]) => verdicts.give('true_positive', p, { label })", [[one], label])
    assert label in toast(page)
    assert page.locator("img").count() == 0
