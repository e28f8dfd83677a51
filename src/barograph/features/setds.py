"""How severe the change is that SETDS finds at a candidate: Leznik et al. 2022, Figure 1 and 2.3.

The paper's detector is Perfomalist, whose method is SETDS; `barograph.detection.Setds` is that
detector, and `phases` its loop. Its information on a candidate is the exception value: how far the
values run beyond the control limits. Here it is in standard deviations of the baseline, so that it
does not depend on the unit, and without its sign. It is 0 where SETDS finds no change in the whole
series within NEAR points of the candidate.
"""

import numpy as np
import numpy.typing as npt

from barograph.features.families import Family, bounds
from barograph.results.series import Floats, Ints, as_floats, require_finite
from barograph.runtime.compiled import kernel

NAME = "setds_severity"
NEAR = 5  # points
LARGEST = 1e6  # of a baseline whose values are equal
SIGMAS, MINIMUM, HOLD, PATIENCE = 3.0, 8, 3, 2  # the defaults of the detector


def setds_context(
    values: npt.ArrayLike, splits: npt.ArrayLike, firsts: npt.ArrayLike, lasts: npt.ArrayLike
) -> Floats:
    """Return one column: the severity of the change that SETDS finds near a candidate, else 0.

    Args:
        values: All values.
        splits: The candidates, as positions in the values.
        firsts: Where each candidate's series starts.
        lasts: Where the known part of each candidate's series ends.

    Raises:
        ValueError: The bounds do not fit, or a value is not finite.

    Example:
        >>> values = [10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20
        >>> setds_context(values, [58, 90], [0, 0], [120, 120]).ravel().round(1)
        array([63.9,  0. ])
    """
    numbers = as_floats(values)
    table = bounds(firsts, splits, lasts, numbers.size)
    require_finite(numbers)
    out: Floats = np.empty((table.shape[1], 1))
    _fill_severities(numbers, table[0], table[1], table[2], out)
    return out


def rows(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, context: Floats, out: Floats
) -> None:
    """Fill one row of `out` per candidate; see `families`."""
    if context.shape[1] not in (0, 1):
        raise ValueError(
            f"context has {context.shape[1]} columns; {NAME} needs the one of setds_context, or "
            "none"
        )
    if context.shape[1]:
        out[:] = context
    else:
        _fill_severities(values, starts, splits, ends, out)


@kernel
def _fill_severities(values: Floats, firsts: Ints, splits: Ints, lasts: Ints, out: Floats) -> None:
    """Fill the column; successive candidates of a series share its change points."""
    first = last = -1
    starts = np.empty(0, dtype=np.int64)
    severities = deviations = np.empty(0)
    for i in range(splits.size):
        if firsts[i] != first or lasts[i] != last:
            first, last = firsts[i], lasts[i]
            found = phases(values[first:last], SIGMAS, MINIMUM, HOLD, PATIENCE)
            starts, severities, deviations = found
        out[i, 0] = 0.0
        nearest = NEAR + 1
        for k in range(starts.size):
            gap = abs(first + starts[k] - splits[i])
            if gap < nearest:
                nearest = gap
                severity = abs(severities[k])
                is_large = not severity < LARGEST * deviations[k]
                out[i, 0] = LARGEST if is_large else severity / deviations[k]


@kernel
def phases(
    values: Floats, sigmas: float, minimum: int, hold: int, patience: int
) -> tuple[Ints, Floats, Floats]:
    """Return where each new phase starts, its cumulative EV, and the deviation of its baseline."""
    starts = np.empty(values.size, dtype=np.int64)
    severities, deviations = np.empty(values.size), np.empty(values.size)
    phase = 0
    count, mean, squares = 0, 0.0, 0.0  # the baseline, after Welford: exact on equal values
    t = 0
    while t < values.size:
        if count >= minimum:
            deviation = np.sqrt(squares / (count - 1))
            length, total = run_outside(values[t:], mean, sigmas * deviation, hold, patience)
            if length == hold:
                starts[phase], severities[phase], deviations[phase] = t, total, deviation
                phase += 1
                count, mean, squares = 0, 0.0, 0.0
        # A point inside, and the first of a run that returned to 0, belong to the baseline.
        count += 1
        step = values[t] - mean
        mean += step / count
        squares += step * (values[t] - mean)
        t += 1
    return starts[:phase], severities[:phase], deviations[:phase]


@kernel
def run_outside(
    values: Floats, mean: float, reach: float, hold: int, patience: int
) -> tuple[int, float]:
    """Return for how many points, at most `hold`, the cumulative EV stays off 0, and the EV."""
    total = 0.0
    quiet = 0
    for t in range(min(hold, values.size)):
        beyond = values[t] - mean
        exception = beyond - min(max(beyond, -reach), reach)
        quiet = quiet + 1 if exception == 0.0 else 0
        if quiet == patience or (total + exception) * (total if t else exception) <= 0.0:
            return t, total
        total += exception
    return min(hold, values.size), total


FAMILY = Family(
    (NAME,),
    rows,
    lambda values, _starts, splits, _ends, firsts, lasts: setds_context(
        values, splits, firsts, lasts
    ),
)
