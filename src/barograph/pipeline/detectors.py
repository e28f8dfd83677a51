"""Stage `detectors`: the other detectors beside ours, on injected changes and on the verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd

from barograph.history import History
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.series import UNKNOWN_TIME, Floats, Verdict
from barograph.studies.detector_benchmark.cases import default_detectors
from barograph.studies.detector_benchmark.injection import Segment
from barograph.studies.detector_benchmark.report import comparison_figure, formatted
from barograph.studies.detector_benchmark.tables import ALL, BenchmarkSize, injection_tables
from barograph.studies.detector_benchmark.verdict_hits import TriagedSeries, by_verdict

FOLDER = report.FOLDER / "detectors"
# What a clock says differs from run to run: no file of a stage may hold it.
TIMED = ("seconds", "seconds, low", "seconds, high")


@dataclass(frozen=True)
class DetectorsParams(BenchmarkSize):
    """The size of the comparison, and the largest number of triaged series with verdicts."""

    triaged: int = 200


def tables_of(history: History, params: DetectorsParams) -> dict[str, pd.DataFrame]:
    """Return every table of the comparison for one data set."""
    names = [field.name for field in fields(BenchmarkSize)]
    size = BenchmarkSize(**{name: getattr(params, name) for name in names})
    detectors = default_detectors()
    tables = injection_tables(histories(history, params.seed), detectors, size)
    verdicts = by_verdict(
        triaged(history, params.triaged, params.seed), detectors, seed=params.seed
    )
    return {**tables, "verdicts": verdicts}


def histories(history: History, seed: int) -> list[Segment]:
    """Return all series in a random order."""
    order = np.random.default_rng(seed).permutation(len(history))
    return [Segment(str(k), history.values_of(k), _times(history, k)) for k in order.tolist()]


def triaged(history: History, most: int, seed: int) -> list[TriagedSeries]:
    """Return some of the series that hold a decided candidate, with all their verdicts."""
    verdicts: dict[int, dict[int, Verdict]] = {}
    columns = (
        history.candidates.column(name).to_pylist() for name in ("series", "index", "verdict")
    )
    for series, index, verdict in zip(*columns, strict=True):
        verdicts.setdefault(series, {})[index] = Verdict(verdict)
    decided = [k for k, given in verdicts.items() if any(v.is_final for v in given.values())]
    order = np.random.default_rng(seed).permutation(sorted(decided))[:most]
    return [TriagedSeries(str(k), history.values_of(k), verdicts[k]) for k in order.tolist()]


def _times(history: History, number: int) -> Floats | None:
    times = history.times[history.offsets[number] : history.offsets[number + 1]]
    return None if (times == UNKNOWN_TIME).any() else times / 1000.0


def write(
    folder: Path, tables: Mapping[str, pd.DataFrame], subtitle: str, *, timed: bool = False
) -> None:
    """Write every table for programs and for people, and the picture."""
    for name, table in tables.items():
        kept = table if timed else table.drop(columns=[c for c in TIMED if c in table])
        report.write_csv(folder / f"{name}.csv", kept)
        report.write_table(folder / f"{name}.md", f"{name} ({subtitle})", formatted(kept), NOTES)
    if "points" in tables:
        comparison_figure(dict(tables), subtitle, folder / "detectors.png")


NOTES: tuple[str, ...] = (
    "Intervals: 95 %, bootstrap over series. One person: each of several people against the truth",
    "or the majority of the others, on average; simulated people where changes were injected;",
    "a dash where no person answers the question.",
)


def main() -> None:
    """Run the stage."""
    params = parameters(DetectorsParams, "detectors")
    tables = tables_of(History.read(INTERIM), params)
    write(FOLDER, tables, f"profile {profile_name()}")
    report.write_json(report.FOLDER / "detectors.json", metrics(tables))


def metrics(tables: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, float]]:
    """Return F1 over all scenarios, and its interval, by detector."""
    scores = tables["scores"]
    rows = scores[(scores["cases"] == ALL) & (scores["measure"] == "F1")]
    return {
        row["detector"]: {"f1": row["mean"], "low": row["low"], "high": row["high"]}
        for row in rows.to_dict("records")
    }


if __name__ == "__main__":
    main()
