"""The pages of the model and of the data's health: what a person does there."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from barograph.detection import Hunter
from barograph.learning.registry import Index, registry_of
from barograph.results.series import SeriesId, Verdict
from barograph.server.store import Measurement, Store, arrivals, retrainings
from barograph.server.store.audit import now
from barograph.server.store.schema import candidates
from barograph.server.triage.refresh import CandidateRefresher
from barograph.server.triage.verdicts import record_batch
from barograph.server.web.background import WorkerConfig
from barograph.server.web.retraining import Retraining
from tests.browser.conftest import ready
from tests.browser.serving import Board, serving
from tests.service.models import small_model
from tests.triage.test_refresh import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

DAY = 86_400_000
LENGTH, STEP = 24, 15
# By test, the probability of its candidate, and the verdict of a person.
CASES = {
    "insert": (0.9, Verdict.TRUE_POSITIVE),
    "find": (0.9, Verdict.FALSE_POSITIVE),
    "group": (0.9, Verdict.TRUE_POSITIVE),
    "sort": (0.55, None),
    "update": (0.5, None),
    "scan": (0.6, None),
}
ONE_PIPELINE = ("group", "sort")


class ScriptedRetraining(Retraining):
    """A retraining whose steps and end come from the test, not from a process."""

    def _launch(self, number: int) -> None:
        """Start nothing."""

    def cancel(self) -> bool:
        """End as cancelled."""
        self.end(retrainings.CANCELLED)
        return True

    def advance(self, phase: int, done: int, of: int) -> None:
        """Reach a step of a phase."""
        assert self.progress is not None
        self.progress = self.progress.at(phase, done, of)

    def end(self, state: str, result: dict[str, Any] | None = None) -> None:
        """End in a state."""
        if self.progress is not None:
            number = self.progress.id
            self._store.write(lambda c: retrainings.finish(c, number, state, result))
        self.progress = None

    def succeed(self) -> None:
        """End with a challenger that may be released."""
        folders = self.served
        index = Index.read("label_free", folders)
        file = registry_of(folders) / "new.baro"
        file.parent.mkdir(parents=True, exist_ok=True)
        small_model(1, "label_free").save(file)
        decision = {"promoted": True, "why": "not worse"}
        digest = index.keep(file, file)
        result = {"files": {"label_free": decision}, "challengers": {"label_free": digest}}
        self.end(retrainings.DONE, result)


def fill(store: Store) -> None:
    """Series with one candidate each, some decided; one sent nothing for a month."""
    today = now()
    rows = []
    for name in CASES:
        last = today - (30 if name == "sort" else 0) * DAY
        project = "tern" if name in ONE_PIPELINE else f"tern-{name}"
        series = SeriesId(project, "standalone", "crud", name, "ops_per_sec")
        for order in range(LENGTH):
            value = 100.0 + order * 7919 % 5 + 30.0 * (order >= STEP)
            taken = last - (LENGTH - 1 - order) * DAY
            rows.append(Measurement(series, value, order, f"{order:040x}", time=taken))
    store.ingest(rows, "ci")
    CandidateRefresher(Scripted([STEP]), "scripted").refresh(store)

    def decide(connection: sa.Connection) -> None:
        model = store.model(connection, "label_free-1", 0.5)
        numbers = connection.scalars(sa.select(candidates.c.id).order_by(candidates.c.series)).all()
        for number, (probability, verdict) in zip(numbers, CASES.values(), strict=True):
            row = {"probability": probability, "model": model}
            connection.execute(sa.update(candidates).where(candidates.c.id == number).values(row))
            if verdict is not None:
                record_batch(connection, [(number, None)], verdict, "ada", timestamp=today - DAY)
        arrivals.write(connection, arrivals.observe(connection, range(1, len(CASES) + 1)))

    store.write(decide)


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Board, ScriptedRetraining]]:
    """A service that all tests of the module share, and what retrains its model."""
    made: list[ScriptedRetraining] = []

    def retraining_of(store: Store, folder: Path) -> Retraining:
        config = WorkerConfig("", Hunter(), "Hunter", None)
        made.append(ScriptedRetraining(store, config, folder / "served"))
        return made[0]

    with serving(tmp_path_factory.mktemp("model"), fill, retraining_of=retraining_of) as board:
        yield board, made[0]


@pytest.fixture(scope="module")
def board(running: tuple[Board, ScriptedRetraining]) -> Board:
    return running[0]


@pytest.fixture(scope="module")
def retraining(running: tuple[Board, ScriptedRetraining]) -> ScriptedRetraining:
    return running[1]


def test_retraining_is_followed_released_and_rolled_back(
    board: Board, retraining: ScriptedRetraining, page: "Page"
) -> None:
    page.goto(f"{board.url}/model")
    page.get_by_role("button", name="Retrain now").click()
    steps = page.locator("[data-phase]")
    page.locator("[data-phase='0'][aria-current=step]").wait_for()
    retraining.advance(3, 1, 4)
    page.locator("[data-phase='3'][aria-current=step]").wait_for()
    assert "2 of 4" in steps.nth(3).inner_text()
    assert [steps.nth(k).locator(".mark").inner_text() for k in range(5)] == ["✓"] * 3 + ["→", ""]
    assert page.locator("progress").evaluate("(bar) => bar.value") > 0.5
    assert page.get_by_role("button", name="Retrain now").is_hidden()

    retraining.succeed()
    held: list[Route] = []

    def hold(route: "Route") -> None:
        held.append(route)

    page.route("**/retraining/release", hold)
    release = page.get_by_role("button", name="Release 1 file")  # the page shows the end by itself
    with page.expect_request("**/retraining/release"):
        release.click()
    page.get_by_role("button", name="Releasing…", disabled=True).wait_for()
    held[0].fulfill(status=503, json={"error": {"message": "the disk is full"}})
    page.get_by_role("alert").filter(has_text="The disk is full").wait_for()
    page.unroute("**/retraining/release")
    release.click()
    page.get_by_role("heading", name="Model 1 scores the queue").wait_for()
    page.locator("[aria-labelledby=compared]", has_text="Released by local").wait_for()

    for width in (1024, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Roll back to the built-in model").click()
    page.get_by_role("heading", name="The built-in model scores the queue").wait_for()


def test_retraining_stops_after_a_question(
    board: Board, retraining: ScriptedRetraining, page: "Page"
) -> None:
    cancelled: list[str] = []
    page.on("request", lambda sent: cancelled.extend(re.findall("/cancel$", sent.url)))
    page.goto(f"{board.url}/model")
    page.get_by_role("button", name="Retrain now").click()
    stop = page.get_by_role("button", name="Stop")
    page.once("dialog", lambda dialog: dialog.dismiss())
    stop.click()
    page.once("dialog", lambda dialog: dialog.accept())
    stop.click()
    page.locator("[data-latest]", has_text="cancelled").wait_for()
    assert len(cancelled) == 1  # none after the question that was dismissed
    assert retraining.progress is None


def test_refused_retraining_is_reported_above_the_page(
    board: Board, retraining: ScriptedRetraining, page: "Page"
) -> None:
    page.goto(f"{board.url}/model")
    retraining.start("somebody else")
    page.get_by_role("button", name="Retrain now").click()
    page.get_by_role("alert").filter(has_text="a retraining is running already").wait_for()
    retraining.end(retrainings.CANCELLED)


def test_work_lists_open_in_the_queue(board: Board, page: "Page") -> None:
    for title, names in (("doubts", {"find"}), ("informative", {"sort", "update", "scan"})):
        page.goto(f"{board.url}/model")
        panel = page.locator("section.panel", has=page.get_by_role("heading", name=title))
        links = [str(link.get_attribute("href")) for link in panel.locator("td a").all()]
        assert links
        assert all("?change_point=" in link for link in links)
        panel.get_by_role("link", name=f"Open {len(names)} in the queue").click()
        ready(page)
        shown = page.locator("tr.group").all()
        assert {row.get_attribute("data-name") for row in shown} == names


def test_silent_series_is_named_and_news_are_offered(board: Board, page: "Page") -> None:
    page.clock.install()
    with page.expect_response("**/api/v1/data-health"):  # with which later answers are compared
        page.goto(f"{board.url}/data-health")
    silent = page.locator("#silent")
    [link] = silent.get_by_role("link").all()
    names = "sort", "tern/standalone/crud/sort/ops_per_sec"
    assert (link.inner_text(), link.get_attribute("title")) == names
    assert "30 d ago" in silent.inner_text()
    assert page.locator(".findings .wrong").first.inner_text().split() == ["1", "silent", "series"]
    board.store.write(
        lambda connection: arrivals.note_rejections(connection, {"value: not a number": 3})
    )
    page.clock.fast_forward(31_000)
    page.get_by_role("status").get_by_role("link", name="Show it").click()
    page.get_by_text("value: not a number").wait_for()
    silent.get_by_role("link").click()
    page.get_by_role("heading", name="sort", exact=True).wait_for()
