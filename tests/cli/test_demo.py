"""The store of `barograph serve --demo`."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from barograph.cli import demo, main
from barograph.cli.detectors import DEFAULT_DETECTOR, DETECTORS, make_detector
from barograph.detection.online import make_judge
from barograph.models import OnlineModels
from barograph.server.store import Store
from barograph.server.store.schema import candidates
from barograph.server.triage import tickets
from barograph.server.web.app import create_app
from barograph.server.web.model_report import model_report, work_lists
from barograph.server.web.model_watch import CandidateModel, ModelWatch
from barograph.server.web.routes.operations import data_health


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path: Path = tmp_path_factory.mktemp("demo") / "demo.db"
    judge = make_judge(OnlineModels.default())
    with Store(str(path), judge) as store:
        demo.fill(store, make_detector(DEFAULT_DETECTOR), DETECTORS[DEFAULT_DETECTOR])
        yield store


@pytest.fixture
def connection(filled: Store) -> Iterator[sa.Connection]:
    with filled.read() as opened:
        yield opened


def test_demo_has_something_on_every_page(connection: sa.Connection) -> None:
    verdict = candidates.c.verdict
    query = sa.select(verdict, sa.func.count()).group_by(verdict)
    states = dict(tuple(row) for row in connection.execute(query))
    assert min(states[name] for name in ("true_positive", "false_positive", "not_triaged")) >= 10
    assert {"unsure", "under_investigation"} <= states.keys()
    assert {ticket.status for ticket in tickets.find(connection)} == {"open", "closed"}
    health = data_health(connection)
    assert [pipeline.name for pipeline in health.pipelines] == [
        "tern-parser / sharded / aggregation"
    ]
    assert len(health.series) == 1
    assert health.suspects
    assert health.late
    assert health.rejected
    report = model_report(connection, None, CandidateModel(None))
    assert sum(week.record.verdicts > 0 for week in report.weeks) >= 10
    assert report.recent.delay.value is not None
    assert report.due.due
    assert all(work_list.candidates for work_list in work_lists(connection))


def test_effectiveness_is_counted_as_in_the_paper(filled: Store) -> None:
    """Daly et al. 2020, 5.2, counted again from the answers of other routes."""
    app = create_app(filled, ModelWatch(None))
    client = TestClient(app, "http://127.0.0.1", client=("127.0.0.1", 50000))
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = client.get(f"/api/v1/change-points?limit=500&after={after}").json()
        found, after = found + page["change_points"], page["next"]
    about = [set(t["change_points"]) for t in client.get("/api/v1/tickets").json()["tickets"]]
    ticketed = set().union(*about)
    real = [row for row in found if row["verdict"] == "true_positive"]
    noise = [row for row in found if row["verdict"] == "false_positive"]

    numbers = {row["series"] for row in found}
    projects = {n: client.get(f"/api/v1/series/{n}").json()["project"] for n in numbers}

    def commits(rows: list[dict[str, Any]]) -> int:
        return len({(projects[row["series"]], row["order"]) for row in rows})

    counts = client.get("/api/v1/change-points/effectiveness").json()
    assert counts == {
        "change_points": len(found),
        "commits": commits(found),
        "commits_with_ticket": commits([row for row in found if row["id"] in ticketed]),
        "commits_processed": commits(real + noise),
        "tickets": len(about),
        "real": len(real),
        "real_not_found": sum(not row["present"] for row in real),
        "real_without_ticket": sum(row["id"] not in ticketed for row in real),
        "noise": len(noise),
        "noise_with_ticket": sum(row["id"] in ticketed for row in noise),
        "noise_not_found": sum(not row["present"] for row in noise),
    }
    # Grouped by commit, there is less to look at; people decided most of it.
    assert counts["change_points"] > 1.5 * counts["commits"]
    assert counts["commits"] > counts["commits_processed"] > 0.5 * counts["commits"]
    assert counts["tickets"] == 6


# Makes the folder, is sent a signal, and waits to be ended by it.
ENDED = """
import signal, sys, time
from barograph.cli.demo import demo_folder

# The tests may run with these ignored, as in the background of a shell or after nohup.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
with demo_folder() as folder:
    (folder / "demo.db").write_text("x")
    print(folder, flush=True)
    signal.raise_signal(getattr(signal, sys.argv[1]))
    time.sleep(60)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_folder_of_the_demo_is_deleted_after_a_signal(name: str) -> None:
    command = [sys.executable, "-c", ENDED, name]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    number = getattr(signal, name)
    expected = -number if name == "SIGINT" else 128 + number
    assert ended.returncode == expected, ended.stderr
    assert not Path(ended.stdout.strip()).exists()


@pytest.mark.parametrize("option", ["--store", "--model"])
def test_demo_refuses_a_store_and_models(
    option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"")
    with pytest.raises(SystemExit):
        main(["serve", "--demo", option, str(path)])
    message = f"{option}: --demo has a store and models of its own\n"
    assert capsys.readouterr().err.endswith(message)
