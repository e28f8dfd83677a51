"""Every detector on real histories: injected changes, people's marks, repeated runs.

Reads the real data beside the checkout (../shared/data, or where BAROGRAPH_SHARED points), writes
all tables with their intervals and the figures into a folder, and prints F1 by detector.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
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

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("BAROGRAPH_SHARED", ROOT.parent / "shared")) / "data"
PER_SOURCE = 40  # at most this many histories of one source, so that no source dominates


def histories(seed: int) -> list[Segment]:
    """Return unlabelled real histories, and the parts of the SAP HANA ones without any mark."""
    folder = DATA / "histories"
    sources = [
        _split(pd.read_parquet(folder / "scipy_asv_i7_400.parquet"), ["benchmark"], "value"),
        _split(
            pd.read_parquet(folder / "kokkos_gxx_openmp_150.parquet"), ["benchmark"], "real_time_ns"
        ),
        _split(pd.read_csv(folder / "tigerbeetle_nyrkio.csv"), ["metric"], "value"),
        _split(pd.read_csv(folder / "mozilla_talos_treeherder_fixture.csv"), ["series"], "value"),
        sysperf(),
        list(unmarked()),
    ]
    generator = np.random.default_rng(seed)
    chosen = [source[k] for source in sources for k in _some(source, generator)]
    return [chosen[k] for k in generator.permutation(len(chosen)).tolist()]


def _some(source: Sequence[Segment], generator: np.random.Generator) -> list[int]:
    chosen: list[int] = generator.permutation(len(source))[:PER_SOURCE].tolist()
    return chosen


def sysperf() -> list[Segment]:
    """Return MongoDB's system performance histories."""
    frame = pd.read_csv(DATA / "histories" / "mongodb_dsi_sysperf_history.csv")
    names = ["project", "variant", "task", "test", "thread_level"]
    return _split(frame, names, "ops_per_sec")


def unmarked() -> Iterator[Segment]:
    """Yield the calmest long segment of each SAP HANA history that no person marked."""
    for case in marked_cases():
        everyone = {mark for opinion in case.people for mark in opinion.marks}
        calm = calmest_segment(Segment(case.series, case.values), LONGEST, everyone)
        if calm is not None:
            yield calm


LONGEST = 240


def marked_cases() -> list[Case]:
    """Return the SAP HANA histories with what up to five people marked in each.

    Series of one group are related, so the bootstrap draws groups. A person is compared with the
    majority of the others; series of one or two people have no such majority and are left out.
    """
    folder = DATA / "sap_hana"
    values = pd.read_parquet(folder / "series.parquet", columns=["series_id", "mean"])
    series = {name: part["mean"].to_numpy() for name, part in values.groupby("series_id")}
    marks = pd.read_csv(folder / "annotations.csv")
    groups = pd.read_csv(folder / "series_meta.csv").set_index("series_id")["group"].to_dict()
    cases = []
    for name, rows in marks.groupby("series_id"):
        people = [set(places["index"]) - {-1} for _, places in rows.groupby("annotator")]
        if len(people) >= 3:
            truth = tuple(majority_changes(people, MARGIN))
            group = f"group {groups[name]}"
            cases.append(
                Case(group, "SAP HANA", series[str(name)], truth, people=opinions(people, MARGIN))
            )
    return cases


def _split(frame: pd.DataFrame, names: Sequence[str], column: str) -> list[Segment]:
    parts = frame.groupby(list(names), observed=True)[column]
    return [
        Segment("/".join(map(str, key)), part.dropna().to_numpy(dtype=np.float64))
        for key, part in parts
    ]


def run(
    folder: Path, size: BenchmarkSize, detectors: dict[str, Detector]
) -> dict[str, pd.DataFrame]:
    """Write all tables, and return the tables of scores."""
    injected = injection_tables(histories(size.seed), detectors, size)
    plain = [Case(history.series, "real", history.values, ()) for history in sysperf()]
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
    if is_missing(DATA, "detectors on real histories", options.output):
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
