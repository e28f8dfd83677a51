"""What people would mark, where no people were asked: an explicit rule, the simulator's own."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from barograph.series import Floats
from barograph.studies.detector_benchmark.cases import Opinion, Points, noise

WINDOW = 40
STRICTNESS = 0.8  # how people differ, in log sizes
STRAY = 0.05  # the chance that a person marks a place where nothing is
PLACES = (0, 0, 1, -1, 2, -2)  # half of the marks lie on the spot


def onlookers(
    values: Floats, truth: Points, key: Sequence[int], people: int = 5
) -> tuple[Opinion, ...]:
    """Return what each of several people marks in a series, each held against the truth.

    `key` seeds the people: how lenient they are differs by person and series.
    """
    seen = [visibility(values, truth, k) for k in range(len(truth))]
    return tuple(
        Opinion(_marks(values.size, truth, seen, np.random.default_rng([*key, person])), truth)
        for person in range(people)
    )


def visibility(values: Floats, truth: Points, k: int) -> tuple[float, float, float]:
    """Return the logs of a change's size over the noise, over the range, and of its duration.

    Medians of up to 40 points on both sides, cut at the neighbouring changes; the range is that
    from the 0.5th to the 99.5th percentile, of which 8 % are seen by one person in two.
    """
    edges = [0, *truth, values.size]
    before = values[max(edges[k], edges[k + 1] - WINDOW) : edges[k + 1]]
    after = values[edges[k + 1] : min(edges[k + 2], edges[k + 1] + WINDOW)]
    size = abs(float(np.median(after) - np.median(before)))
    rest = np.concatenate([before - np.median(before), after - np.median(after)])
    low, high = np.percentile(values, [0.5, 99.5])
    lasting = min(b - a for a, b in pairwise(edges[k : k + 3]))
    return _log(size, noise(rest)), _log(size, 0.08 * float(high - low)), _log(lasting, 5.0)


def _log(part: float, whole: float) -> float:
    if part == 0.0:
        return -np.inf
    return np.inf if whole == 0.0 else float(np.log(part / whole))


def _marks(
    length: int,
    truth: Points,
    seen: list[tuple[float, float, float]],
    generator: np.random.Generator,
) -> Points:
    lenience = STRICTNESS * generator.standard_normal()
    marks = set()
    for point, (over_noise, over_range, lasting) in zip(truth, seen, strict=True):
        chance = _logistic(4 * (over_noise + lenience)) * _logistic(4 * (over_range + lenience))
        if generator.random() < chance * _logistic(2.5 * lasting):
            marks.add(point + int(generator.choice(PLACES)))
    if generator.random() < STRAY:
        marks.add(int(generator.integers(1, length)))
    return tuple(sorted(mark for mark in marks if 0 < mark < length))


def _logistic(x: float) -> float:
    return float(1.0 / (1.0 + np.exp(-np.clip(x, -500.0, 500.0))))
