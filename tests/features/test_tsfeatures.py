"""The characteristics of the package tsfeatures: its numbers, its side effects, the known sides."""

import os
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from barograph.features import FEATURE_SETS, characteristics, feature_matrix, tsfeatures
from barograph.features.tsfeatures import FUNCTIONS, NAMES, RESULTS, numbers_of
from barograph.results.series import Floats, Ints

Sides = tuple[Floats, Ints, Ints, Ints]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the known sides; one process."""
    monkeypatch.setattr(tsfeatures, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    return tmp_path / "cache"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replace every function of the package by the length of a side; note the lengths."""
    calls: list[int] = []

    def length(side: Floats, freq: int) -> dict[str, float]:
        assert freq == 1
        calls.append(side.size)
        return dict.fromkeys(RESULTS, float(side.size))

    package = SimpleNamespace(**dict.fromkeys(FUNCTIONS, length))
    monkeypatch.setattr(tsfeatures, "_package", lambda: package)
    return calls


def sides(count: int = 3) -> Sides:
    """Return candidates whose Pre has 40 values, and whose After has 1, 2, ... values."""
    values = np.random.default_rng(1).normal(100.0, 2.0, 60 + count)
    after = np.arange(1, count + 1)
    starts = np.zeros(count, dtype=np.int64)
    return values, starts, starts + 40, 40 + after


@pytest.mark.slow
def test_numbers_are_those_of_the_package() -> None:
    values = np.random.default_rng(1).normal(100.0, 2.0, 120)
    warn, variables = warnings.warn, dict(os.environ)
    rows = feature_matrix(values, [0, 0], [40, 40], [120, 41], "tsfeatures")
    assert warnings.warn is warn
    assert dict(os.environ) == variables
    assert rows.shape == (2, len(NAMES))
    assert np.isfinite(rows).all()
    pre = dict(zip(RESULTS, rows[0], strict=False))
    centred = values[:40] - values[:40].mean()
    assert pre["x_acf1"] == pytest.approx(centred[1:] @ centred[:-1] / (centred @ centred))
    assert 0.0 <= pre["alpha"] <= 1.0
    # The package has the same definitions of these as R, and so as our kernels.
    ours = characteristics(values[:40], values[40:])
    for name in ("lumpiness", "stability", "crossing_points"):
        assert pre[name] == pytest.approx(ours[f"pre_{name}"])
    after = dict(zip(RESULTS, rows[1, len(RESULTS) :], strict=True))
    assert after["series_length"] == 1.0
    assert after["x_acf1"] == 0.0  # one value has none


def test_equal_sides_are_computed_once(asked: list[int], place: Path) -> None:
    first = feature_matrix(*sides(), "tsfeatures")
    assert sorted(asked) == sorted([40, 1, 2, 3] * len(FUNCTIONS))
    assert first[:, 0].tolist() == [40.0] * 3
    assert first[:, -1].tolist() == [1.0, 2.0, 3.0]
    again = feature_matrix(*sides(4), "tsfeatures")
    assert asked[4 * len(FUNCTIONS) :] == [4] * len(FUNCTIONS)
    assert again[:3].tobytes() == first.tobytes()
    assert len(list(place.iterdir())) == 1


def test_numbers_do_not_depend_on_chunks_and_the_cost_is_printed(
    asked: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tsfeatures, "CHUNK", 2)
    monkeypatch.setattr(tsfeatures, "PATIENCE", 0.0)
    rows = feature_matrix(*sides(5), "tsfeatures")
    assert rows[:, -1].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert "tsfeatures: 10 sides in 0 s, 6 of them computed" in capsys.readouterr().err
    assert len(asked) == 6 * len(FUNCTIONS)


def test_without_a_folder_everything_is_computed(
    asked: list[int], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write_text("a file where the folder should be")
    assert feature_matrix(*sides(), "tsfeatures")[:, -1].tolist() == [1.0, 2.0, 3.0]
    monkeypatch.setattr(tsfeatures, "cache_folder", lambda: Path("/proc/none"))
    assert feature_matrix(*sides(), "tsfeatures")[:, -1].tolist() == [1.0, 2.0, 3.0]
    assert len(asked) == 2 * 4 * len(FUNCTIONS)


def test_no_candidates_give_no_rows(asked: list[int]) -> None:
    none = np.array([], dtype=np.int64)
    assert feature_matrix([1.0, 2.0], none, none, none, "tsfeatures").shape == (0, len(NAMES))
    assert not asked
    assert FEATURE_SETS["tsfeatures"] == NAMES


def test_functions_get_scaled_copies_and_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[float]] = []

    def spoils(x: Any, freq: int) -> dict[str, float]:
        seen.append(x.tolist())
        x[:] = 0.0
        return {"x_acf1": np.inf, "x_acf10": 0.5}

    def fails(x: Any, freq: int) -> dict[str, float]:
        seen.append(x.tolist())
        raise ZeroDivisionError

    functions = dict.fromkeys(FUNCTIONS, fails) | {"acf_features": spoils}
    monkeypatch.setattr(tsfeatures, "_package", lambda: SimpleNamespace(**functions))
    row = numbers_of([np.array([1.0, 2.0])], FUNCTIONS)[0]
    assert row[1] == 0.5
    assert np.isnan(np.delete(row, 1)).all()
    assert seen == [[1.0, 2.0]] * len(FUNCTIONS)
    seen.clear()
    result = feature_matrix([1.0, 3.0, 7.0, 7.0], [0], [2], [4], "tsfeatures")[0]
    assert seen[0] == pytest.approx([-(0.5**0.5), 0.5**0.5])
    assert seen[-1] == [0.0, 0.0]
    assert result.tolist() == [0.0, 0.5, *[0.0] * (len(RESULTS) - 2)] * 2
