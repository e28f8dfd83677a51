"""Families of features: the contract between the module of a formula and the batch call.

`matrix.FAMILIES` names the families of each feature set. A family has the names of its columns in
order, and a compiled kernel

    rows(values, starts, splits, ends, context, out)

that fills row `i` of `out` (one column per name) from Pre = `values[starts[i]:splits[i]]` and
After = `values[splits[i]:ends[i]]`. All arrays are C-contiguous; values, context and out are
float64, the bounds int64. Both sides hold at least one value, and all values are finite: the public
functions check their input. `context` has one row per candidate, and no column where no context
was given; only families that need more than Pre and After read it, and they have a function that
computes it.

A kernel allocates its work space once per call, keeps no state between calls and starts no thread:
the batch call splits the candidates into chunks and runs the kernel on several at once. The
single-pair functions call the same kernel with one row, so both return the same bits even where
sums are fused or reassociated. A family is compiled when a set that contains it is first used.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.features.checks import side
from barograph.results.series import Floats, Ints

FillRows = Callable[[Floats, Ints, Ints, Ints, Floats, Floats], None]
# (values, starts, splits, ends, firsts, lasts) -> one row per candidate
Context = Callable[..., Floats]


class Family(NamedTuple):
    """Columns that one kernel computes together.

    Attributes:
        names: The columns in order.
        rows: The kernel.
        context: Describes the series around each candidate, for families that read it.
    """

    names: tuple[str, ...]
    rows: FillRows
    context: Context | None = None


class Derived(NamedTuple):
    """Columns that follow row by row from the columns of families.

    Attributes:
        names: The columns in order.
        families: The families that they follow from.
        columns: Turns the columns of these families, side by side, into the derived ones.
    """

    names: tuple[str, ...]
    families: tuple[Family, ...]
    columns: Callable[[Floats], Floats]

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that the derived ones follow from."""
        return tuple(name for family in self.families for name in family.names)


def one_row(family: Family, pre: Floats, after: Floats, context: Floats | None = None) -> Floats:
    """Return the family's numbers for one pair of checked sides."""
    out: Floats = np.empty((1, len(family.names)))
    bounds = np.array([[0], [pre.size], [pre.size + after.size]])
    row = np.empty((1, 0)) if context is None else context.reshape(1, -1)
    family.rows(np.concatenate((pre, after)), bounds[0], bounds[1], bounds[2], row, out)
    numbers: Floats = out[0]
    return numbers


def numbers_of(pre: npt.ArrayLike, after: npt.ArrayLike, *families: Family) -> dict[str, float]:
    """Check one pair of sides, and return the numbers of several families by name."""
    sides = side(pre, "pre"), side(after, "after")
    numbers: dict[str, float] = {}
    for family in families:
        numbers.update(zip(family.names, one_row(family, *sides).tolist(), strict=True))
    return numbers
