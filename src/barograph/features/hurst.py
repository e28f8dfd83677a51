"""The Hurst exponent of each side: d + 1/2 of a fractionally integrated process.

d maximises the approximate likelihood of ARFIMA(0, d, 0) (Haslett and Raftery 1989) on [0, 1/2]. It
is found by Brent's method with the authors' tolerance: the point where the search stops is part of
the definition. The exponent of a constant side is defined as 0.5.
"""

from barograph.compiled import kernel
from barograph.features import brent
from barograph.features.families import Family
from barograph.features.likelihood import LikelihoodSample, likelihood, sample_for, take
from barograph.series import Floats, Ints

NAMES = ("pre_hurst", "after_hurst")
CONSTANT = 0.5


@kernel
def rows(
    values: Floats,
    starts: Ints,
    splits: Ints,
    ends: Ints,
    context: Floats,  # noqa: ARG001 - only other families use it
    out: Floats,
) -> None:
    """Fill the exponents of both sides of every candidate; see `families`."""
    size = 4
    for i in range(out.shape[0]):
        size = max(size, splits[i] - starts[i], ends[i] - splits[i])
    sample = sample_for(size)
    for i in range(out.shape[0]):
        out[i, 0] = hurst(values[starts[i] : splits[i]], sample)
        out[i, 1] = hurst(values[splits[i] : ends[i]], sample)


@kernel
def hurst(x: Floats, sample: LikelihoodSample) -> float:
    """Return the exponent of one side; sides of one or two values are repeated to four."""
    n = take(x, sample)
    return CONSTANT if n == 0 else 0.5 + most_likely(n, sample)


@kernel
def most_likely(n: int, sample: LikelihoodSample) -> float:
    """Return the d that Brent's minimiser stops at."""
    search = brent.begin(likelihood(brent.FIRST, n, sample))
    for _ in range(brent.MOST_STEPS):
        if brent.is_narrow(search):
            break
        step, previous = brent.next_step(search)
        d = brent.next_point(search, step)
        search = brent.narrowed(search, d, likelihood(d, n, sample), step, previous)
    return search.best


FAMILY = Family(NAMES, rows)
