"""Draw docs/algorithm-1-trap.png: Algorithm 1 after an alarm, when Pre is a single point.

    python tools/trap.py

Two forests learn the paper's characteristics from the same simulated candidates. The first has only
seen a Pre of many points, the second also the same Pre cut to a few. Both then judge one simulated
series with a single step.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from barograph.detection.online import OnlineDetector
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models.classifiers import random_forest
from barograph.models.kinds import from_fitted
from barograph.models.triage import TriageModel

OUT = Path(__file__).resolve().parent.parent / "docs" / "algorithm-1-trap.png"
ROWS, PRE, SHORT = 400, (20, 100), (1, 20)  # candidates to learn from; points of Pre
LENGTH, STEP = 120, 70  # of the series that is judged
SIZE = 6.0  # of a step, in standard deviations of the noise
INK, TRACE, ALARM = "#1d1c19", "#8a857a", "#b3340d"
Floats = npt.NDArray[np.float64]


def series() -> Floats:
    """Return the series that is judged: noise around 100, and one step."""
    values = np.random.default_rng(5).normal(100.0, 1.0, LENGTH)
    values[STEP:] -= SIZE
    return values


def forest(*, with_short: bool) -> TriageModel:
    """Return the paper's forest, learned from simulated candidates whose After is one point."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(*PRE, ROWS)
    truth = np.arange(ROWS) % 2
    parts = [rng.normal(100.0, 1.0, n + 1) for n in lengths]
    for part, is_real in zip(parts, truth, strict=True):
        part[-1] += is_real * rng.choice([-1.0, 1.0]) * rng.uniform(4.0, 9.0)
    values = np.concatenate(parts)
    splits = np.cumsum(lengths + 1) - 1
    starts = splits - lengths
    if with_short:
        starts = np.concatenate([starts, splits - rng.integers(*SHORT, ROWS)])
        splits, truth = np.tile(splits, 2), np.tile(truth, 2)
    matrix = feature_matrix(values, starts, splits, splits + 1, "bauer8")
    fitted = random_forest(1, 100).fit(matrix, truth)
    columns = FEATURE_SETS["bauer8"]
    return TriageModel("online", "bauer8", columns, 0.5, from_fitted(fitted))


def alarms(model: TriageModel) -> list[int]:
    """Return the points of the series that Algorithm 1 calls a change."""
    return [d.index for d in OnlineDetector.algorithm_1(model, series()) if d.is_change]


def main(out: Path = OUT) -> None:
    """Draw both replays, one below the other."""
    figure = Figure(figsize=(9, 5), dpi=120, layout="constrained")
    titles = {
        False: "learned only with a Pre of 20 to 100 points",
        True: "learned also with the same Pre cut to 1 to 20 points",
    }
    for axes, (with_short, title) in zip(
        figure.subplots(2, sharex=True), titles.items(), strict=True
    ):
        found = alarms(forest(with_short=with_short))
        axes.plot(series(), ".", color=TRACE, label="results")
        axes.plot(found, series()[found], "o", color=ALARM, fillstyle="none", label="alarms")
        axes.axvline(STEP, color=INK, linewidth=0.8, linestyle=":", label="the step")
        axes.set_title(f"A forest that {title}: {len(found)} alarms", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="lower left", fontsize=8, frameon=False)
    axes.set_xlabel("commit")
    figure.savefig(out, metadata={"Software": None})


if __name__ == "__main__":
    main()
