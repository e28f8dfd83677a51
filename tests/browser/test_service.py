"""A browser reaches the service, and the page of an empty store leads to the first result."""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from barograph.results.series import Verdict
from barograph.results.wording import middle_cut, printable
from barograph.server.web.pages.rendering import verdict_word
from tests.browser.conftest import pause_clock
from tests.browser.serving import Board, serving
from tests.browser.test_every_page import violations
from tests.store.samples import point

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAUSE = 3_000  # milliseconds between two questions for the first result


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A service over an empty store."""
    with serving(tmp_path_factory.mktemp("empty")) as board:
        yield board


def test_health_renders_as_json(empty: Board, page: "Page") -> None:
    response = page.goto(f"{empty.url}/health")
    assert response is not None
    assert response.status == 200
    assert json.loads(page.inner_text("body"))["status"] == "alive"


def test_scripts_and_templates_call_verdicts_the_same(empty: Board, page: "Page") -> None:
    page.goto(f"{empty.url}/processed")
    words = page.evaluate("import('/static/x/wording.js').then(({ VERDICTS }) => VERDICTS)")
    assert words == {verdict.value: verdict_word(verdict) for verdict in Verdict}


@pytest.mark.parametrize(
    "name", ["\u202egnp.exe" * 9, "\U0001f469\u200d\U0001f467" * 30, "a\nb", "c" * 24]
)
def test_scripts_and_templates_shorten_names_the_same(
    empty: Board, page: "Page", name: str
) -> None:
    page.goto(f"{empty.url}/processed")
    cut = "import('/static/x/wording.js').then(({ middleCut }) => middleCut(NAME, 24))"
    shown = page.evaluate(cut.replace("NAME", json.dumps(name)))
    assert shown == middle_cut(printable(name), 24)


def test_page_of_an_empty_store_opens_the_queue_with_the_first_result(
    empty: Board, page: "Page"
) -> None:
    page.clock.install()
    page.goto(empty.url)
    assert not violations(page)
    pause_clock(page)  # or the message may go before it is seen
    copy = page.get_by_role("button", name="Copy the command")
    copy.first.click()
    message = re.compile("^(The command is copied|The browser does not allow copying; the text is)")
    page.get_by_role("status").get_by_text(message).wait_for()
    empty.store.ingest([point(0)], "ci")
    page.clock.fast_forward(PAUSE)
    page.get_by_role("heading", name="Unprocessed").wait_for()
    # One result cannot tell whether anything changed.
    assert page.get_by_role("heading", name="No change found yet").is_visible()
    assert page.get_by_text("All clear").count() == 0


@pytest.mark.parametrize(("width", "lines"), [(1440, 1), (360, 2)])
def test_command_for_a_token_breaks_only_between_its_options(
    empty: Board, page: "Page", width: int, lines: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{empty.url}/sign-in?another=true")
    code = page.locator("pre code")
    tops = code.evaluate("(code) => Array.from(code.getClientRects(), ({ top }) => top)")
    assert len(set(tops)) <= lines
    option = code.locator("span")
    assert option.evaluate_all("(all) => all.every((part) => part.getClientRects().length === 1)")
    assert code.inner_text() == "barograph token add NAME --scope read --scope triage"


def test_chosen_theme_holds_for_the_next_page(page: "Page", board: Board) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(board.url)
    page.get_by_role("button", name="Theme").click()
    page.goto(f"{board.url}/series")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.get_by_role("button", name="Theme").click()
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "light"
