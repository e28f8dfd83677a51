"""The feature sets, their families of columns, and their matrix for many candidates.

`FAMILIES` names the families of each feature set. A family has the names of its columns in
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

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats, Ints, as_floats, require_finite
from barograph.runtime.parallel import map_threads, row_ranges

if TYPE_CHECKING:
    from barograph.features.subseries import SubSeries

# Increased whenever the numbers of a feature change: tables and models of different versions are
# not combined.
FEATURES_VERSION = "1"

# Each feature set, and the families of its columns: names in modules of this package, which are
# imported when the set is first used.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "bauer8": ("bauer.FAMILY",),
    "bauer9": ("bauer.WITH_HURST",),
    "leznik": ("leznik.DELTAS",),
    "leznik_sides": ("leznik.SIDES",),
    "setds": ("setds.FAMILY",),
    "hybrid": ("leznik.DELTAS", "setds.FAMILY"),
    "contrast": ("contrast.FAMILY",),
    "full": ("bauer.WITH_HURST", "leznik.DELTAS", "contrast.FAMILY"),
    "difference8": ("bauer.DIFFERENCES",),
    "change8": ("bauer.CHANGES",),
    "online": ("regime.ONLINE",),
    "confirm": ("regime.FAMILY",),
    "tsfeatures": ("tsfeatures.FAMILY",),
}
# Fewer candidates than this are not worth another thread.
WORTH_A_THREAD = 64
# Chunks per thread, so that a thread with short sides takes over from one with long sides.
CHUNKS = 8

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


class Packaged(NamedTuple):
    """Columns that a package computes for all candidates at once, in processes of its own.

    Attributes:
        names: The columns in order.
        table: Returns the columns from values, starts, splits and ends, one row per candidate.
    """

    names: tuple[str, ...]
    table: Callable[[Floats, Ints, Ints, Ints], Floats]


AnyFamily = Family | Derived | Packaged


class _FeatureSets(Mapping[str, tuple[str, ...]]):
    """The columns of each feature set by its name."""

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return tuple(column for family in families_of(name) for column in family.names)

    def __iter__(self) -> Iterator[str]:
        return iter(FAMILIES)

    def __len__(self) -> int:
        return len(FAMILIES)


FEATURE_SETS: Mapping[str, tuple[str, ...]] = _FeatureSets()


def feature_matrix(
    values: npt.ArrayLike,
    starts: npt.ArrayLike,
    splits: npt.ArrayLike,
    ends: npt.ArrayLike,
    feature_set: str = "bauer8",
    *,
    context: npt.ArrayLike | None = None,
    threads: int | None = None,
) -> Floats:
    """Compute a feature set: one row per candidate, one column per name of the set.

    Rows are equal to the single-pair functions to the bit, for any number of threads.

    Args:
        values: All values; Pre is values[start:split], After is values[split:end].
        starts: Where each Pre starts.
        splits: Where each After starts.
        ends: Where each After ends.
        feature_set: One of FEATURE_SETS.
        context: What `series_context` returns for the set. Without it, Pre and After count as
            the whole series.
        threads: The number of threads; the usable cores by default.

    Raises:
        ValueError: A side is empty, a value is not finite, the bounds do not fit, or the feature
            set is unknown; the message names the argument, the value and what is allowed.
    """
    families = families_named(feature_set)
    numbers = as_floats(values)
    table = bounds(starts, splits, ends, numbers.size)
    require_finite(numbers)
    rows = _context(context, table.shape[1])
    return np.column_stack([_columns(each, numbers, table, rows, threads) for each in families])


def series_context(
    feature_set: str,
    values: npt.ArrayLike,
    sides: "SubSeries",
    firsts: npt.ArrayLike,
    lasts: npt.ArrayLike,
) -> Floats | None:
    """Describe the series around each candidate, for the `context` of `feature_matrix`.

    Args:
        feature_set: One of FEATURE_SETS.
        values: All values.
        sides: Pre and After of each candidate.
        firsts: Where each candidate's series starts.
        lasts: Where the known part of each candidate's series ends; later values are not read.

    Returns:
        One row per candidate; None if the set depends on Pre and After alone.

    Raises:
        ValueError: As of `contrast_context`.
    """
    for family in families_named(feature_set):
        if isinstance(family, Family) and family.context is not None:
            return family.context(values, *sides, firsts, lasts)
    return None


def families_named(feature_set: str) -> tuple[AnyFamily, ...]:
    """Return the families of a set by its name.

    Raises:
        ValueError: There is no such set.
    """
    if feature_set not in FAMILIES:
        raise ValueError(f"unknown feature set {feature_set!r}; known: {', '.join(FAMILIES)}")
    return families_of(feature_set)


@cache
def families_of(feature_set: str) -> tuple[AnyFamily, ...]:
    """Import the families of a set."""
    paths = [path.rpartition(".") for path in FAMILIES[feature_set]]
    return tuple(
        getattr(import_module(f"barograph.features.{module}"), name) for module, _, name in paths
    )


def _context(context: npt.ArrayLike | None, count: int) -> Floats:
    """Return the context with one row per candidate; it has no columns if none is given."""
    if context is None:
        return np.empty((count, 0))
    rows = np.require(context, np.float64, ["C", "A", "W"])
    if rows.ndim != 2 or rows.shape[0] != count:
        raise ValueError(
            f"context has the shape {rows.shape}; it must have one row per candidate: {count}"
        )
    require_finite(rows, "context")
    return rows


def _columns(
    family: AnyFamily, values: Floats, table: Ints, context: Floats, threads: int | None
) -> Floats:
    """Compute one family for all candidates, in chunks on several threads if there are many.

    Compiled code releases the interpreter lock, so plain threads use all cores. No process is
    forked, and no thread outlives the call.
    """
    if isinstance(family, Derived):
        parts = [_columns(each, values, table, context, threads) for each in family.families]
        return family.columns(np.column_stack(parts))
    if isinstance(family, Packaged):
        return family.table(values, *table)
    count = table.shape[1]
    out: Floats = np.empty((count, len(family.names)))

    def run(chunk: slice) -> None:
        starts, splits, ends = table[:, chunk]
        family.rows(values, starts, splits, ends, context[chunk], out[chunk])

    ranges = row_ranges(count, threads, smallest=WORTH_A_THREAD, parts=CHUNKS)
    map_threads(run, ranges, threads=threads)
    return out


def one_pair(
    family: AnyFamily,
    pre: npt.ArrayLike,
    after: npt.ArrayLike,
    context: npt.ArrayLike | None = None,
) -> dict[str, float]:
    """Check one pair of sides, and return the numbers of a family by name."""
    sides = side(pre, "pre"), side(after, "after")
    table = np.cumsum([[0], [sides[0].size], [sides[1].size]], axis=0)
    row = _context(None if context is None else side(context, "context")[None], 1)
    numbers = _columns(family, np.concatenate(sides), table, row, 1)
    return dict(zip(family.names, numbers[0].tolist(), strict=True))


def side(values: npt.ArrayLike, name: str) -> Floats:
    """Return one side as a one-dimensional array of finite floats.

    Raises:
        ValueError: The side is empty, not one-dimensional, or holds something that is not a
            finite number; the message names the side, the index and the value.
    """
    array = as_floats(values, name)
    if array.size == 0:
        raise ValueError(f"{name} is empty; it must hold at least one value")
    require_finite(array, name)
    return array


def bounds(starts: npt.ArrayLike, splits: npt.ArrayLike, ends: npt.ArrayLike, size: int) -> Ints:
    """Return the three bounds as rows of one array; both sides of every candidate are non-empty."""
    rows = [_indices(b, n) for b, n in ((starts, "starts"), (splits, "splits"), (ends, "ends"))]
    if not rows[0].size == rows[1].size == rows[2].size:
        raise ValueError(
            "starts, splits and ends must be equally long, but have "
            f"{rows[0].size}, {rows[1].size} and {rows[2].size} entries"
        )
    table = np.stack(rows)
    good = (table[0] >= 0) & (table[0] < table[1]) & (table[1] < table[2]) & (table[2] <= size)
    if not good.all():
        k = int(np.argmin(good))
        start, split, end = (int(b) for b in table[:, k])
        raise ValueError(
            f"candidate {k} has start {start}, split {split}, end {end}; "
            f"0 <= start < split < end <= {size} must hold, so that neither side is empty"
        )
    return table


def _indices(values: npt.ArrayLike, name: str) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be one-dimensional integers, not {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.int64)
