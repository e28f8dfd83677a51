import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.learning.protocols import (
    forward_splits,
    grouped_splits,
    random_splits,
    stable_split,
)
from barograph.runtime.errors import NotEnoughDataError


def test_random_splits_cover_every_row_once() -> None:
    splits = list(random_splits(1000, 7, seed=3))
    assert len(splits) == 7
    for split in splits:
        assert split.test.size == 200
        assert split.validation.size == 80
        assert sorted(np.concatenate(split).tolist()) == list(range(1000))


def test_splits_depend_on_the_seed() -> None:
    first = [s.test.tolist() for s in random_splits(50, 3, seed=1)]
    assert first == [s.test.tolist() for s in random_splits(50, 3, seed=1)]
    assert first != [s.test.tolist() for s in random_splits(50, 3, seed=2)]


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_grouped_splits_share_no_series_and_no_commit(seed: int) -> None:
    generator = np.random.default_rng(seed)
    series, commits = generator.integers(0, 40, 500), generator.integers(0, 60, 500)
    for train, validation, test in grouped_splits(series, commits, 3, seed):
        learned = np.concatenate([train, validation])
        assert not set(series[learned]) & set(series[test])
        assert not set(commits[learned]) & set(commits[test])


def test_grouped_test_part_is_about_a_fifth_of_a_fifth() -> None:
    generator = np.random.default_rng(0)
    series, commits = generator.integers(0, 3000, 20000), generator.integers(0, 3000, 20000)
    shares = [s.test.size / 20000 for s in grouped_splits(series, commits, 10, 1)]
    assert np.mean(shares) == pytest.approx(0.04, abs=0.004)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 50), min_size=12, max_size=200), st.integers(1, 10))
def test_forward_splits_train_only_on_earlier_verdicts(dates: list[int], cuts: int) -> None:
    decided = np.asarray(dates)
    tested: list[int] = []
    for train, validation, test in forward_splits(decided, seed=0, cuts=cuts):
        learned = np.concatenate([train, validation])
        if learned.size and test.size:
            assert decided[learned].max() < decided[test].min()
        tested += test.tolist()
    assert len(tested) == len(set(tested))


def test_forward_splits_test_all_but_the_first_part() -> None:
    decided = np.arange(1100)
    splits = list(forward_splits(decided, seed=0))
    assert [s.test.size for s in splits] == [100] * 10
    assert splits[0].train.size + splits[0].validation.size == 100


def test_forward_splits_refuse_too_few_verdicts() -> None:
    with pytest.raises(NotEnoughDataError, match="10 verdicts cannot be cut into 11 parts"):
        next(forward_splits(np.arange(10), seed=0))


def test_stable_split_holds_out_the_same_rows_as_the_history_grows() -> None:
    generator = np.random.default_rng(5)
    series, commits = generator.integers(0, 300, 4000), generator.integers(0, 300, 4000)
    early, late = (stable_split(series[:n], commits[:n], 1) for n in (1500, 4000))
    for before, after in zip(early, late, strict=True):
        assert set(before) == {row for row in after if row < 1500}
    train, validation, test = late
    learned = np.concatenate([train, validation])
    assert not set(series[learned]) & set(series[test])
    assert not set(commits[learned]) & set(commits[test])
    assert not set(series[train]) & set(series[validation])
    assert test.size / 4000 == pytest.approx(0.04, abs=0.02)
    assert stable_split(series, commits, 2).test.tolist() != test.tolist()
