"""Least squares fits of levels by the package ruptures, in units of the noise."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from barograph.detection.base import Found
from barograph.detection.scaling import power_of_two
from barograph.series import Floats

MAD_TO_SD = 1.4826


def fitted(values: Floats, minimum: int, predict: Callable[[Any], list[int]]) -> list[Found]:
    """Fit levels as `predict` asks of the search, and describe where they change.

    The search is `KernelCPD` with the linear kernel: the same optimum as ruptures' `Pelt` and
    `Dynp` with the cost "l2" and no jumps, found by its compiled code. The statistic is by how
    much the squared error, in units of the noise, would grow without the change point.
    """
    scaled = values / power_of_two(values)
    noise = noise_level(scaled)
    if noise == 0.0:
        return []
    import ruptures

    signal = (scaled - np.median(scaled)) / noise
    search = ruptures.KernelCPD(kernel="linear", min_size=minimum).fit(signal)
    edges = [0, *predict(search)]
    return [
        Found(b, _gain(signal[a:b], signal[b:c])) for (a, b), (_, c) in pairwise(pairwise(edges))
    ]


def noise_level(values: Floats) -> float:
    """Return the standard deviation of the noise, from the differences of neighbours.

    Robust, so that the changes themselves do not count; where more than half of the neighbours
    are equal (a quantised series), that of all differences; 0 for a constant series.
    """
    steps = np.diff(values) / np.sqrt(2.0)
    robust = MAD_TO_SD * float(np.median(np.abs(steps)))
    return robust if robust > 0.0 else float(np.sqrt(np.mean(steps**2)))


def _gain(before: Floats, after: Floats) -> float:
    m, n = before.size, after.size
    return float(m * n / (m + n) * (after.mean() - before.mean()) ** 2)
