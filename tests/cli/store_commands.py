"""Run commands in this process, on small results and models: helpers of the store commands."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.cli import main
from barograph.models import OnlineModels
from tests.service.models import small_model, small_pair
from tests.training.online_histories import learned


def release() -> None:
    folder = Path("data/release")
    folder.mkdir(parents=True)
    small_pair().save(folder / "online.baro")
    small_model(use="label_free").save(folder / "label_free.baro")


def write(name: str, *, length: int = 30, by: float = 30.0, direction: int = -1) -> str:
    """Write two series, the first with a step at its newest point."""
    rows = ["project,test,order,commit,direction,value"]
    for test, step in (("query", by), ("insert", 0.0)):
        values = 100 + np.random.default_rng(3).standard_normal(length)
        values[-1] = 100 + step
        rows += [f"db,{test},{k},c{k},{direction},{v!r}" for k, v in enumerate(values.tolist())]
    Path(name).write_text("\n".join([*rows, ""]))
    return name


def write_steps(name: str) -> None:
    """Write a series with a step in the middle."""
    rows = ["project,test,order,value"]
    rows += [f"db,query,{k},{100 + k % 3 + (50 if k >= 20 else 0)}" for k in range(40)]
    Path(name).write_text("\n".join([*rows, ""]))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    output = capsys.readouterr()
    return int(left.value.code or 0), output.out, output.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code, out, _ = run(capsys, *arguments, "--format", "json")
    return code, json.loads(out)


def learned_pair() -> None:
    _, models = learned()
    Path("models").mkdir()
    OnlineModels(models.online, models.confirm).save("models/online.baro")
