"""A folder to run the commands of the store in, and a table with changes."""

from pathlib import Path

import numpy as np
import pytest

from tests.cli.store_commands import release

HOUR = 3_600_000
START = 1_767_225_600_000  # 2026-01-01


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with released models, made the current one; stores are created below it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("BAROGRAPH_STORE", raising=False)
    release()
    return tmp_path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four series of hourly commits: worse at 40, better at 20, quiet, and too short."""
    noise = np.random.default_rng(8).normal(0, 1, (4, 60))
    steps = {"slow": (40, 12.0, -1), "fast": (20, 15.0, 1), "still": (30, 0.0, 1)}
    rows = ["test,order,commit,time,direction,value"]
    for (name, (place, step, direction)), line in zip(steps.items(), noise, strict=False):
        rows += [
            f"{name},{k},{k:08d}{'ab' * 16},{START + k * HOUR},{direction},"
            f"{100 + value + step * (k >= place)!r}"
            for k, value in enumerate(line.tolist())
        ]
    rows += [f"tiny,{k},{k:08d}{'ab' * 16},{START + k * HOUR},1,5" for k in range(3)]
    path = tmp_path_factory.mktemp("detect") / "results.csv"
    path.write_text("\n".join([*rows, ""]))
    return path
