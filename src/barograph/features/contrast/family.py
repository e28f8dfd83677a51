"""The contrasts of one candidate and of many."""

import numpy.typing as npt

from barograph.features.checks import side
from barograph.features.contrast import sides, surroundings
from barograph.features.contrast.robust import scaled
from barograph.features.contrast.sides import sides_into
from barograph.features.contrast.surroundings import CONTEXT_NAMES, context_rows
from barograph.features.families import Family, one_row
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

NAMES = (*sides.NAMES, *surroundings.CONTEXT_NAMES)
_SIDE_COLUMNS = len(sides.NAMES)


def contrasts(
    pre: npt.ArrayLike, after: npt.ArrayLike, context: npt.ArrayLike | None = None
) -> dict[str, float]:
    """Return how large and how clear the step from Pre to After is, without scale and direction.

    Args:
        pre: The values before the candidate, at least one.
        after: The values from the candidate on, at least one.
        context: The candidate's row of `contrast_context`; without it, Pre and After count as
            the whole series.

    Raises:
        ValueError: A side is empty, not one-dimensional, or holds something that is not a finite
            number, or the context does not match CONTEXT_NAMES.
    """
    sides_ = side(pre, "pre"), side(after, "after")
    row = None if context is None else side(context, "context")
    return dict(zip(NAMES, one_row(FAMILY, *sides_, row).tolist(), strict=True))


def rows(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, context: Floats, out: Floats
) -> None:
    """Fill one row of `out` per candidate; see `families`."""
    if context.shape[1] not in (0, len(CONTEXT_NAMES)):
        raise ValueError(
            f"context has {context.shape[1]} columns; the contrasts need the "
            f"{len(CONTEXT_NAMES)} of contrast_context, or none"
        )
    sides_rows(values, starts, splits, ends, out)
    if context.shape[1]:
        out[:, _SIDE_COLUMNS:] = context
    else:
        context_rows(values, starts, splits, ends, starts, ends, out, _SIDE_COLUMNS)


@kernel
def sides_rows(values: Floats, starts: Ints, splits: Ints, ends: Ints, out: Floats) -> None:
    """Fill the columns that depend on Pre and After only."""
    for i in range(starts.size):
        pair = scaled(values[starts[i] : ends[i]])
        split = splits[i] - starts[i]
        sides_into(pair[:split], pair[split:], out[i])


FAMILY = Family(NAMES, rows, surroundings.contrast_context)
