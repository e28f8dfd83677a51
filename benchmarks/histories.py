"""Real histories from the shared data folder next to the checkout, or in BAROGRAPH_SHARED."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.evaluation.annotators import Marked
from barograph.series import Floats, Ints

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("BAROGRAPH_SHARED", ROOT.parent / "shared")) / "data"
# file, the columns that name a series, the column of values
TABLES = [
    ("histories/scipy_asv_i7_400.parquet", ["benchmark"], "value"),
    ("histories/kokkos_gxx_openmp_150.parquet", ["benchmark"], "real_time_ns"),
    ("histories/tigerbeetle_nyrkio.csv", ["metric"], "value"),
    (
        "histories/mongodb_dsi_sysperf_history.csv",
        ["project", "variant", "task", "test", "thread_level"],
        "ops_per_sec",
    ),
    ("histories/mozilla_talos_treeherder_fixture.csv", ["series"], "value"),
    ("sap_hana/series.parquet", ["series_id"], "mean"),
]


def histories() -> Iterator[tuple[str, Floats]]:
    """Yield the file and the values of every series with at least three finite values."""
    for name, values in _all():
        finite = values[np.isfinite(values)]
        if finite.size >= 3:
            yield name, finite


def _all() -> Iterator[tuple[str, Floats]]:
    if not SHARED.is_dir():
        return
    for name, keys, column in TABLES:
        path = SHARED / name
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        for _, rows in table.groupby(keys, sort=False, dropna=False):
            yield name, rows[column].to_numpy(np.float64)
    demo = pd.read_csv(SHARED / "mongodb" / "demo.csv")
    yield "mongodb/demo.csv", demo["value"].to_numpy(np.float64)
    for path in sorted((SHARED / "mongodb").glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))["data"]
        for values in _lists(data):
            yield f"mongodb/{path.name}", values


def _lists(data: object) -> Iterator[Floats]:
    """Yield the lists of numbers with the key `series`."""
    if not isinstance(data, dict):
        return
    for name, value in data.items():
        if name == "series" and isinstance(value, list) and isinstance(value[0], int | float):
            yield np.array(value, dtype=np.float64)
        else:
            yield from _lists(value)


def is_reported(groups: Ints | npt.NDArray[np.str_]) -> npt.NDArray[np.bool_]:
    """Return which groups of marked series belong to the half that figures are reported on.

    Whatever is chosen with marks in sight is chosen on the other half. A hash of the group decides,
    so the halves are the same in every benchmark and never change.
    """
    digests = {g: hashlib.sha256(f"group {g}".encode()).digest()[0] for g in np.unique(groups)}
    return np.array([digests[group] % 2 == 1 for group in groups], dtype=np.bool_)


def halves(marked: Marked) -> tuple[Marked, Marked]:
    """Split marked series by group: the half to choose on, and the half to report on."""
    reported = is_reported(marked.groups)
    return marked.part(np.flatnonzero(~reported)), marked.part(np.flatnonzero(reported))
