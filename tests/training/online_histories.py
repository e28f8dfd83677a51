"""Small histories with steps that everybody marks, and models learned from them in a second."""

from functools import cache

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from barograph.learning.online.learn import Learned, learn
from barograph.learning.online.truth import Marked, Truth
from barograph.results.series import Floats

LENGTH, SERIES = 220, 16


def histories(seed: int = 0) -> Marked:
    """Noise with two steps and two spikes a series; three people, one of whom sees one step."""
    rng = np.random.default_rng(seed)
    pieces: list[Floats] = []
    marks = []
    for _ in range(SERIES):
        values = 100.0 + rng.normal(size=LENGTH)
        places = np.sort(rng.choice(np.arange(30, LENGTH - 20, 20), 2, replace=False))
        for step in places:
            values[step:] += rng.choice([-1, 1]) * rng.uniform(4, 15)
        values[rng.integers(20, LENGTH, 2)] += rng.uniform(5, 15, 2)
        pieces.append(values)
        both = tuple(int(i) for i in places)
        marks.append((both, both, both[:1]))
    offsets = np.arange(SERIES + 1) * LENGTH
    return Marked(np.concatenate(pieces), offsets, tuple(marks), np.arange(SERIES) // 2)


def forest(seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(15, min_samples_leaf=2, random_state=seed)


@cache
def learned() -> tuple[Truth, Learned]:
    truth = Truth.of(histories())
    return truth, learn(truth, make=forest)
