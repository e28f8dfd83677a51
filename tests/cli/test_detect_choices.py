"""`detect`: which changes it selects, and its detectors and their parameters."""

from pathlib import Path

import pytest

from barograph.cli.detectors import DETECTORS, ChangeSearch
from barograph.cli.options import FORMER_DETECTORS
from barograph.detection import EDivisive, Gesd, Hunter, Triaged
from tests.cli.test_commands import code
from tests.cli.test_detect import content, detect


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--since", "2026-01-02"], {"slow": [40]}),
        (["--since", "2026-01-02T17:00:00"], {}),
        (["--since", "00000020ab"], {"slow": [40]}),
        (["--since", "00000019"], {"slow": [40], "fast": [20]}),
        (["--since", "1d"], {}),
        (["--min-change", "13.5"], {"fast": [20]}),
        (["--min-probability", "1"], {}),
    ],
)
def test_changes_are_selected(table: Path, options: list[str], expected: object) -> None:
    assert content(table, *options) == expected


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_is_offered_and_has_an_answer(table: Path, name: str) -> None:
    if name in ("pelt", "dynp"):
        pytest.importorskip("ruptures")
    actual = content(table, "--detector", name)
    assert name in ("nothing", "stepfit", "gesd") or 40 in actual["slow"]


def test_parameters_are_typed_from_the_fields_of_the_detector() -> None:
    options = {"window": "30", "pvalue": "0.01", "parity": "true"}
    assert ChangeSearch("hunter", options).make() == Hunter(30, 0.01, parity=True)
    assert ChangeSearch("edivisive", {"min_size": "5"}).make() == EDivisive(min_size=5)
    assert ChangeSearch("gesd", {"alpha": "0.1"}).make() == Gesd(alpha=0.1)
    triaged = ChangeSearch("triaged", {"candidates": "hunter"}).make()
    assert isinstance(triaged, Triaged)
    assert triaged.candidates == Hunter()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["hunter", "windows=3"], "hunter has no parameter 'windows'; allowed are window"),
        (["hunter", "window=x"], "window is 'x'; it must be int"),
        (["hunter", "parity=maybe"], "parity is 'maybe'; it must be bool"),
        (["edivisive", "seed=x"], "seed is 'x'; it must be int"),
        (["triaged", "model=x"], "triaged has no parameter 'model'; allowed are cand"),
        (["triaged", "candidates=triaged"], "candidates is 'triaged'; it must be hunter or"),
        (["hunter", "window"], "'window': expected NAME=VALUE, such as window=50"),
        (["hunter", "window=1"], "window is 1: it must be at least 2 points"),
    ],
)
def test_wrong_parameters_are_refused_with_what_is_allowed(
    table: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, parameter = options
    assert code("detect", str(table), "--detector", name, "--set", parameter) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["detect", "gate"])
def test_a_method_of_earlier_versions_names_the_way_over(
    table: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, message in FORMER_DETECTORS.items():
        assert code(command, str(table), "--detector", name) == 1
        assert f"there is no {name!r}: {message}" in capsys.readouterr().err


def test_gate_judges_the_newest_commit_by_outliers(tmp_path: Path) -> None:
    path, values = tmp_path / "results.csv", [100.0, 101.0, 99.0] * 8 + [112.0]
    for count, expected in ((25, 2), (24, 0)):
        rows = [f"{k},-1,{value}" for k, value in enumerate(values[:count])]
        path.write_text("\n".join(["order,direction,value", *rows, ""]))
        assert code("gate", str(path), "--detector", "gesd") == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--detector", "pelt", "--set", "pvalue=0.1"],
            "pelt has no parameter 'pvalue'; allowed are",
        ),
        (["--detector", "pelt", "--min-probability", "0.5"], "pelt has no probability; only tri"),
        (["--detector", "pelt", "--model", __file__], "--model: pelt has no model; only triaged"),
        (["--since", "deadbeef"], "--since 'deadbeef': neither a date nor a commit of these"),
        (["--since", ""], "--since '': neither a date nor a commit of these"),
    ],
)
def test_unusable_options_are_refused(
    table: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code("detect", str(table), *options) == 1
    assert message in capsys.readouterr().err


def test_series_that_are_too_short_are_counted(table: Path) -> None:
    actual = detect(table, "--detector", "stepfit", "--set", "threshold=9")
    note = "1 of 4 series not searched: fewer than the 4 points that stepfit needs"
    assert note in actual.stderr


def test_since_takes_an_order_where_commits_have_no_names(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    levels = [10.0 + 5 * (k >= 30) + 5 * (k >= 60) + 0.1 * (k % 3) for k in range(90)]
    rows = [f"{k},{level}" for k, level in enumerate(levels)]
    path.write_text("\n".join(["order,value", *rows, ""]))
    assert [list(content(path, "--since", order).values()) for order in ("20", "40")] == [
        [[30, 60]],
        [[60]],
    ]


def test_since_a_date_needs_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.csv"
    path.write_text("order,value\n" + "".join(f"{k},{k % 3}\n" for k in range(20)))
    assert code("detect", str(path), "--since", "2026-01-01") == 1
    assert "the results have no times; name a commit instead" in capsys.readouterr().err
