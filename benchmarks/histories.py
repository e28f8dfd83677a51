"""Real histories, and people's marks on them, from the shared data folder beside the checkout.

BAROGRAPH_SHARED names another place of the folder.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.learning.metrics import f1_of_marks
from barograph.learning.online.truth import Marked
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import ConfigError, DataError

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("BAROGRAPH_SHARED", ROOT.parent / "shared")) / "data"
MARKED = SHARED / "sap_hana"  # histories that several people marked
PEOPLE = 3  # fewer have no majority
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
        for _, values in table_series(name, keys, column):
            yield name, values
    demo = pd.read_csv(SHARED / "mongodb" / "demo.csv")
    yield "mongodb/demo.csv", demo["value"].to_numpy(np.float64)
    for path in sorted((SHARED / "mongodb").glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))["data"]
        for values in _lists(data):
            yield f"mongodb/{path.name}", values


def table_series(
    name: str, keys: Sequence[str], column: str
) -> Iterator[tuple[tuple[Any, ...], Floats]]:
    """Yield the key and the values of every series of a table, in its order.

    Args:
        name: The file, as in `TABLES`.
        keys: The columns that name a series.
        column: The column of the values.
    """
    path = SHARED / name
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    for key, rows in table.groupby(list(keys), sort=False, dropna=False, observed=True):
        yield key, rows[column].to_numpy(np.float64)


def _lists(data: object) -> Iterator[Floats]:
    """Yield the lists of numbers with the key `series`."""
    if not isinstance(data, dict):
        return
    for name, value in data.items():
        if name == "series" and isinstance(value, list) and isinstance(value[0], int | float):
            yield np.array(value, dtype=np.float64)
        else:
            yield from _lists(value)


def read_marked(folder: Path) -> Marked:
    """Read the marked histories of a folder.

    Args:
        folder: It has the files series.parquet, annotations.csv and series_meta.csv.
    """
    meta = pd.read_csv(folder / "series_meta.csv", dtype={"series_id": str})
    points = pd.read_parquet(folder / "series.parquet", columns=["series_id", "idx", "mean"])
    points = points.sort_values(["series_id", "idx"], kind="stable")
    values = {str(name): part["mean"].to_numpy() for name, part in points.groupby("series_id")}
    people: dict[str, list[tuple[int, ...]]] = {name: [] for name in meta["series_id"]}
    notes = pd.read_csv(folder / "annotations.csv", dtype={"series_id": str})
    for (name, _), part in notes.groupby(["series_id", "annotator"]):
        people[str(name)].append(tuple(sorted({int(i) for i in part["index"] if i > 0})))
    missing = sorted(set(people) - set(values))
    if missing:
        raise DataError(f"{folder}: series.parquet misses {missing[:3]}")
    return Marked(
        np.concatenate([values[name] for name in people]),
        np.cumsum([0, *(values[name].size for name in people)]),
        tuple(tuple(marks) for marks in people.values()),
        meta["group"].to_numpy(dtype=np.int64),
    )


def read_crowded(folder: Path) -> Marked:
    """Read the histories of a folder that at least `PEOPLE` people marked."""
    marked = read_marked(folder)
    return marked.part(np.flatnonzero([len(marks) >= PEOPLE for marks in marked.marks]))


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


def person_agreement(marks: Sequence[Sequence[int]]) -> float:
    """Return the mean F1 of each person's marks, of two people or more, against the others'."""
    if len(marks) < 2:
        raise ConfigError(f"agreement needs the marks of 2 people or more, got {len(marks)}")
    scores = [f1_of_marks(person, [*marks[:k], *marks[k + 1 :]]) for k, person in enumerate(marks)]
    return float(np.mean(scores))
