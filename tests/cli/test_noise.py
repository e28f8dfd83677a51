"""`barograph noise`: the series with the largest smallest changes first."""

import json
from pathlib import Path

import numpy as np
import pytest

from barograph.cli import main


def table(folder: Path, runs: int = 1) -> Path:
    """Write a calm, a noisy and a short series."""
    rng = np.random.default_rng(1)
    rows = ["test,order,run,unit,value"]
    for test, noise, count in (("calm", 1.0, 80), ("noisy", 8.0, 80), ("short", 1.0, 5)):
        rows += [
            f"{test},{order},{run},ms,{100.0 + noise * rng.standard_normal()}"
            for order in range(count)
            for run in range(runs)
        ]
    path = folder / "results.csv"
    path.write_text("\n".join([*rows, ""]))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["noise", *map(str, arguments)])
    return int(ended.value.code or 0), capsys.readouterr().out


def test_noise_lists_the_worst_series_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = run(capsys, table(tmp_path))
    header, noisy, calm, _, _, independent, count = text.splitlines()
    assert code == 0
    assert header.split()[:3] == ["series", "level", "scatter"]
    assert noisy.startswith("noisy ")
    assert calm.startswith("calm ")
    assert calm.endswith(" 4*")
    assert independent.startswith("* if runs of a commit are independent")
    assert count == "3 series, 1 with too few results at their level"


def test_noise_as_json_has_sizes_and_percentages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = run(capsys, table(tmp_path, runs=4), "--format", "json")
    noisy, calm, short = json.loads(text)["series"]
    assert code == 0
    assert [row["series"] for row in (noisy, calm, short)] == ["noisy", "calm", "short"]
    assert calm["runs"] == 4
    assert 0.5 < calm["share_of_runs"] <= 1.0

    for name in ("smallest_0", "smallest_2", "smallest_5"):
        assert noisy[name] > calm[name] > calm["scatter"]
        assert short[name] is None
    assert set(short) == set(calm)


def test_noise_of_short_series_is_not_enough_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "short.csv"
    path.write_text("order,value\n" + "".join(f"{k},{k % 3}\n" for k in range(11)))
    assert run(capsys, path) == (3, "")
