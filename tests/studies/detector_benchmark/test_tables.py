"""The tables of the comparison on cases that are small enough to check by hand."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from barograph.detection import EDivisive, Nothing, Pelt
from barograph.detection.base import Detector, RawChangePoint
from barograph.results.series import Floats, Verdict
from barograph.runtime.errors import NotEnoughDataError
from barograph.studies.detector_cases import Case
from barograph.studies.detector_tables import (
    ALL,
    BenchmarkSize,
    by_verdict,
    injection_tables,
    measured,
    most_disputed,
    repeated_runs,
    run_detectors,
)
from barograph.studies.detectors import formatted


@dataclass(frozen=True)
class At(Detector):
    """Reports the given points that lie inside the series."""

    points: tuple[int, ...] = ()

    @property
    def shortest(self) -> int:
        return 0

    def find(self, values: Floats) -> list[RawChangePoint]:
        return [RawChangePoint(point, 1.0) for point in self.points if point < values.size]


def case(truth: tuple[int, ...], series: str = "one", scenario: str = "s") -> Case:
    values = np.random.default_rng(0).standard_normal(100)
    for point in truth:
        values[point:] += 20.0
    return Case(series, values, None, scenario, truth)


def value(table: pd.DataFrame, **where: object) -> float:
    for name, expected in where.items():
        table = table[table[name] == expected]
    assert len(table) == 1
    return float(table["mean"].iloc[0])


def test_scores_match_hand_calculation() -> None:
    cases = [case((50,), "one"), case((20, 70), "two")]
    detections = run_detectors(cases, {"half": At(points=(21, 50)), "Nothing": Nothing()})
    table = measured(detections, cases, margin=5)
    half = {m: value(table, detector="half", measure=m) for m in table["measure"].unique()}
    assert half["F1"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert half["Rand as printed"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert half["precision"] == pytest.approx(2 / 4)
    assert half["recall"] == pytest.approx(2 / 3)
    assert half["false alarms per 1000"] == pytest.approx(1000 * 2 / 200)
    assert 0 < half["Rand"] < 1
    assert value(table, detector="Nothing", measure="F1") == 0.0


def test_by_verdict_counts_hits_of_each_verdict() -> None:
    true, false = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE
    values = np.arange(100.0)
    data = [(values, {50: true, 80: false, 20: Verdict.NOT_TRIAGED})]
    (three,) = by_verdict(data, {"three": At(points=(20, 51, 95))}).to_dict("records")
    assert [three[name] for name in (*Verdict, "not annotated")] == [1, 0, 1, 0, 0, 1]
    assert [three[name] for name in ("accuracy", "sensitivity", "specificity")] == [1.0] * 3


def test_repeated_runs_differ_only_for_random_permutations() -> None:
    noisy = [
        Case("same", np.random.default_rng(seed).standard_normal(60), None, scenario, (30,))
        for scenario, seed in (("s", 7), ("t", 3))
    ]
    table, distribution = repeated_runs(noisy, 8)
    rows = table.set_index("variant")
    same = rows["series with one answer"].drop("permutation")
    assert (same == 1.0).all()
    assert (rows["sd"].drop("permutation") == 0.0).all()
    shares = distribution.groupby(["variant", "cases", "series"])["share of runs"].sum()
    np.testing.assert_allclose(shares.to_numpy(), 1.0)


def test_disputed_series_are_those_with_several_answers() -> None:
    clear = Case("clear", np.repeat([0.0, 9.0], 30))
    noisy = [Case(str(k), np.random.default_rng(k).standard_normal(60)) for k in range(12)]
    disputed, *_ = most_disputed([clear, *noisy], 1, runs=4)
    answers = {disputed.detected_by(EDivisive(0.05, 100, seed, min_size=1)) for seed in range(4, 9)}
    assert disputed is not clear
    assert len(answers) > 1


SMALL = BenchmarkSize(segments=3, length=60, lengths=(30, 60), repeats=1, runs=2)
HISTORIES = [Case(str(k), np.random.default_rng(k).standard_normal(90)) for k in range(4)]


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return injection_tables(HISTORIES, {"Pelt": Pelt(), "Nothing": Nothing()}, SMALL)


def test_every_table_has_rows_for_nothing(tables: dict[str, pd.DataFrame]) -> None:
    for name, table in tables.items():
        column = "variant" if "variant" in table else "detector"
        assert "Nothing" in set(table[column]), name


def test_intervals_contain_their_values(tables: dict[str, pd.DataFrame]) -> None:
    for table in tables.values():
        if "mean" in table:
            known = table.dropna(subset=["mean"])
            assert len(known)
            assert (known["low"] <= known["mean"] + 1e-12).all()
            assert (known["mean"] <= known["high"] + 1e-12).all()


def test_wider_margin_never_lowers_f1(tables: dict[str, pd.DataFrame]) -> None:
    margins = tables["margins"]
    for _, rows in margins.groupby("detector"):
        assert (np.diff(rows["mean"]) >= -1e-12).all()


def test_injection_tables_are_reproducible(tables: dict[str, pd.DataFrame]) -> None:
    again = injection_tables(HISTORIES, {"Pelt": Pelt(), "Nothing": Nothing()}, SMALL)
    for name, table in tables.items():
        pd.testing.assert_frame_equal(table, again[name])


def test_formatted_tables_have_readable_cells_and_columns(tables: dict[str, pd.DataFrame]) -> None:
    scored = formatted(tables["scores"])
    assert list(scored.columns)[:3] == ["cases", "detector", "F1"]
    assert list(formatted(tables["margins"]).columns)[:3] == ["detector", "0", "1"]
    nothing = scored[(scored["detector"] == "Nothing") & (scored["cases"] == ALL)]
    assert nothing["F1"].tolist() == ["0.000 [0.000, 0.000]"]
    assert nothing["precision"].tolist() == ["-"]


def test_injection_tables_require_a_calm_segment() -> None:
    drift = [Case("drift", np.arange(90.0))]
    with pytest.raises(NotEnoughDataError, match="none of 1 histories has a calm segment of 60"):
        injection_tables(drift, {"Nothing": Nothing()}, SMALL)
