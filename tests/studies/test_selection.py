"""The selection study: its search and its seed."""

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from barograph.features import characteristics, tsfeatures
from barograph.learning.protocols import Split, random_splits
from barograph.results.series import Floats
from barograph.studies import selection
from barograph.studies.selection import (
    FURTHER,
    NINE,
    POOL,
    Pool,
    SelectionParams,
    evolve,
    members,
    pool_matrix,
    study,
)

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


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the forests that are trained."""
    grown: list[str] = []

    def counted(
        function: Callable[..., float], calls: Sequence[tuple[Any, ...]], label: str
    ) -> Iterator[float]:
        for call in calls:
            grown.append(label)
            yield function(*call)

    monkeypatch.setattr(selection, "map_parallel", counted)
    return grown


@pytest.fixture
def whole_study(calls: list[str]) -> tuple[Study, int]:
    return study(made_pool(), made_splits(), SMALL), len(calls)


def same(actual: Study, expected: Study) -> None:
    for table, other in zip(actual.values(), expected.values(), strict=True):
        assert_frame_equal(table, other, check_exact=True)


def test_report_ranks_useful_characteristics_above_noise(whole_study: tuple[Study, int]) -> None:
    actual, _ = whole_study
    table = actual["characteristics"].set_index("characteristic")
    assert sorted(table.index) == sorted(NAMES)
    assert set(table.index[:2]) == {"level", "spread"}
    assert table.loc["level", "winners"] == 2
    assert table["accuracy_alone"].idxmax() == "level"
    assert table["loss_left_out"].idxmax() == "level"
    assert actual["runs"]["chosen"].str.contains("level").all()


def test_study_trains_every_forest_once(whole_study: tuple[Study, int]) -> None:
    actual, count = whole_study
    # At most every subset on validation; on test the winner, all, four alone and four left out.
    assert count <= 2 * (15 + 10)
    same(study(made_pool(), made_splits(), SMALL), actual)


def test_pool_has_the_nine_and_at_least_twenty_characteristics() -> None:
    assert NINE[0] == "norm_mean"
    assert len(NINE) == 9
    assert len(POOL) == len(set(POOL)) >= 20


def test_pool_matrix_has_both_sides_without_scaling(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_value(side: Floats, freq: int) -> dict[str, float]:
        return {"x_acf1": float(side[0]), "series_length": float(side.size)}

    package = SimpleNamespace(**dict.fromkeys(FURTHER, first_value))
    monkeypatch.setattr(tsfeatures, "_package", lambda: package)
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    values = np.random.default_rng(1).normal(size=60)
    matrix = pool_matrix(values, np.array([0, 10]), np.array([40, 11]), np.array([60, 12]))
    assert matrix.shape == (2, 2 * len(POOL))
    pre = dict(zip(POOL, matrix[0], strict=False))
    assert (pre["x_acf1"], pre["series_length"]) == (values[0], 40)
    assert np.isnan(pre["nonlinearity"])
    known = characteristics(values[:40], values[40:])
    assert [pre[name] for name in NINE] == [known[f"pre_{name}"] for name in NINE]
    after = dict(zip(POOL, matrix[1, len(POOL) :], strict=True))
    assert (after["x_acf1"], after["series_length"]) == (values[11], 1)
