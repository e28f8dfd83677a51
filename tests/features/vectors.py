"""The golden vectors: the results of R, which of them are comparable, and single sides."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.features import holt_ets
from barograph.features.bauer import NAMES_OF_NINE as NAMES
from barograph.features.hurst import hurst, sample_for
from barograph.features.leznik import fit_side
from barograph.results.series import Floats
from tests.shared import SHARED

SYNTHETIC = Path(__file__).parent / "golden"
REAL = SHARED / "golden"


class Case(NamedTuple):
    name: str
    pre: Floats
    after: Floats
    expected: dict[str, float]
    error: str


def cases(folder: Path, inputs: str) -> Iterator[Case]:
    """Yield the cases of one file of inputs, in the order of characteristics.csv."""
    sides = json.loads((folder / inputs).read_text(encoding="utf-8"))
    with (folder / "characteristics.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["id"] in sides:
                pair = sides[row["id"]]
                pre, after = (np.array(pair[k], dtype=np.float64) for k in ("pre", "after"))
                expected = {} if row["error"] else {name: float(row[name]) for name in NAMES}
                yield Case(row["id"], pre, after, expected, row["error"])


def error_of(got: float, expected: float) -> float:
    return abs(got - expected) / max(1.0, abs(expected))


def comparable(case: Case, name: str) -> bool:
    """Return whether R's number is more than rounding noise (golden/README.md)."""
    if not name.endswith("hurst"):
        return True
    x = case.pre if name.startswith("pre") else case.after
    largest = float(np.abs(x).max())
    if not 1e-150 < largest < 1e149:
        return False
    return float(x.max() - x.min()) >= 1e-7 * abs(float(x.mean()))


def hurst_of(x: Floats) -> float:
    return hurst(x, sample_for(max(x.size, 4)))


def holt_of(values: npt.ArrayLike) -> tuple[float, float]:
    """Return alpha and beta of one side."""
    return fit_side(np.array(values, dtype=np.float64), np.empty(holt_ets.WORKSPACE))
