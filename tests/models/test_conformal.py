from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.models.calibration import UNSURE, Conformal
from barograph.runtime.errors import ArtifactError, ConfigError, DataError


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    coverage=st.sampled_from([0.5, 0.8, 0.9, 0.95]),
    held_out=st.integers(20, 300),
    skill=st.floats(0, 3),
)
def test_coverage_holds_for_both_classes(
    seed: int, coverage: float, held_out: int, skill: float
) -> None:
    """Average over many samples of exchangeable points, of good and useless models."""
    generator = np.random.default_rng(seed)
    covered: list[list[bool]] = [[], []]
    for _ in range(60):
        truth = generator.integers(0, 2, held_out + 40)
        score = 1 / (1 + np.exp(-skill * (truth - 0.5 + generator.standard_normal(truth.size))))
        score = score.round(2)  # with ties
        result = Conformal.fit(truth[:held_out], score[:held_out]).sets(score[held_out:], coverage)
        for label in (0, 1):
            covered[label] += result[truth[held_out:] == label, label].tolist()
    for hits in covered:
        # Three standard errors; the held-out part of each sample counts as one block.
        assert np.mean(hits) >= coverage - 3 * np.sqrt(coverage * (1 - coverage) / 60 / 8)


def test_sets_equal_an_example_computed_by_hand() -> None:
    truth = [0] * 9 + [1] * 9
    score = [k / 10 for k in range(9)] + [k / 10 for k in range(2, 11)]
    conformal = Conformal.fit(truth, score)
    # Nine points of noise: the ninth smallest of 0.0 to 0.8 at 0.9, the fifth at 0.5.
    assert conformal.sets([0.8, 0.81, 0.2, 0.19], 0.9).tolist() == [
        [True, True],
        [False, True],
        [True, True],
        [True, False],
    ]
    assert conformal.predict([0.8, 0.81, 0.2, 0.19], 0.9).tolist() == [UNSURE, 1, UNSURE, 0]
    # With less coverage fewer points are unsure, until some conform to neither class.
    assert conformal.predict([0.4, 0.5, 0.6], 0.5).tolist() == [0, UNSURE, 1]


def test_predict_is_unsure_with_too_few_points() -> None:
    conformal = Conformal.fit([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    assert conformal.predict([0.0, 0.5, 1.0], 0.9).tolist() == [UNSURE] * 3
    assert Conformal.fit([], []).predict([0.5], 0.5).tolist() == [UNSURE]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 1000))
def test_sets_grow_with_the_coverage(seed: int) -> None:
    generator = np.random.default_rng(seed)
    conformal = Conformal.fit(generator.integers(0, 2, 50), generator.random(50))
    score = generator.random(20)
    sets = [conformal.sets(score, coverage) for coverage in (0.5, 0.7, 0.9, 0.99)]
    assert all(np.all(small <= large) for small, large in pairwise(sets))


def test_wrong_coverage_scores_and_arrays_are_refused() -> None:
    conformal = Conformal.fit([0, 1], [0.5, 0.5])
    for coverage in (0.0, 1.0, 1.5):
        with pytest.raises(
            ConfigError, match=f"the coverage must be between 0 and 1, not {coverage}"
        ):
            conformal.predict([0.5], coverage)
    with pytest.raises(DataError, match="expected a probability from 0 to 1 for each verdict"):
        Conformal.fit([0, 1], [0.5])
    with pytest.raises(DataError, match="expected a probability from 0 to 1 for each verdict"):
        Conformal.fit([0, 1], [0.5, 1.5])
    rising, falling = np.array([0.1, 0.2]), np.array([0.2, 0.1])
    with pytest.raises(ArtifactError, match="array 'conformal_real' must be sorted"):
        Conformal.from_arrays({"conformal_noise": rising, "conformal_real": falling})
    with pytest.raises(ArtifactError, match="'conformal_noise': a number is outside 0 to 1"):
        Conformal.from_arrays({"conformal_noise": rising + 1, "conformal_real": rising})
