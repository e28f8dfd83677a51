"""Stores that fill the queue, and what tests do with its page."""

from typing import TYPE_CHECKING

from barograph.detection import Hunter
from barograph.results.series import Direction, SeriesId
from barograph.server.store import Measurement, Store
from barograph.server.web.background import RefreshLoop, WorkerConfig
from tests.browser.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LENGTH = 30
# The page asks before it is left until all verdicts are saved.
SAVED = "() => dispatchEvent(new Event('beforeunload', { cancelable: true }))"
# Where each test got slower, and by how much; others change as the first does.
TESTS = {"insert": (25, 20.0), "update": (25, 20.0), "remove": (25, 20.0), "find": (15, 8.0)}
LOWER = Direction.LOWER_IS_BETTER
LONG = SeriesId("db", "v" * 30, "t" * 30, "insert", "m" * 30, (("thread_level", "64"),))


def fill(store: Store, names: tuple[str, ...] = tuple(TESTS)) -> None:
    """Three series that got slower at the same commit, and a fourth at another."""
    rows = []
    for name in names:
        step, size = TESTS.get(name, TESTS["insert"])
        series = SeriesId("db", "linux", "nightly", name, "p99")
        for order in range(LENGTH):
            value = 100.0 + (order * 7919 % 13) / 13 + size * (order >= step)
            commit = f"{order:040x}"
            rows.append(Measurement(series, value, order, commit, direction=LOWER))
    search(store, rows)


def fill_long(store: Store) -> None:
    """A series with long labels that got slower."""
    values = [100.0 + (k * 7919 % 13) / 13 + 20.0 * (k >= 25) for k in range(LENGTH)]
    search(store, [Measurement(LONG, value, k, direction=LOWER) for k, value in enumerate(values)])


def fill_three(store: Store) -> None:
    """Groups at three commits."""
    fill(store)
    series = SeriesId("db", "linux", "nightly", "scan", "p99")
    values = [100.0 + (k * 7919 % 13) / 13 + 5.0 * (k >= 10) for k in range(LENGTH)]
    search(
        store, [Measurement(series, value, k, direction=LOWER) for k, value in enumerate(values)]
    )


def search(store: Store, sent: list[Measurement]) -> None:
    """Store results and find their change points."""
    store.ingest(sent, "ci")
    RefreshLoop(store, WorkerConfig("", Hunter(), "Hunter", None)).run_once(clusters=False)


def groups(page: "Page") -> "Locator":
    return page.locator("tr.group")


def press(page: "Page", *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def saved_verdicts(page: "Page") -> dict[str, str]:
    """The verdicts by test, from the API, once all are saved."""
    wait_until(page, SAVED)
    answer = page.evaluate("fetch('/api/v1/change-points').then((answer) => answer.json())")
    names = page.evaluate("fetch('/api/v1/series').then((answer) => answer.json())")
    tests = {series["id"]: series["test"] for series in names["series"]}
    return {tests[point["series"]]: point["verdict"] for point in answer["change_points"]}
