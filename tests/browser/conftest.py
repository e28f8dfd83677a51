"""A headless Chromium of the system, and services for it to visit.

Tests of this folder take `page`; without Chromium or Playwright they are skipped.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.queues import fill
from tests.browser.serving import Board, Fill, serving
from tests.parts import chromium
from tests.service.conftest import compiled_kernels

__all__ = ["compiled_kernels"]

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE = 30_000  # milliseconds until an action or an expectation fails
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
# Texts that charts have drawn, the latest last.
DRAWN_TEXTS = """
  const { fillText } = CanvasRenderingContext2D.prototype;
  window.texts = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    texts.push(text);
    return fillText.call(this, text, ...place);
  };
"""


# Not for the whole session: while Playwright runs, other tests of this thread can start no loop.
@pytest.fixture(scope="package")
def browser() -> Iterator["Browser"]:
    """The browser that all tests share."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = chromium()
    if program is None:
        pytest.skip("Chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        # Playwright's own download is not used: distributions keep Chromium up to date.
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """A page with its own cookies; the test fails if a script of it fails or is refused."""
    context = browser.new_context(
        reduced_motion="reduce", viewport={"width": 1280, "height": 800}, locale="en-GB"
    )
    context.set_default_timeout(PATIENCE)
    failures: list[str] = []

    def note(text: str) -> None:
        if "Content Security Policy" in text:
            failures.append(text)

    context.on("weberror", lambda error: failures.append(str(error.error)))
    context.on("console", lambda message: note(message.text))
    yield context.new_page()
    context.close()
    assert not failures, failures


def ready(page: "Page") -> None:
    """Wait until the scripts of the queue have put the cursor on a row, which they do last."""
    page.locator("tr.group[aria-current]").wait_for()


def pause_clock(page: "Page") -> None:
    """Stop the time of an open page whose clock was installed: what it shows stays."""
    page.clock.pause_at(time.time() + 60)


@pytest.fixture
def content() -> Fill:
    """What the store of the service holds."""
    return fill


@pytest.fixture
def board(tmp_path: Path, content: Fill) -> Iterator[Board]:
    with serving(tmp_path, content) as board:
        yield board


@pytest.fixture
def queue(board: Board, page: "Page") -> "Page":
    """The open queue, with the cursor on its first group."""
    page.goto(board.url)
    ready(page)
    return page
