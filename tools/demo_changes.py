"""Compute the change points of the demonstration, which `barograph serve --demo` reads.

Run it after a change of the default detector, of the built-in model or of the simulated company:
`python tools/demo_changes.py`. A test compares the file with what is computed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from barograph.cli.detectors import DEFAULT_DETECTOR, make_detector
from barograph.detection import detect_many
from barograph.simulator.demonstration import demo_series

FILE = Path(__file__).resolve().parent.parent / "src" / "barograph" / "cli" / "demo.json"


def computed() -> list[list[list[float | int | None]]]:
    """Return the change points of each series: start, index and end, statistic, p, probability."""
    many = list(demo_series(0))
    values = np.concatenate([series.values for series in many])
    offsets = np.cumsum([0, *(series.values.size for series in many)], dtype=np.int64)
    points_by_series = detect_many(make_detector(DEFAULT_DETECTOR), values, offsets)
    return [
        [
            [
                change.index - change.before.count,
                change.index,
                change.index + change.after.count,
                float(f"{change.statistic:.6g}"),
                None if change.pvalue is None else float(f"{change.pvalue:.6g}"),
                None if change.probability is None else float(f"{change.probability:.9g}"),
            ]
            for change in changes
        ]
        for changes in points_by_series
    ]


if __name__ == "__main__":
    rows = ",\n".join(json.dumps(changes, separators=(",", ":")) for changes in computed())
    FILE.write_text(f"[{rows}]\n", encoding="utf-8")
