"""A browser reaches the service, and the page of an empty store leads to the first result."""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from barograph.series import Verdict
from barograph.service.pages.rendering import verdict_word
from barograph.store import Store
from tests.browser.serving import serving
from tests.browser.test_every_page import violations
from tests.store.samples import point

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAUSE = 3_000  # milliseconds between two questions for the first result


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    """A service over an empty store."""
    stores: list[Store] = []
    with serving(tmp_path_factory.mktemp("empty"), stores.append) as url:
        yield url, stores[0]


def test_health_renders_as_json(empty: tuple[str, Store], page: "Page") -> None:
    response = page.goto(f"{empty[0]}/health")
    assert response is not None
    assert response.status == 200
    assert json.loads(page.inner_text("body"))["status"] == "alive"


def test_scripts_and_templates_call_verdicts_the_same(
    empty: tuple[str, Store], page: "Page"
) -> None:
    page.goto(f"{empty[0]}/processed")
    words = page.evaluate("import('/static/x/wording.js').then(({ VERDICTS }) => VERDICTS)")
    assert words == {verdict.value: verdict_word(verdict) for verdict in Verdict}


def test_page_of_an_empty_store_opens_the_queue_with_the_first_result(
    empty: tuple[str, Store], page: "Page"
) -> None:
    url, store = empty
    page.clock.install()
    page.goto(url)
    assert not violations(page)
    copy = page.get_by_role("button", name="Copy the command")
    copy.first.click()
    page.get_by_text(re.compile("^(Copied|Press Ctrl C)$")).wait_for()
    store.ingest([point(0)], "ci")
    page.clock.fast_forward(PAUSE)
    page.get_by_role("heading", name="Unprocessed").wait_for()
