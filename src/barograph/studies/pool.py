"""The pool of the selection study: the paper's nine characteristics and others of tsfeatures.

Bauer et al. 2022 searched 20 characteristics and name only the eight that won; their code has a
ninth. So their pool cannot be repeated. This one has 23: the nine, and 14 of tsfeatures that take
about a millisecond or less.

Importing tsfeatures takes many seconds and disables all warnings of the process, and some of its
functions modify their input. It runs in separate processes, with a copy of the input for each
function. Where it has no result, mostly for short and constant sides, the value is NaN, which
forests treat as missing.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from barograph.features import FEATURE_SETS, feature_matrix
from barograph.results.series import Floats, Ints

NINE = tuple(name.removeprefix("pre_") for name in FEATURE_SETS["bauer9"][:9])
# The functions of tsfeatures, and the results of each that belong to the pool.
FURTHER: dict[str, tuple[str, ...]] = {
    "acf_features": (
        *("x_acf1", "x_acf10", "diff1_acf1"),
        *("diff1_acf10", "diff2_acf1", "diff2_acf10"),
    ),
    "pacf_features": ("x_pacf5", "diff1x_pacf5", "diff2x_pacf5"),
    "flat_spots": ("flat_spots",),
    "unitroot_kpss": ("unitroot_kpss",),
    "unitroot_pp": ("unitroot_pp",),
    "nonlinearity": ("nonlinearity",),
    "series_length": ("series_length",),
}
POOL = (*NINE, *(name for names in FURTHER.values() for name in names))
CHUNK = 100  # sides
LARGEST = 1e30  # forests compute in single precision


def pool_matrix(values: Floats, starts: Ints, splits: Ints, ends: Ints, further: Floats) -> Floats:
    """Return one row per candidate: the POOL of Pre, then that of After.

    Args:
        values: All values; Pre is values[start:split], After is values[split:end].
        starts: Where each Pre starts.
        splits: Where each After starts.
        ends: Where each After ends.
        further: The result of `further_matrix` for the same bounds.
    """
    nine = feature_matrix(values, starts, splits, ends, "bauer9")
    pairs = zip(np.split(nine, 2, axis=1), np.split(further, 2, axis=1), strict=True)
    return np.concatenate([part for pair in pairs for part in pair], axis=1)


def further_matrix(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, *, processes: int
) -> Floats:
    """Return one row per candidate: the further characteristics of Pre, then those of After."""
    sides = [values[a:b] for a, b in zip((*starts, *splits), (*splits, *ends), strict=True)]
    chunks = [sides[first : first + CHUNK] for first in range(0, len(sides), CHUNK)]
    # A spawned process shares no state with this one.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as executor:
        rows = np.concatenate(list(executor.map(further_rows, chunks)))
    return np.concatenate(np.split(rows, 2), axis=1)


def further_rows(sides: list[Floats]) -> Floats:
    """Return the further characteristics of each side; call it in a separate process only."""
    import tsfeatures

    functions = {name: getattr(tsfeatures, name) for name in FURTHER}
    with np.errstate(all="ignore"):
        return np.array([_further(side, functions) for side in sides])


def _further(side: Floats, functions: dict[str, Callable[..., dict[str, float]]]) -> Floats:
    row: list[float] = []
    for name, selected in FURTHER.items():
        try:
            results = functions[name](side.copy(), freq=1)
        except Exception:  # any error means that there is no result
            results = {}
        row += [float(results.get(result, np.nan)) for result in selected]
    numbers = np.array(row)
    numbers[~(np.abs(numbers) <= LARGEST)] = np.nan
    return numbers
