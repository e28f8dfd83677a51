"""The feature sets, and their matrix for many candidates on several cores."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

import numpy as np
import numpy.typing as npt

from barograph.features import checks
from barograph.features.families import Derived, Family
from barograph.features.subseries import SubSeries
from barograph.results.series import Floats, Ints, as_floats, require_finite
from barograph.runtime.parallel import map_threads, row_ranges

# Increased whenever the numbers of a feature change: tables and models of different versions are
# not combined.
FEATURES_VERSION = "1"

# Each feature set, and the families of its columns: names in modules of this package, which are
# imported when the set is first used.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "bauer8": ("bauer.FAMILY",),
    "bauer9": ("bauer.WITH_HURST",),
    "leznik": ("leznik.DELTAS",),
    "leznik_sides": ("leznik_sides.FAMILY",),
    "setds": ("setds.FAMILY",),
    "hybrid": ("leznik.DELTAS", "setds.FAMILY"),
    "contrast": ("contrast.FAMILY",),
    "full": ("bauer.WITH_HURST", "leznik.DELTAS", "contrast.FAMILY"),
    "difference8": ("bauer.DIFFERENCES",),
    "change8": ("bauer.CHANGES",),
    "online": ("regime.ONLINE",),
    "confirm": ("regime.FAMILY",),
}


class _FeatureSets(Mapping[str, tuple[str, ...]]):
    """The columns of each feature set by its name."""

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return tuple(column for family in families_of(name) for column in family.names)

    def __iter__(self) -> Iterator[str]:
        return iter(FAMILIES)

    def __len__(self) -> int:
        return len(FAMILIES)


FEATURE_SETS: Mapping[str, tuple[str, ...]] = _FeatureSets()

# Fewer candidates than this are not worth another thread.
WORTH_A_THREAD = 64
# Chunks per thread, so that a thread with short sides takes over from one with long sides.
CHUNKS = 8


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
        ValueError: A side is empty or holds a value that is not finite, the bounds do not fit, or
            the feature set is unknown; the message names the argument, the value and what is
            allowed.
    """
    families = families_named(feature_set)
    numbers = as_floats(values)
    table = checks.bounds(starts, splits, ends, numbers.size)
    checks.covered(numbers, table)
    rows = _context(context, table.shape[1])
    return np.column_stack([_columns(family, numbers, table, rows, threads) for family in families])


def series_context(
    feature_set: str,
    values: npt.ArrayLike,
    sides: SubSeries,
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


def families_named(feature_set: str) -> tuple[Family | Derived, ...]:
    """Return the families of a set by its name.

    Raises:
        ValueError: There is no such set.
    """
    if feature_set not in FAMILIES:
        raise ValueError(f"unknown feature set {feature_set!r}; known: {', '.join(FAMILIES)}")
    return families_of(feature_set)


@cache
def families_of(feature_set: str) -> tuple[Family | Derived, ...]:
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
    family: Family | Derived, values: Floats, table: Ints, context: Floats, threads: int | None
) -> Floats:
    """Return the columns of one family for all candidates."""
    if isinstance(family, Family):
        return _compute(family, values, table, context, threads)
    parts = [_compute(source, values, table, context, threads) for source in family.families]
    return family.columns(np.column_stack(parts))


def _compute(
    family: Family, values: Floats, table: Ints, context: Floats, threads: int | None
) -> Floats:
    """Run one family over all candidates, in chunks on several threads if there are many.

    Compiled code releases the interpreter lock, so plain threads use all cores. No process is
    forked, and no thread outlives the call.
    """
    count = table.shape[1]
    out: Floats = np.empty((count, len(family.names)))

    def run(chunk: slice) -> None:
        starts, splits, ends = table[:, chunk]
        family.rows(values, starts, splits, ends, context[chunk], out[chunk])

    ranges = row_ranges(count, threads, smallest=WORTH_A_THREAD, parts=CHUNKS)
    map_threads(run, ranges, threads=threads)
    return out
