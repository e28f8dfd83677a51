"""What docs/papers.md tells a reader to run or to open is there."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from barograph.cli import group

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
CODE = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
COMMANDS = [code for code in CODE if code.startswith("barograph ")]
# These need a server, a store, or what the pipeline writes.
ELSEWHERE = re.compile(r"--kind|--store")
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
STAGES = {
    name: yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["stages"]
    for name in ("dvc.yaml", "studies/dvc.yaml")
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example, a history with times and a common step, and a benchmark."""
    random = np.random.default_rng(0)
    values = 100.0 + random.normal(0.0, 1.0, (40, 8))
    values[30:] *= 1.1
    table = pd.DataFrame(values, columns=[f"test{k}_ms" for k in range(8)])
    table.insert(0, "time", pd.date_range("2026-01-01", periods=40).astype(str))
    table.insert(0, "commit", [f"c{k}" for k in range(40)])
    table.to_csv(tmp_path / "history.csv", index=False)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/results.csv", tmp_path / "docs")
    bench = tmp_path / "bench.sh"
    bench.write_text("#!/bin/sh\nprintf 'commit,test0_ms\\nc39,100\\n'\n")
    bench.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_commands_run() -> None:
    runnable = [command for command in COMMANDS if not ELSEWHERE.search(command)]
    assert len(runnable) > 15
    for command in runnable:
        done = CliRunner().invoke(group, shlex.split(command)[1:])
        assert done.exit_code in {0, 2, 4}, (command, done.output)
        assert done.output


def test_stages_and_classifiers_exist() -> None:
    named = [code for code in CODE if code.startswith("dvc ")]
    assert len(named) == 3
    for command in named:
        if "repro" in command:
            file, stage = command.split()[-1].split(":")
            assert stage in STAGES[file]
        else:
            setting = command.split()[-1]
            assert setting.removeprefix("release.classifier=") in PARAMS["train"]["classifiers"]


def test_files_are_those_that_a_stage_writes() -> None:
    outs = [
        next(iter(out)) if isinstance(out, dict) else out
        for stages in STAGES.values()
        for stage in stages.values()
        for out in stage.get("outs", [])
    ]
    rooms = (ROOT / "src/barograph/pipeline", ROOT / "src/barograph/studies")
    source = "".join(
        path.read_text(encoding="utf-8") for room in rooms for path in room.glob("*.py")
    )
    files = [code for code in CODE if code.startswith("data/reports/")]
    assert len(files) > 15
    for file in files:
        assert file in outs or str(Path(file).parent) in outs, file
        assert re.search(rf"\b{Path(file).stem}\b", source), file


def test_routes_are_those_of_the_service() -> None:
    routes = [code for code in CODE if re.match("(GET|POST) /api/", code)]
    service = (ROOT / "docs/service.md").read_text(encoding="utf-8")
    assert len(routes) > 4
    assert all(f"`{route}`" in service for route in routes)
