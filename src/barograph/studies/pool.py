"""The pool that the selection study draws from: the paper's nine characteristics and further ones.

The further ones are those of tsfeatures that take under a millisecond or so. Its import takes many
seconds and turns off all warnings of the process, and some of its functions write into the series
they are given: it runs in processes of its own, on a copy for each function. What it has no answer
to (short and constant sides, for the most part) is NaN, which a forest takes as a value missing.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from barograph.features import FEATURE_SETS, feature_matrix
from barograph.series import Floats, Ints

NINE = tuple(name.removeprefix("pre_") for name in FEATURE_SETS["bauer9"][:9])
# The functions of tsfeatures, and which of their answers belong to the pool.
FURTHER: dict[str, tuple[str, ...]] = {
    "acf_features": (
        "x_acf1",
        "x_acf10",
        "diff1_acf1",
        "diff1_acf10",
        "diff2_acf1",
        "diff2_acf10",
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

Tell = Callable[[int, int], None]


def pool_matrix(values: Floats, starts: Ints, splits: Ints, ends: Ints, further: Floats) -> Floats:
    """Return one row per candidate: the POOL of Pre, then that of After.

    Args:
        values: All values; Pre is values[start:split], After is values[split:end].
        starts: Where each Pre starts.
        splits: Where each After starts.
        ends: Where each After ends.
        further: What `further_matrix` gave for the same bounds.
    """
    nine = feature_matrix(values, starts, splits, ends, "bauer9")
    pairs = zip(np.split(nine, 2, axis=1), np.split(further, 2, axis=1), strict=True)
    return np.concatenate([part for pair in pairs for part in pair], axis=1)


def further_matrix(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, *, processes: int, tell: Tell
) -> Floats:
    """Return one row per candidate: the further characteristics of Pre, then those of After.

    Args:
        values: All values; Pre is values[start:split], After is values[split:end].
        starts: Where each Pre starts.
        splits: Where each After starts.
        ends: Where each After ends.
        processes: How many processes to start.
        tell: Called with how many sides are done, and of how many.
    """
    sides = [values[a:b] for a, b in zip((*starts, *splits), (*splits, *ends), strict=True)]
    pre, after = np.split(np.concatenate(list(_spread(sides, processes, tell))), 2)
    return np.concatenate((pre, after), axis=1)


def _spread(sides: list[Floats], processes: int, tell: Tell) -> Iterator[Floats]:
    chunks = [sides[first : first + CHUNK] for first in range(0, len(sides), CHUNK)]
    done = 0
    # A spawned process shares nothing with this one, so it can patch what it likes.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as executor:
        for chunk, rows in zip(chunks, executor.map(further_rows, chunks), strict=True):
            done += len(chunk)
            tell(done, len(sides))
            yield rows


def further_rows(sides: list[Floats]) -> Floats:
    """Return the further characteristics of each side; call it in a process of its own only."""
    import tsfeatures

    functions = {name: getattr(tsfeatures, name) for name in FURTHER}
    with np.errstate(all="ignore"):
        return np.array([_further(side, functions) for side in sides])


def _further(side: Floats, functions: dict[str, Callable[..., dict[str, float]]]) -> Floats:
    row: list[float] = []
    for name, wanted in FURTHER.items():
        try:
            answers = functions[name](side.copy(), freq=1)
        except Exception:  # whatever it stumbles over, it has no answer
            answers = {}
        row += [float(answers.get(answer, np.nan)) for answer in wanted]
    numbers = np.array(row)
    numbers[~(np.abs(numbers) <= LARGEST)] = np.nan
    return numbers
