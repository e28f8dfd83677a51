"""The characteristics that the package tsfeatures computes of Pre and After.

FUNCTIONS are those that the package runs by default. As it does by default, each side is scaled to
mean 0 and standard deviation 1 first. Three kinds of results are left out, because they say nothing
about a series without seasons: those of `hw_parameters`, the two constants of `stl_features`, and
those of `heterogeneity`, which fails with statsmodels 0.15. A result that does not exist,
mostly for short and constant sides, is 0.

A side takes about ten milliseconds, most of them in `holt_parameters`, so sides are computed in
several processes, and the numbers are kept in a file: equal sides are computed once.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np

from barograph.features.families import FEATURES_VERSION, Packaged
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import cache_folder
from barograph.runtime.extras import needed
from barograph.runtime.parallel import PATIENCE, map_parallel

Functions = Mapping[str, Sequence[str]]  # the results to keep of each function of the package
FUNCTIONS: Functions = {
    "acf_features": (
        *("x_acf1", "x_acf10", "diff1_acf1"),
        *("diff1_acf10", "diff2_acf1", "diff2_acf10"),
    ),
    "arch_stat": ("arch_lm",),
    "crossing_points": ("crossing_points",),
    "entropy": ("entropy",),
    "flat_spots": ("flat_spots",),
    "holt_parameters": ("alpha", "beta"),
    "lumpiness": ("lumpiness",),
    "nonlinearity": ("nonlinearity",),
    "pacf_features": ("x_pacf5", "diff1x_pacf5", "diff2x_pacf5"),
    "stl_features": ("trend", "spike", "linearity", "curvature", "e_acf1", "e_acf10"),
    "stability": ("stability",),
    "unitroot_kpss": ("unitroot_kpss",),
    "unitroot_pp": ("unitroot_pp",),
    "series_length": ("series_length",),
    "hurst": ("hurst",),
}
RESULTS = tuple(name for names in FUNCTIONS.values() for name in names)
NAMES = tuple(f"{side}_tsfeatures_{name}" for side in ("pre", "after") for name in RESULTS)
LARGEST = 1e30  # forests compute in single precision
CHUNK = 50  # sides


def numbers_of(sides: Sequence[Floats], functions: Functions) -> Floats:
    """Return one row for each side: the results of functions of tsfeatures, NaN where one has none.

    Args:
        sides: The values of each side.
        functions: The results to keep of each function.

    Raises:
        ConfigError: The package is not installed.
    """
    package = _package()
    calls = [(getattr(package, name), results) for name, results in functions.items()]
    with needed("the feature set tsfeatures"):
        from threadpoolctl import threadpool_limits
    # With several threads, the tiny matrices of `holt_parameters` take ten times as long.
    with threadpool_limits(1), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([_row(side, calls) for side in sides])


def table(values: Floats, starts: Ints, splits: Ints, ends: Ints) -> Floats:
    """Return one row per candidate; see `families`. A long computation prints what it cost."""
    sides = [values[a:b] for a, b in zip((*starts, *splits), (*splits, *ends), strict=True)]
    if not sides:
        return np.empty((0, len(NAMES)))
    began = time.monotonic()
    numbers, computed = _known_or_computed(sides)
    took = time.monotonic() - began
    if took >= PATIENCE:
        sys.stderr.write(
            f"tsfeatures: {len(sides):,} sides in {took:.0f} s, {computed:,} of them computed and "
            "the others known\n"
        )
    return np.concatenate(np.split(np.nan_to_num(numbers), 2), axis=1)


def _known_or_computed(sides: Sequence[Floats]) -> tuple[Floats, int]:
    """Return the numbers of each side, and how many sides the file did not have."""
    keys = [blake2b(side.tobytes(), digest_size=16).digest() for side in sides]
    rows: dict[bytes, Floats] = {}
    with closing(_known_numbers()) as known:
        for key in set(keys):
            found = known.execute("SELECT numbers FROM sides WHERE side = ?", (key,)).fetchone()
            if found:
                rows[key] = np.frombuffer(found[0])
        missing = {key: side for key, side in zip(keys, sides, strict=True) if key not in rows}
        places = list(missing)
        chunks = [places[first : first + CHUNK] for first in range(0, len(places), CHUNK)]
        calls = [([missing[key] for key in chunk],) for chunk in chunks]
        results = map_parallel(_scaled_numbers, calls, "tsfeatures") if len(calls) > 1 else None
        for chunk, call in zip(chunks, calls, strict=True):
            numbers = next(results) if results else _scaled_numbers(*call)
            rows |= zip(chunk, numbers, strict=True)
            new = [(key, row.tobytes()) for key, row in zip(chunk, numbers, strict=True)]
            with known:  # an interrupted run loses one chunk
                known.executemany("INSERT OR REPLACE INTO sides VALUES (?, ?)", new)
    return np.array([rows[key] for key in keys]), len(missing)


def _scaled_numbers(sides: Sequence[Floats]) -> Floats:
    with np.errstate(all="ignore"):
        return numbers_of([_scaled(side) for side in sides], FUNCTIONS)


def _scaled(side: Floats) -> Floats:
    """Return a side with mean 0 and standard deviation 1; zeros for a constant."""
    deviation = np.std(side, ddof=1) if side.size > 1 else 0.0
    scaled: Floats = (side - side.mean()) / deviation if deviation > 0.0 else np.zeros_like(side)
    return scaled


def _row(side: Floats, calls: Sequence[tuple[Callable[..., Any], Sequence[str]]]) -> Floats:
    row: list[float] = []
    for function, kept in calls:
        try:
            results = function(side.copy(), freq=1)  # some functions modify their input
        except Exception:  # any error means that there is no result
            results = {}
        row += [float(results.get(name, np.nan)) for name in kept]
    numbers = np.array(row)
    numbers[~(np.abs(numbers) <= LARGEST)] = np.nan
    return numbers


def _package() -> Any:
    """Import tsfeatures, and undo what it does to the process: it disables all warnings."""
    warn, variables = warnings.warn, dict(os.environ)
    with needed("the feature set tsfeatures"):
        import tsfeatures
    warnings.warn = warn
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
    return tsfeatures


def _known_numbers() -> sqlite3.Connection:
    """Open the file of known numbers, or a table in memory where no file can be written."""
    with needed("the feature set tsfeatures"):
        versions = version("tsfeatures"), version("statsmodels"), FEATURES_VERSION
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _with_table(str(folder / f"tsfeatures-{'-'.join(versions)}.sqlite"))
    except (OSError, sqlite3.OperationalError):
        return _with_table(":memory:")


def _with_table(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60)
    connection.execute("CREATE TABLE IF NOT EXISTS sides (side BLOB PRIMARY KEY, numbers BLOB)")
    return connection


FAMILY = Packaged(NAMES, table)
