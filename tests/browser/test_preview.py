"""The preview beside the queue: what it shows, and when it asks for it."""

from typing import TYPE_CHECKING

import pytest

from barograph.results.series import SeriesId, Verdict
from barograph.server.store import Measurement, Store
from barograph.server.triage.refresh import CandidateRefresher
from tests.browser.conftest import DRAWN_TEXTS, ready
from tests.browser.queues import LENGTH, LOWER, search
from tests.browser.serving import Board
from tests.browser.waiting import wait_until
from tests.triage.test_refresh import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request, Route

ROWS = 10
# Presses "j" as long keys repeat, faster than any timer of the page.
HOLD = """(times) => {
  for (let k = 0; k < times; k += 1) {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
  }
}"""


def fill_rows(store: Store) -> None:
    """A group at each of some commits."""
    search(
        store,
        [
            Measurement(
                SeriesId("db", "linux", "nightly", f"scan{row}", "p99"),
                100.0 + (order * 7919 % 13) / 13 + 20.0 * (order >= 8 + row),
                order,
                direction=LOWER,
            )
            for row in range(ROWS)
            for order in range(LENGTH)
        ],
    )


def fill_close(store: Store) -> None:
    """A series with two changes beside each other, of which the first is decided."""
    series = SeriesId("db", "linux", "nightly", "scan", "p99")
    values = [100.0 + order % 3 + 20.0 * (order >= LENGTH - 4) for order in range(LENGTH)]
    places = enumerate(values)
    sent = [Measurement(series, value, k, direction=LOWER, unit="ms") for k, value in places]
    store.ingest(sent, "ci")
    CandidateRefresher(Scripted([LENGTH - 5, LENGTH - 4]), "scripted").refresh(store)


def test_the_preview_fills_when_the_window_becomes_wide(queue: "Page") -> None:
    queue.set_viewport_size({"width": 1024, "height": 800})
    queue.reload()
    ready(queue)
    assert queue.locator("[data-preview]").is_hidden()
    queue.set_viewport_size({"width": 1440, "height": 800})
    queue.locator("[data-part=reasons] li").first.wait_for()


def test_slow_parts_of_the_preview_show_that_they_load(board: Board, page: "Page") -> None:
    held: list[Route] = []
    page.route("**/change-points/*/reasons", lambda route: held.append(route))  # noqa: PLW0108
    page.goto(board.url)
    part = page.locator("[data-part=reasons]")
    part.locator(".bone").first.wait_for()
    assert part.get_by_role("heading").inner_text().startswith("Why")
    while not held:
        page.wait_for_timeout(10)
    held[0].fulfill(
        json={"probability": 0.5, "reasons": [], "facts": ["It rained."], "against": []}
    )
    part.get_by_text("It rained.").wait_for()
    assert part.locator(".bone").count() == 0


@pytest.mark.parametrize("content", [fill_rows])
def test_rows_that_the_cursor_passes_fetch_nothing(board: Board, page: "Page") -> None:
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))  # noqa: PLW0108
    page.set_viewport_size({"width": 1440, "height": 800})
    page.goto(board.url)
    ready(page)
    page.locator("tr.group").first.focus()
    page.evaluate(HOLD, ROWS - 1)
    last = page.locator("tr.group").last.get_attribute("data-candidate")
    page.locator("[data-part=reasons] li").first.wait_for()
    page.wait_for_timeout(700)  # until timers of the rows between would have asked
    reasons = {request.url for request in asked if request.url.endswith("/reasons")}
    assert any(url.endswith(f"/{last}/reasons") for url in reasons)
    assert len(reasons) <= 4  # of the first row and the two after it, if they were quick


@pytest.mark.parametrize("content", [fill_close])
def test_undecided_change_has_its_label_beside_another(board: Board, page: "Page") -> None:
    board.decide(1, Verdict.TRUE_POSITIVE, "wen")
    page.add_init_script(DRAWN_TEXTS)
    page.set_viewport_size({"width": 1440, "height": 800})
    page.goto(board.url)
    ready(page)
    change = page.locator("tr.group .change-cell .strong").first.inner_text()
    wait_until(page, "(size) => texts.includes(size)", change)


@pytest.mark.parametrize("content", [fill_close])
def test_values_of_the_preview_have_their_unit(board: Board, page: "Page") -> None:
    page.set_viewport_size({"width": 1440, "height": 800})
    page.goto(board.url)
    ready(page)
    page.locator("[data-fact-levels]", has_text="101 to 121.5 ms").wait_for()
    page.locator("[data-part=chart] canvas").focus()
    page.keyboard.press("End")
    readout = page.locator("[data-part=chart] .readout")
    assert readout.inner_text().startswith("122 ms \u00b7 level 121.5 ms \u00b7 ")
