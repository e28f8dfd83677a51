"""Take a picture of every page of the board, light and dark, wide, narrow and on a phone.

Run it after a change of a page: `make screenshots`. The pictures are in data/screenshots, of the
pages of `barograph serve --demo`, also as a reader sees them, of a service without results, and of
the form to sign in. A headless Chromium of the system takes them.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

FOLDER = Path(__file__).resolve().parent.parent / "data" / "screenshots"
PROGRAMS = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
THEMES = ("light", "dark")
SIZES: dict[str, ViewportSize] = {
    "": {"width": 1440, "height": 1000},
    "-narrow": {"width": 1024, "height": 768},
    "-phone": {"width": 390, "height": 844},
}
READ = ("processed", "series", "commit", "model")  # pages that look different to who may only read
SETTLING = 300  # milliseconds until what loads late has its place
PATIENCE = 300  # seconds until a service answers, or a page has its data


def main() -> None:
    """Take the pictures, and print their paths."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        sys.exit(f"no Chromium is installed: none of {', '.join(PROGRAMS)} is on the path")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        demo = stack.enter_context(_serving("--demo"))
        empty = stack.enter_context(_serving("--store", str(scratch / "empty.db")))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        places = _places(browser, demo)
        for theme, size in product(THEMES, SIZES):
            _take(browser, places | {"empty": empty}, theme, size)
        sign_in, secrets = f"{demo}/sign-in", _tokens(browser, demo)
        reading = {f"reader-{name}": places[name] for name in READ}
        for theme, size in product(THEMES, SIZES):
            _take(browser, {"sign-in": sign_in}, theme, size)
            _take(browser, {"no-scope": sign_in}, theme, size, secrets["ingest"])
            _take(browser, {"reader-queue": sign_in} | reading, theme, size, secrets["read"])
        browser.close()


@contextmanager
def _serving(*options: str) -> Iterator[str]:
    """Start a service on a free port; yield its URL once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    sent = [sys.executable, "-m", "barograph", "serve", "--port", str(port), "--log-level", "error"]
    service = subprocess.Popen([*sent, *options])  # noqa: S603
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(PATIENCE * 5):
            if service.poll() is not None:
                sys.exit(f"the service ended with status {service.returncode}")
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.2)
        yield url
    finally:
        service.terminate()
        service.wait()


def _places(browser: Browser, demo: str) -> dict[str, str]:
    """Return the pages by name; links of the queue lead to the series and the commit."""
    page = browser.new_page()
    page.goto(demo)
    series = page.locator("tr.group").first.get_attribute("data-series")
    commit = page.locator("tr.commit-row a, tr.group td.range-cell a").first.get_attribute("href")
    page.close()
    paths = {
        "queue": "/",
        "nothing": "/?q=nothing%20like%20it",
        "processed": "/processed",
        "search": "/series",
        "series": f"/series/{series}",
        "commits": "/commits",
        "commit": commit,
        "model": "/model",
        "health": "/data-health",
        "error": "/series/999999999",
    }
    return {name: f"{demo}{path}" for name, path in paths.items()}


def _tokens(browser: Browser, demo: str) -> dict[str, str]:
    """Create a token for each of some scopes; with the first, pages need a sign-in."""
    page, secrets = browser.new_page(), {"admin": ""}
    for scope in ("admin", "read", "ingest"):
        headers = {"Authorization": f"Bearer {secrets['admin']}"} if secrets["admin"] else {}
        sent = {"name": scope, "scopes": [scope]}
        answer = page.request.post(f"{demo}/api/v1/tokens", data=sent, headers=headers)
        secrets[scope] = answer.json()["token"]
    page.close()
    return secrets


def _take(
    browser: Browser, places: dict[str, str], theme: str, size: str, secret: str = ""
) -> None:
    """Take pictures of all places in one theme and one size of the window.

    With the secret of a token, the first place is the form to sign in; its picture is what follows.
    """
    context = browser.new_context(
        viewport=SIZES[size],
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        has_touch=size == "-phone",
        device_scale_factor=2 if size == "-phone" else 1,
        locale="en-GB",
    )
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    for name, url in places.items():
        page.goto(url, wait_until="networkidle")
        if secret and url.endswith("/sign-in"):
            page.get_by_label("Token").fill(secret)
            page.keyboard.press("Enter")
            page.wait_for_load_state("networkidle")
        page.wait_for_timeout(SETTLING)
        path = FOLDER / f"{name}{size}-{theme}.png"
        page.screenshot(path=path, full_page=True)
        sys.stdout.write(f"{path}\n")
    context.close()


if __name__ == "__main__":
    main()
