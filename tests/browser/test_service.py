"""A browser reaches the service."""

import json
from typing import TYPE_CHECKING

from tests.browser.conftest import Board

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_health_renders_as_json(board: Board, page: "Page") -> None:
    response = page.goto(f"{board()}/health")
    assert response is not None
    assert response.status == 200
    assert json.loads(page.inner_text("body"))["status"] == "alive"
