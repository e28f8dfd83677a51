"""Series that count have many tiny steps, which are not reported by the dozen."""

import numpy as np

from barograph.detection import Triaged
from barograph.series import Floats


def counts(seed: int, tiny: int = 40) -> Floats:
    """An instruction count with many lasting steps of at most half a percent, and one of 10 %."""
    rng = np.random.default_rng(seed)
    moves = np.zeros(400)
    places = rng.choice(np.arange(1, 400), tiny, replace=False)
    moves[places] = rng.uniform(-0.005, 0.005, tiny)
    moves[200] += 0.1
    return np.rint(1e9 * np.exp(np.cumsum(moves)))


def test_tiny_steps_of_counts_are_not_reported_by_the_dozen() -> None:
    places_by_seed = [[p.index for p in Triaged().detect(counts(seed))] for seed in range(8)]
    assert np.mean([200 in places for places in places_by_seed]) > 0.8
    assert np.mean([len(places) for places in places_by_seed]) < 4.0
    assert max(len(places) for places in places_by_seed) < 8
