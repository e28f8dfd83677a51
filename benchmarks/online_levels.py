"""How many steps the built-in pair finds after a former level of many times the others.

Each series has 150 quiet results and 15 of a step. Former results are `factor` times as high as the
others: the first 30 (`high`), five from the 16th on (`early pulse`) or from the 76th (`pulse`), or
the first 30 are as many times as low (`low`). A step counts if an alarm points within five results
of it. False alarms are those at quiet results from the 91st on.
"""

import time
from typing import Any

import numpy as np
from side_by_side import arguments, show

from barograph.detection.online import Replay, StepKind, replay_many
from barograph.models import OnlineModels
from barograph.results.series import Floats

QUIET, STEP, SERIES = 150, 15, 100
COUNTED = 90  # former levels are long past
SIZES = (3.0, 5.0, 10.0)
FACTORS = (3.0, 10.0, 30.0, 100.0)
FORMER = {
    "high": slice(0, 30),
    "low": slice(0, 30),
    "early pulse": slice(15, 20),
    "pulse": slice(75, 80),
}


def noise(seed: int, correlation: float) -> Floats:
    """Return Gaussian noise, each value correlated with the last."""
    values = np.random.default_rng(seed).standard_normal(QUIET + STEP)
    for k in range(1, values.size):
        fresh = np.sqrt(1.0 - correlation**2) * values[k]
        values[k] = correlation * values[k - 1] + fresh
    return values


def course(seed: int, correlation: float, noise_share: float, size: float) -> Floats:
    """Return a series with a step of some standard deviations."""
    values = noise(seed, correlation)
    values[QUIET:] += size
    series: Floats = 100.0 * (1.0 + noise_share * values)
    return series


def is_found(replay: Replay) -> bool:
    """Return whether an alarm points at the step."""
    called = (step.index for step in replay.steps if step.kind is StepKind.CALLED)
    return any(abs(index - QUIET) <= 5 for index in called)


def measure(
    models: OnlineModels, correlation: float, share: float, former: str, factor: float
) -> dict[str, Any]:
    """Return the steps that are found, by size, and the false alarms."""
    scale = 1.0 / factor if former == "low" else factor
    found, false = [], 0
    for size in SIZES:
        every = [course(1000 + seed, correlation, share, size) for seed in range(SERIES)]
        for values in every:
            values[FORMER[former]] *= scale
        replays = replay_many(models.newest, every, models.confirm)
        found.append(sum(map(is_found, replays)))
        false += sum(((r.alarms >= COUNTED) & (r.alarms < QUIET)).sum() for r in replays)
    return {
        "noise": f"{'AR(1)' if correlation else 'Gaussian'}, {100 * share:.0f} %",
        "former": former,
        "factor": factor,
        **{
            f"{size:.0f} sd": 100.0 * count / SERIES
            for size, count in zip(SIZES, found, strict=True)
        },
        "false per 1,000": 1000.0 * false / (len(SIZES) * SERIES * (QUIET - COUNTED)),
    }


def main() -> None:
    """Measure every former level and print."""
    options = arguments(str(__doc__)).parse_args()
    start = time.perf_counter()
    models = OnlineModels.default()
    cases = [("high", 1.0), *((former, factor) for former in FORMER for factor in FACTORS)]
    rows = [
        measure(models, correlation, share, former, factor)
        for correlation in (0.0, 0.5)
        for share in (0.01, 0.05)
        for former, factor in cases
    ]
    title = "Steps found after a former level, in percent"
    show(title, rows, options.output, seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main()
