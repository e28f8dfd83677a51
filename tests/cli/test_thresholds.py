"""`--detector threshold` and `gesd`: the comparisons that detectors of change points replaced."""

import json
from pathlib import Path
from typing import Any

import pytest

from barograph.cli import main

DAY = 86_400_000
START = 1_767_225_600_000  # 2026-01-01


def written(folder: Path, values: list[float], releases: dict[int, str], step: int = DAY) -> str:
    """Write a slower-is-worse history with a column for releases, a result a day."""
    rows = ["test,commit,time,release,direction,value"]
    rows += [
        f"insert,c{k},{START + k * step},{releases.get(k, '')},lower,{value}"
        for k, value in enumerate(values)
    ]
    path = folder / "results.csv"
    path.write_text("\n".join([*rows, ""]))
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--format", "json"])
    return int(ended.value.code or 0), json.loads(capsys.readouterr().out)


def changes(capsys: pytest.CaptureFixture[str], path: str, *options: str) -> list[str]:
    _, actual = run(capsys, "detect", path, "--detector", "threshold", *options)
    return [point["commit"] for series in actual["series"] for point in series["change_points"]]


def test_each_result_is_compared_with_the_last_stable_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Steps of 4 % stay below the threshold against the day before; the release shows their sum.
    values = [100.0, 104.0, 108.0, 112.0, 116.0, 116.0]
    assert changes(capsys, written(tmp_path, values, {})) == []
    assert changes(capsys, written(tmp_path, values, {0: "8.0"})) == ["c3"]
    assert changes(capsys, written(tmp_path, values, {0: "8.0", 2: "8.1"})) == []
    assert changes(capsys, written(tmp_path, values, {0: "yes", 2: "no"})) == ["c3"]


def test_each_result_is_compared_with_a_week_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [100.0 * 1.015**k for k in range(12)]  # 11 % in a week
    assert changes(capsys, written(tmp_path, values, {})) == ["c7"]
    assert changes(capsys, written(tmp_path, values, {}, step=1000)) == []


def test_thresholds_of_single_tests_come_from_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, [100.0, 100.0, 106.0, 106.0], {})
    assert changes(capsys, path) == []
    Path("barograph.toml").write_text('[threshold]\n"other" = 1\n"ins*" = 5\n"*" = 50\n')
    assert changes(capsys, path) == ["c2"]
    assert changes(capsys, path, "--detector-option", "percent=20") == []
    Path("barograph.toml").write_text('[threshold]\n"ins*" = 0\n')
    with pytest.raises(SystemExit):
        main(["detect", path])
    assert "[threshold] 'ins*' is 0; use percent above 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("detector", "values", "releases"),
    [
        ("threshold", [100.0, 101.0] * 10 + [112.0], {}),
        ("threshold", [100.0] * 6 + [104.0, 108.0, 112.0], {5: "8.0"}),
        ("gesd", [100.0, 101.0, 99.0] * 8 + [112.0], {}),
    ],
)
def test_gate_judges_the_newest_commit(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    detector: str,
    values: list[float],
    releases: dict[int, str],
) -> None:
    left, actual = run(capsys, "gate", written(tmp_path, values, releases), "--detector", detector)
    assert (left, [regression["commit"] for regression in actual["regressions"]]) == (
        2,
        [f"c{len(values) - 1}"],
    )
    quiet = written(tmp_path, values[:-1], releases)
    assert run(capsys, "gate", quiet, "--detector", detector)[0] == 0


def test_an_alarm_has_the_sign_and_size_of_the_comparison_that_raised_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The step of 15 % at c20 was reverted at c40; the result of c50 is 11 % above the release.
    values = [100.0] * 20 + [115.0] * 20 + [100.0] * 10 + [110.9] + [100.0] * 9
    path = written(tmp_path, values, {0: "8.0"})
    _, actual = run(capsys, "detect", path, "--detector", "threshold", "--min-change", "10")
    [found] = actual["series"]
    keys = ("commit", "effect", "before", "after")
    assert [tuple(point[key] for key in keys) for point in found["change_points"]] == [
        ("c20", "worse", 100.0, 115.0),
        ("c50", "worse", 100.0, 110.9),
    ]
    for point in found["change_points"]:
        assert point["percent"] == pytest.approx(point["statistic"])
