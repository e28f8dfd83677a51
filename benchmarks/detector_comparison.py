"""Every detector on real histories: injected changes, people's marks, repeated runs.

Writes all tables with their intervals and the figures into a folder, and prints F1 by detector.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from histories import MARKED, SHARED, TABLES, read_crowded, table_series
from side_by_side import arguments, is_missing, show

from barograph.detection.base import Detector
from barograph.evaluation.annotators import majority_changes
from barograph.pipeline.detectors import write
from barograph.studies.detector_benchmark.cases import Case, default_detectors, opinions
from barograph.studies.detector_benchmark.injection import Segment, calmest_segment
from barograph.studies.detector_benchmark.measures import MARGIN
from barograph.studies.detector_benchmark.repeats import most_disputed, repeated_runs
from barograph.studies.detector_benchmark.tables import (
    ALL,
    BenchmarkSize,
    injection_tables,
    marked_tables,
)

PER_SOURCE = 40  # histories of one source at most, so that no source dominates
SYSPERF = "histories/mongodb_dsi_sysperf_history.csv"
LONGEST = 240


def histories(seed: int) -> list[Segment]:
    """Return unlabelled real histories, and the parts of the SAP HANA ones without any mark."""
    sources = [segments(name) for name, *_ in TABLES if name.startswith("histories/")]
    sources.append(list(unmarked()))
    generator = np.random.default_rng(seed)
    chosen = [source[k] for source in sources for k in _some(source, generator)]
    return [chosen[k] for k in generator.permutation(len(chosen)).tolist()]


def _some(source: Sequence[Segment], generator: np.random.Generator) -> list[int]:
    chosen: list[int] = generator.permutation(len(source))[:PER_SOURCE].tolist()
    return chosen


def segments(name: str) -> list[Segment]:
    """Return the series of a table."""
    [(keys, column)] = [(keys, column) for table, keys, column in TABLES if table == name]
    return [
        Segment("/".join(map(str, key)), values[~np.isnan(values)])
        for key, values in table_series(name, keys, column)
    ]


def unmarked() -> Iterator[Segment]:
    """Yield the calmest long segment of each SAP HANA history that no person marked."""
    for case in marked_cases():
        everyone = {mark for opinion in case.people for mark in opinion.marks}
        calm = calmest_segment(Segment(case.series, case.values), LONGEST, everyone)
        if calm is not None:
            yield calm


def marked_cases() -> list[Case]:
    """Return the SAP HANA histories with what up to five people marked in each.

    Series of one group are related, so the bootstrap draws groups. A person is compared with the
    majority of the others; series of one or two people have no such majority and are left out.
    """
    marked = read_crowded(MARKED)
    values = np.split(marked.values, marked.offsets[1:-1])
    return [
        Case(
            f"group {group}",
            "SAP HANA",
            series,
            tuple(majority_changes(people, MARGIN)),
            people=opinions(people, MARGIN),
        )
        for series, people, group in zip(values, marked.marks, marked.groups, strict=True)
    ]


def run(
    folder: Path, size: BenchmarkSize, detectors: dict[str, Detector]
) -> dict[str, pd.DataFrame]:
    """Write all tables, and return the tables of scores."""
    injected = injection_tables(histories(size.seed), detectors, size)
    plain = [Case(history.series, "real", history.values, ()) for history in segments(SYSPERF)]
    disputed = most_disputed(plain, size.repeats, size.runs)
    injected["repeats"], injected["distribution"] = repeated_runs(disputed, size.runs)
    write(folder / "injected", injected, "real histories", timed=True)
    marked = marked_tables(marked_cases(), detectors, size.seed)
    write(folder / "marked", marked, "SAP HANA, people's marks", timed=True)
    marked_scores = pd.concat([marked["people"], marked["scores"]])
    return {"injected": injected["scores"], "marked": marked_scores}


def main() -> None:
    """Run the comparison on real data."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--folder", type=Path, default=Path("data/reports/detector_comparison"))
    parser.add_argument("--segments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if is_missing(SHARED, "detectors on real histories", options.output):
        return
    size = BenchmarkSize(segments=options.segments, seed=options.seed)
    scores = run(options.folder, size, dict(default_detectors()))
    rows = []
    for data, table in scores.items():
        for record in table[table["cases"] == ALL].to_dict("records"):
            if record["measure"] in ("F1", "TCPD F1", "covering", "false alarms per 1000"):
                names = ("detector", "measure", "mean", "low", "high")
                rows.append({"data": data, **{name: record[name] for name in names}})
    show("Detectors on real histories, margin 5", rows, options.output)


if __name__ == "__main__":
    main()
