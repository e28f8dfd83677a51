"""What holds on every page: contrast and roles, the keyboard, phones, hostile names, and weight."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa

from barograph.results.series import Direction, SeriesId, Verdict
from barograph.results.wording import printable
from barograph.server.store import Measurement, Store
from barograph.server.store.schema import candidates
from barograph.server.triage import tickets, verdicts
from barograph.server.triage.refresh import CandidateRefresher
from tests.browser.serving import Board, serving
from tests.browser.waiting import wait_until
from tests.triage.test_refresh import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LENGTH = 30
SCRIPT = "<img src=x onerror=alert(1)><script>alert(1)</script>"
REVERSED = "\u202egnp.exe"
LONG = "x" * 500
NAMES = (SCRIPT, REVERSED, LONG, "insert")
PATHS = (
    *("/", "/?q=nothing+like+it", "/processed", "/series", "/series/1", "/series/999999"),
    *("/commits", "/commit", "/model", "/data-health", "/sign-in"),
)
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
PATIENCE = 30_000  # milliseconds
MOST_BYTES = 300_000
THEME = "(theme) => { document.documentElement.dataset.theme = theme; }"
# Compressed bytes of the document, its styles and its scripts; what the cache held counts as well.
BYTES = r"""() => performance.getEntries()
  .filter((entry) => entry.entryType === "navigation" || /\.(css|js|svg)$/.test(entry.name))
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""
# Whether everything that comes after the page is there: its state, and the parts about a change.
HAS_DATA = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const parts = all("div[data-part], section:not([hidden]) > [data-list]:not([hidden])");
  const isFull = (part) => part.querySelector("canvas")
    || (part.textContent && !part.querySelector(".bone"));
  return all("[data-nav-count]").every((count) => count.title) && parts.every(isFull);
}"""
# What has the focus, and whether an outline or a shadow shows it.
FOCUS = """() => {
  const active = document.activeElement, style = getComputedStyle(active);
  const isMarked = style.outlineStyle !== "none" || style.boxShadow !== "none";
  const name = active.tagName + (active.id || active.className) + active.textContent.slice(0, 40);
  return [name, active === document.body || isMarked];
}"""

# The links and buttons of the top bar that something else covers, or that are out of sight.
COVERED = """() => [...document.querySelectorAll(".top a, .top button")].filter((link) => {
  const { right, top, height } = link.getBoundingClientRect();
  return !link.contains(document.elementFromPoint(right - 2, top + height / 2));
}).map((link) => link.textContent.trim())"""


class Opened(NamedTuple):
    """A page that several tests look at."""

    path: str
    page: "Page"
    failures: list[str]


def fill(store: Store) -> None:
    """Series of hostile names that changed, some decided with hostile notes, and a ticket."""
    rows = []
    for name in NAMES:
        series = SeriesId(SCRIPT, name, name, name, name, ((name, name),))
        for order in range(LENGTH):
            value = 100.0 + (order * 7919 % 13) / 13 + 20.0 * (order >= 12) + 20.0 * (order >= 25)
            commit = f"{NAMES[(order + 1) % len(NAMES)][:480]}{order}"
            rows.append(
                Measurement(series, value, order, commit, direction=Direction.LOWER_IS_BETTER)
            )
    store.ingest(rows, SCRIPT)
    CandidateRefresher(Scripted([12, 25]), "scripted").refresh(store)

    def decide(connection: sa.Connection) -> None:
        early = candidates.c.order < 20
        numbers = list(connection.scalars(sa.select(candidates.c.id).where(early)))
        given = reversed(list(Verdict)[1:])
        for number, verdict, text in zip(numbers, given, NAMES, strict=False):
            verdicts.record_batch(connection, [(number, 0)], verdict, text[:90], text, text[:90])
        late = list(connection.scalars(sa.select(candidates.c.id).where(~early)))
        for name in NAMES:
            text = printable(name)
            url = "https://tracker.example/1"
            tickets.file(connection, f"{text}-1", url, text, [*numbers, *late], text[:90])

    store.write(decide)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """A service that all tests of the module share, which change nothing."""
    with serving(tmp_path_factory.mktemp("pages"), fill) as board:
        yield board


@pytest.fixture(scope="module")
def visit(browser: "Browser", board: Board) -> Iterator[Callable[[str], Opened]]:
    """Open a page in a window that all pages share, and wait until it has its data."""
    context = browser.new_context(
        reduced_motion="reduce", viewport={"width": 1440, "height": 1000}, locale="en-GB"
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    failures: list[str] = []
    context.on("weberror", lambda error: failures.append(str(error.error)))
    context.on("console", lambda message: _note(message.text, failures))
    page.on("dialog", lambda dialog: failures.append(f"a name was run: {dialog.message}"))

    def visited(path: str) -> Opened:
        failures.clear()
        query = f"?{urlencode({'project': SCRIPT, 'order': 25})}" if path == "/commit" else ""
        page.goto(f"{board.url}{path}{query}")
        wait_until(page, HAS_DATA)
        return Opened(path, page, failures)

    yield visited
    context.close()


@pytest.fixture(scope="module", params=PATHS)
def opened(request: pytest.FixtureRequest, visit: Callable[[str], Opened]) -> Opened:
    """Each page in turn, opened once for all tests on it."""
    return visit(request.param)


def _note(text: str, failures: list[str]) -> None:
    if "Content Security Policy" in text:
        failures.append(text)


def violations(page: "Page") -> list[str]:
    """Return which rules of axe-core the page breaks in either theme, and where."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    )
    rules = ({"type": "tag", "values": RULES}, {"type": "rule", "values": ["color-contrast"]})
    broken = []
    for theme, rule in zip(("light", "dark"), rules, strict=True):
        page.evaluate(THEME, theme)
        options = {"resultTypes": ["violations"], "runOnly": rule}
        broken += axe.Axe().run(page, options=options).response["violations"]
    page.evaluate(THEME, "light")
    return [
        f"{violation['id']}: {node['html'][:160]}: {node['failureSummary'][:300]}"
        for violation in broken
        for node in violation["nodes"][:3]
    ]


def test_page_keeps_the_rules_of_wcag_in_both_themes(opened: Opened) -> None:
    broken = violations(opened.page)
    assert not broken, "\n".join(broken)


def test_hostile_names_are_text_of_bounded_length(opened: Opened) -> None:
    assert not opened.failures
    shown = opened.page.inner_text("body")
    assert "\u202e" not in shown
    assert "x" * 100 not in shown
    assert opened.page.locator("img[src=x]").count() == 0


def test_page_is_light_and_still(opened: Opened) -> None:
    assert 1_000 < opened.page.evaluate(BYTES) < MOST_BYTES
    assert opened.page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("phone", [390, 320])
def test_page_fits_a_phone_with_all_of_its_navigation(opened: Opened, phone: int) -> None:
    opened.page.set_viewport_size({"width": phone, "height": 844})
    opened.page.evaluate("scrollTo(0, 0)")
    width = opened.page.evaluate("document.documentElement.scrollWidth")
    covered = opened.page.evaluate(COVERED)
    opened.page.set_viewport_size({"width": 1440, "height": 1000})
    assert width <= phone
    assert not covered


def test_keyboard_skips_to_the_content_and_shows_the_focus(opened: Opened) -> None:
    page = opened.page
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
    page.locator(".skip").focus()
    assert page.locator(".skip").bounding_box()["y"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    seen = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        name, is_visible = page.evaluate(FOCUS)
        assert is_visible, name
        seen.add(name)
    assert len(seen) > 1
