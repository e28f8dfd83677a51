"""Compile what the tests compute with: `make test` does it once, beside the other checks.

Numba keeps compiled kernels on disk. Without this step each process of the tests would compile the
same kernels at the same time.
"""

from __future__ import annotations

import numpy as np

from barograph.cli import setup
from barograph.features import FEATURE_SETS, feature_matrix, series_context
from barograph.features.families import Packaged, families_of
from barograph.features.subseries import SubSeries
from barograph.results.series import Floats

LENGTHS = (20, 90, 300)  # commits; long series take other branches of the kernels


def main() -> None:
    """Compile them."""
    random = np.random.default_rng(0)
    for length in LENGTHS:
        values = random.normal(100.0, 1.0, length)
        values[length // 2 :] += 10.0
        compare(values)
    setup.warmup.main([], standalone_mode=False)


def compare(values: Floats) -> None:
    """Compute every characteristic of a few candidates."""
    splits = np.arange(2, values.size - 2, 4)
    ends = np.full_like(splits, values.size)
    sides = SubSeries(splits - 2, splits, ends)
    for name in FEATURE_SETS:
        if any(isinstance(family, Packaged) for family in families_of(name)):
            continue  # no kernel of ours
        context = series_context(name, values, sides, np.zeros_like(splits), ends)
        feature_matrix(values, *sides, name, context=context)


if __name__ == "__main__":
    main()
