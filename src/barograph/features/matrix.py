"""The feature sets, and their matrix for many candidates on several cores."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from barograph.features import (
    bauer,
    checks,
    contrast,
    hurst,
    leznik,
    leznik_sides,
    regime,
    setds,
)
from barograph.features.families import Derived, Family
from barograph.features.subseries import SubSeries
from barograph.parallel import map_threads, row_ranges
from barograph.series import Floats, Ints, as_floats, require_finite

# Increased whenever the numbers of a feature change: tables and models of different versions are
# not combined.
FEATURES_VERSION = "1"

FAMILIES: tuple[Family, ...] = (
    bauer.FAMILY,
    hurst.FAMILY,
    leznik_sides.FAMILY,
    contrast.FAMILY,
    regime.FAMILY,
    setds.FAMILY,
)
DERIVED: tuple[Derived, ...] = (bauer.DIFFERENCES, bauer.CHANGES, leznik.DELTAS)

FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "bauer8": bauer.NAMES,
    "bauer9": bauer.NAMES_OF_NINE,
    "leznik": leznik.DELTAS.names,
    "leznik_sides": leznik_sides.NAMES,
    "setds": (setds.NAME,),
    "hybrid": (*leznik.DELTAS.names, setds.NAME),
    "contrast": contrast.NAMES,
    "full": (*bauer.NAMES_OF_NINE, *leznik.DELTAS.names, *contrast.NAMES),
    "difference8": bauer.DIFFERENCES.names,
    "change8": bauer.CHANGES.names,
    "online": regime.ONLINE_NAMES,
    "confirm": regime.NAMES,
}

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
    columns = columns_of(feature_set)
    numbers = as_floats(values)
    table = checks.bounds(starts, splits, ends, numbers.size)
    checks.covered(numbers, table)
    rows = _context(context, table.shape[1])
    known: dict[str, Floats] = {}
    for family in _families(columns):
        result = _compute(family, numbers, table, rows, threads)
        known.update(zip(family.names, result.T, strict=True))
    for derived in DERIVED:
        if not set(derived.names).isdisjoint(columns):
            sources = np.column_stack([known[name] for name in derived.sources])
            known.update(zip(derived.names, derived.columns(sources).T, strict=True))
    return np.column_stack([known[name] for name in columns])


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
    columns = columns_of(feature_set)
    if not set(contrast.CONTEXT_NAMES).isdisjoint(columns):
        return contrast.contrast_context(values, *sides, firsts, lasts)
    if setds.NAME in columns:
        return setds.setds_context(values, sides.splits, firsts, lasts)
    return None


def columns_of(feature_set: str) -> tuple[str, ...]:
    """Return the columns of a set by its name."""
    if feature_set not in FEATURE_SETS:
        raise ValueError(f"unknown feature set {feature_set!r}; known: {', '.join(FEATURE_SETS)}")
    return FEATURE_SETS[feature_set]


def _families(columns: Sequence[str]) -> Iterable[Family]:
    """Return the families of the columns, or of the columns that they are derived from."""
    needed = set(columns)
    for derived in DERIVED:
        if not needed.isdisjoint(derived.names):
            needed.update(derived.sources)
    return [family for family in FAMILIES if not needed.isdisjoint(family.names)]


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
