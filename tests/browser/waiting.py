"""Waiting for what a page computes."""

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE_S = 30.0
PAUSE_S = 0.02


def wait_until(page: "Page", expression: str, arg: Any = None) -> Any:
    """Evaluate an expression until its result is neither null nor false, and return the result.

    `Page.wait_for_function` evaluates text inside the page from the second time on, which a
    content security policy forbids.
    """
    end = time.monotonic() + PATIENCE_S
    while (result := page.evaluate(expression, arg)) in (None, False):
        assert time.monotonic() < end, f"{expression} is not true after {PATIENCE_S:g} s"
        time.sleep(PAUSE_S)  # a page may have stopped its own clock
    return result
