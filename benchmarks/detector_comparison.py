"""Every detector on real histories: injected changes, people's marks, repeated runs.

Writes all tables with their intervals and the figures into a folder, and prints F1 by detector.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from histories import (
    MARKED,
    SHARED,
    TABLES,
    covering,
    person_agreement,
    read_crowded,
    table_series,
)
from side_by_side import arguments, is_missing, show

from barograph.detection.base import Detector
from barograph.learning.annotators import f1
from barograph.learning.metrics import Interval
from barograph.learning.protocols import numbered
from barograph.pipeline.detectors import write
from barograph.results.marks import Marks, majority_changes
from barograph.results.series import Floats
from barograph.studies.detector_benchmark.cases import (
    ONE_PERSON,
    Case,
    Detection,
    Points,
    default_detectors,
)
from barograph.studies.detector_benchmark.injection import Segment, calmest_segment
from barograph.studies.detector_benchmark.measures import (
    by_step_size,
    delays,
    ratio_interval,
    run_detectors,
)
from barograph.studies.detector_benchmark.repeats import most_disputed, repeated_runs
from barograph.studies.detector_benchmark.tables import (
    ALL,
    BenchmarkSize,
    by_margin,
    injection_tables,
    score_table,
)

PER_SOURCE = 40  # histories of one source at most, so that no source dominates
SYSPERF = "histories/mongodb_dsi_sysperf_history.csv"
LONGEST = 240

Agreement = Callable[[Sequence[int], Marks], float]

# By the name of the measure: the agreement of change points with marks on a series of a length.
MEASURES: Mapping[str, Callable[[int], Agreement]] = {
    "TCPD F1": lambda _: f1,
    "covering": lambda length: partial(covering, length=length),
}


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
        marks = {mark for opinion in case.people for mark in opinion.reported}
        calm = calmest_segment(Segment(case.series, case.values), LONGEST, marks)
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
            tuple(majority_changes(people)),
            people=opinions(people),
        )
        for series, people, group in zip(values, marked.marks, marked.groups, strict=True)
    ]


def opinions(marks: Marks) -> tuple[Detection, ...]:
    """Pair the marks of each person with the changes that the majority of the others marked."""
    people = [sorted(person) for person in marks]
    return tuple(
        Detection(tuple(person), tuple(majority_changes([*people[:k], *people[k + 1 :]])))
        for k, person in enumerate(people)
    )


def marked_tables(
    cases: Sequence[Case], detectors: Mapping[str, Detector], seed: int
) -> dict[str, pd.DataFrame]:
    """Return the tables of series that people marked, by name.

    The table "people" compares detectors with all marks. In the others the truth is the majority
    of the people, and delays are those of the first change of each series.
    """
    detections = run_detectors(cases, detectors)
    changing = [case for case in cases if case.truth]
    return {
        "people": annotator_agreement(cases, detectors, seed),
        "scores": score_table(detections, cases, seed),
        "margins": by_margin(detections, cases, seed),
        "sizes": by_step_size(detections, cases, seed=seed),
        "delays": delays(changing, detectors, seed=seed),
    }


def annotator_agreement(
    cases: Sequence[Case], detectors: Mapping[str, Detector], seed: int = 0
) -> pd.DataFrame:
    """Return F1 and covering of each detector; a person is compared with the other people."""
    series = numbered([case.series for case in cases])
    points_by_detector = {
        name: [case.detected_by(detector) for case in cases] for name, detector in detectors.items()
    }
    rows = []
    for measure, of_length in MEASURES.items():
        values = {
            name: np.array(
                [of_length(c.size)(p, _marks(c)) for p, c in zip(points, cases, strict=True)]
            )
            for name, points in points_by_detector.items()
        }
        values[ONE_PERSON] = np.array(
            [person_agreement(_marks(case), of_length(case.size)) for case in cases]
        )
        rows += [(n, measure, *_interval(value, series, seed)) for n, value in values.items()]
    frame = pd.DataFrame(rows, columns=["detector", "measure", *Interval._fields])
    frame.insert(0, "cases", "all")
    return frame


def _marks(case: Case) -> list[Points]:
    return [opinion.reported for opinion in case.people]


def _interval(values: Floats, series: npt.ArrayLike, seed: int) -> Interval:
    return ratio_interval(np.stack([values, np.ones(values.size)], axis=1), series, seed)


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
