"""The store of `barograph serve --demo`."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sqlalchemy as sa

from barograph.cli import demo, main
from barograph.cli.detectors import DEFAULT_DETECTOR, DETECTORS, make_detector
from barograph.server.store import Store
from barograph.server.store.schema import candidates
from barograph.server.triage import tickets
from barograph.server.web.data_health import data_health
from barograph.server.web.model_report import model_report
from barograph.server.web.work_lists import work_lists
from tests.shared import ROOT


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Connection]:
    path: Path = tmp_path_factory.mktemp("demo") / "demo.db"
    with Store(str(path)) as store:
        demo.fill(store, make_detector(DEFAULT_DETECTOR), DETECTORS[DEFAULT_DETECTOR])
        with store.read() as opened:
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
    report = model_report(connection, None)
    assert sum(week.record.verdicts > 0 for week in report.past.weeks) >= 10
    assert report.past.recent.delay.value is not None
    assert report.due.due
    assert all(work_list.candidates for work_list in work_lists(connection))


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo_changes", ROOT / "tools/demo_changes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_recorded_change_points_are_those_of_the_default_detector() -> None:
    recorded = json.loads(resources.files("barograph.cli").joinpath(demo.CHANGES).read_text())
    computed = _tool().computed()
    assert [[row[:3] for row in item] for item in recorded] == [
        [row[:3] for row in item] for item in computed
    ], "run: python tools/demo_changes.py"
    left, right = (
        np.array([row[3:] for item in rows for row in item], dtype=np.float64)
        for rows in (recorded, computed)
    )
    # Processors differ in the last bits of logarithms and sums, and a feature that equals the
    # threshold of a split then takes the other branch of one tree.
    same = np.isclose(left, right, rtol=1e-4, equal_nan=True).all(axis=1)
    assert same.mean() > 0.98
    assert np.allclose(left[:, 2], right[:, 2], rtol=0.0, atol=0.02)


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
    number = signal.SIGINT if name == "SIGINT" else signal.SIGTERM
    assert ended.returncode == -number, ended.stderr
    assert not Path(ended.stdout.strip()).exists()


@pytest.mark.parametrize("option", ["--store", "--model"])
def test_demo_refuses_a_store_and_models(
    option: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"")
    with pytest.raises(SystemExit):
        main(["serve", "--demo", option, str(path)])
    assert f"leave out {option}" in capsys.readouterr().err


STARTED = """
import sys
from barograph.cli import main
from barograph.runtime.compiled import _Process

try:
    main(["serve", "--demo", "--store", sys.argv[1]])  # ends before it listens
except SystemExit:
    print(_Process.is_chosen, _Process.interprets)
"""


def test_demo_waits_for_no_compiler(tmp_path: Path) -> None:
    answer = subprocess.run(  # noqa: S603 - the interpreter of the tests
        [sys.executable, "-c", STARTED, str(tmp_path / "given")],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "True True\n"
