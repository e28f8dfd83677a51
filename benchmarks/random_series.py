"""Seeded random series with steps, of several kinds that occur in real histories."""

import numpy as np

from barograph.results.series import Floats

KINDS = ("normal", "integers", "two-valued", "lognormal", "coarse", "repeated")


def random_series(count: int, *, seed: int = 20230415, longest: int = 400) -> list[Floats]:
    """Return series of 3 to `longest` points with up to five steps each, alternating the kinds."""
    random = np.random.default_rng(seed)
    return [_series(random, KINDS[k % len(KINDS)], longest) for k in range(count)]


def _series(random: np.random.Generator, kind: str, longest: int) -> Floats:
    size = int(random.integers(3, longest))
    values: Floats = random.standard_normal(size) * random.choice([0.5, 1.0, 5.0])
    for _ in range(random.integers(0, 6)):
        values[random.integers(0, size) :] += random.standard_normal() * 4
    match kind:
        case "integers":
            values = np.round(values) + 10.0
        case "two-valued":
            values = np.where(values > 0, 0.2, 0.1)
        case "lognormal":
            values = np.exp(values / 3)
        case "coarse":
            values = np.round(values / 3) * 0.1 + 0.3
        case "repeated":
            values = np.repeat(values[::7], 7)[:size]
    return values
