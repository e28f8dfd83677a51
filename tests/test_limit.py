"""The benchmark of the limit: the best possible test, simulated cases, and the page."""

from pathlib import Path

import limit as benchmark
import numpy as np
import pytest
from limit import NOMINAL, SETTINGS, SIZES, Cases, limit, measured, rivals, write


def test_limit_under_gaussian_noise_is_that_of_the_two_sided_test() -> None:
    power = [round(100 * limit("gaussian", size, 1, NOMINAL)) for size in SIZES]
    assert power == [2, 17, 51, 85, 98, 100]
    assert limit("gaussian", 1.5, 4, NOMINAL) == pytest.approx(limit("gaussian", 3.0, 1, NOMINAL))


@pytest.mark.parametrize("kind", ["gaussian", "t3", "ar1"])
def test_limit_without_a_step_is_the_rate_and_grows_with_the_results(kind: str) -> None:
    assert limit(kind, 0.05, 1, 0.02) == pytest.approx(0.02, rel=0.2)
    power = [limit(kind, 2.0, count, 0.02) for count in (1, 2, 3, 6)]
    assert power == sorted(power)


def test_limit_under_ar1_noise_knows_the_result_before() -> None:
    cases = Cases.draw("ar1", 20_000, 1)
    innovation = cases.noise[:, -1] - benchmark.PHI * cases.noise[:, -2]
    assert cases.noise[:, -1].std() == pytest.approx(1.0, abs=0.03)
    least = np.quantile(np.abs(innovation), 1.0 - NOMINAL)
    found = float((np.abs(innovation + 3.0) > least).mean())
    assert limit("ar1", 3.0, 1, NOMINAL) == pytest.approx(found, abs=0.05)


def test_answers_find_more_of_larger_steps_and_stay_below_the_limit() -> None:
    quiet, stepped = Cases.draw("gaussian", 400, 2), Cases.draw("gaussian", 100, 3)
    for setting in ("at once", "5 results after"):
        rate, row = measured(quiet, stepped, *SETTINGS[setting])
        found = [int(share) for share in row["Barograph"].split("/")]
        assert rate < 0.05
        assert found == sorted(found)
        assert found[-1] >= 95
        assert all(0 <= int(share) <= 110 for share in row["of the limit at 3"].split("/"))
    names = dict(rivals(quiet, stepped, 0, 0, rate))
    assert [*names] == ["z", "t", "previous", "Hunter"]


def test_tables_are_written_between_their_markers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("A\n\n<!-- one -->\nold\n<!-- end -->\n\nB\n\n<!-- two -->\n<!-- end -->\n")
    monkeypatch.setattr(benchmark, "PAGE", page)
    write({"one": [{"x": 1.23456, "y": "z"}]})
    assert page.read_text() == (
        "A\n\n<!-- one -->\n| x | y |\n|---|---|\n| 1.235 | z |\n<!-- end -->\n\nB\n\n"
        "<!-- two -->\n<!-- end -->\n"
    )
