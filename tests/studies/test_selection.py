"""The selection study: its search, its seed, and resuming after a kill."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from barograph.features import characteristics
from barograph.learning import resume
from barograph.learning.protocols import Split, random_splits
from barograph.studies.selection import (
    FURTHER,
    NINE,
    POOL,
    Pool,
    SelectionParams,
    _features_of,
    evolve,
    further_matrix,
    members,
    pool_matrix,
    study,
)
from tests.shared import ROOT, wait_for

NAMES = ("noise", "level", "spread", "other")
SMALL = SelectionParams(population=8, generations=3, trees=5, seed=1)


def bits(subsets: Sequence[int]) -> list[float]:
    """Return a fitness that rises with the first six members and falls with the others."""
    return [((s & 0b111111).bit_count() - (s >> 6).bit_count()) / 6 for s in subsets]


def test_search_finds_the_best_of_four_thousand_subsets() -> None:
    *_, last = evolve(12, bits, count=60, generations=40, seed=3)
    assert last[0] == (0b111111, 1.0)


def test_generations_are_ranked_non_empty_and_keep_the_best() -> None:
    best = -np.inf
    for generation in evolve(9, bits, count=30, generations=15, seed=0):
        assert len(generation) == 30
        assert all(0 < subset < 1 << 9 for subset, _ in generation)
        fitness = [value for _, value in generation]
        assert fitness == sorted(bits([subset for subset, _ in generation]), reverse=True)
        assert fitness[0] >= best
        best = fitness[0]


def test_evolve_depends_on_the_seed() -> None:
    first, same, other = (list(evolve(9, bits, 8, 3, seed)) for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_equally_fit_subsets_rank_by_size() -> None:
    generation = next(evolve(6, lambda subsets: [0.5] * len(subsets), 20, 1, seed=0))
    sizes = [subset.bit_count() for subset, _ in generation]
    assert sizes == sorted(sizes)


def test_members_are_the_bits_of_a_subset() -> None:
    assert members(0b101) == [0, 2]


def made_pool() -> Pool:
    """Return verdicts that depend on the level of After and slightly on the spread of Pre."""
    generator = np.random.default_rng(6)
    matrix = generator.normal(size=(240, 8))
    truth = (matrix[:, 5] + 0.5 * matrix[:, 2] > 0.0).astype(np.int64)
    matrix[::7, 3] = np.nan
    return Pool(NAMES, matrix, truth)


def made_splits() -> list[Split]:
    return list(random_splits(240, 2, seed=0))


Study = dict[str, pd.DataFrame]


def run_study(folder: Path) -> Study:
    return study(made_pool(), made_splits(), SMALL, folder)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the forests that are trained in this process."""
    grown: list[str] = []

    def counted(
        function: Callable[..., float], calls: Sequence[tuple[Any, ...]], label: str
    ) -> Iterator[float]:
        for call in calls:
            grown.append(label)
            yield function(*call)

    monkeypatch.setattr(resume, "map_parallel", counted)
    return grown


@pytest.fixture
def whole_study(tmp_path: Path, calls: list[str]) -> tuple[Study, int, Path]:
    study = run_study(tmp_path / "whole")
    count = len(calls)
    calls.clear()
    return study, count, tmp_path / "whole"


def same(actual: Study, expected: Study) -> None:
    for table, other in zip(actual.values(), expected.values(), strict=True):
        assert_frame_equal(table, other, check_exact=True)


def test_report_ranks_useful_characteristics_above_noise(
    whole_study: tuple[Study, int, Path],
) -> None:
    actual, _, _ = whole_study
    table = actual["characteristics"].set_index("characteristic")
    assert sorted(table.index) == sorted(NAMES)
    assert set(table.index[:2]) == {"level", "spread"}
    assert table.loc["level", "winners"] == 2
    assert table["accuracy_alone"].idxmax() == "level"
    assert table["loss_left_out"].idxmax() == "level"
    assert actual["runs"]["chosen"].str.contains("level").all()


def test_study_caches_every_forest(whole_study: tuple[Study, int, Path], calls: list[str]) -> None:
    actual, count, folder = whole_study
    # At most every subset on validation; on test the winner, all, four alone and four left out.
    assert count <= 2 * (15 + 10)
    same(run_study(folder), actual)
    assert calls == []


def test_cache_depends_on_the_forest(whole_study: tuple[Study, int, Path], tmp_path: Path) -> None:
    _, _, folder = whole_study
    names = {path.name for path in folder.iterdir()}
    other = tmp_path / "other"
    params = SelectionParams(population=4, generations=1, trees=5, seed=2)
    study(made_pool(), made_splits(), params, other)
    assert names.isdisjoint(path.name for path in other.iterdir())


def test_interrupted_study_ends_with_the_same_result(
    whole_study: tuple[Study, int, Path], calls: list[str], tmp_path: Path
) -> None:
    expected, count, _ = whole_study
    code = (
        "import time; from itertools import count; from pathlib import Path\n"
        "from barograph.learning import resume\n"
        "from tests.studies import test_selection as t\n"
        "save, saved = resume.save, count(1)\n"
        "resume.save = lambda *a: (save(*a), next(saved) < 2 or time.sleep(3600))\n"
        f"t.run_study(Path({str(tmp_path / 'killed')!r}))"
    )
    command = [sys.executable, "-c", code]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "BAROGRAPH_WORKERS": "1",
    }
    child = subprocess.Popen(command, cwd=ROOT, env=environment)  # noqa: S603
    try:
        wait_for(lambda: child.poll() is not None or has_saved(tmp_path / "killed"))
        assert child.poll() is None, "the study ended before it could be killed"
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    same(run_study(tmp_path / "killed"), expected)
    assert 0 < len(calls) < count


def has_saved(folder: Path) -> bool:
    return len(list(folder.glob("*.npz"))) == 2


def test_pool_has_the_nine_and_at_least_twenty_characteristics() -> None:
    assert NINE[0] == "norm_mean"
    assert len(NINE) == 9
    assert len(POOL) == len(set(POOL)) >= 20


def test_failing_functions_give_nan_and_do_not_modify_the_side() -> None:
    side, seen = np.array([1.0, 2.0]), []

    def spoils(x: Any, freq: int) -> dict[str, float]:
        seen.append(x.tolist())
        x[:] = 0.0
        return {"x_acf1": np.inf, "x_acf10": 0.5}

    def fails(x: Any, freq: int) -> dict[str, float]:
        seen.append(x.tolist())
        raise ZeroDivisionError

    functions = dict.fromkeys(FURTHER, fails) | {"acf_features": spoils}
    row = _features_of(side, functions)
    assert row[1] == 0.5
    assert np.isnan(np.delete(row, 1)).all()
    assert seen == [[1.0, 2.0]] * len(FURTHER)


@pytest.mark.slow
def test_further_matrix_uses_separate_processes() -> None:
    values = np.random.default_rng(1).normal(size=60)
    starts, splits, ends = np.array([0, 10]), np.array([40, 11]), np.array([60, 12])
    further = further_matrix(values, starts, splits, ends, processes=1)
    assert "tsfeatures" not in sys.modules
    matrix = pool_matrix(values, starts, splits, ends, further=further)
    assert matrix.shape == (2, 2 * len(POOL))
    pre = dict(zip(POOL, matrix[0], strict=False))
    centred = values[:40] - values[:40].mean()
    assert pre["x_acf1"] == pytest.approx(centred[1:] @ centred[:-1] / (centred @ centred))
    assert pre["series_length"] == 40
    known = characteristics(values[:40], values[40:])
    assert [pre[name] for name in NINE] == [known[f"pre_{name}"] for name in NINE]
    after = dict(zip(POOL, matrix[1, len(POOL) :], strict=True))
    assert after["series_length"] == 1
    assert np.isnan(after["x_acf1"])
