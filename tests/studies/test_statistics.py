"""The statistics of Leznik et al. 2022, compared with their printed tables."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.runtime.errors import NotEnoughDataError
from barograph.studies import statistics
from tests.shared import SHARED, needs_shared

# feature, medians and quartiles of true and of false positives, p: Leznik et al. 2022, Table 2.
TABLE_2 = """\
delta_mean | 0.83 [0.69;0.91] | 0.37 [0.19;0.60] | 2.20E-16
delta_sd | 0.05 [0.02;0.10] | 0.14 [0.07;0.20] | 2.20E-16
delta_hurst | 0.19 [0.00;0.40] | 0.38 [0.04;0.46] | 8.69E-132
delta_alpha | 0.34 [0.11;0.50] | 0.21 [0.09;0.46] | 6.86E-79
delta_beta | 1.00 [0.96;1.00] | 1.00 [1.00;1.00] | 5.61E-01
distance | 2.53 [2.20;2.86] | 2.42 [2.15;2.68] | 2.17E-56
"""
# Table 3: median distance of both kinds, p, and the number of each.
TABLE_3 = [
    ("2.83", "2.41", "9.34E-294", 1362, 2513),
    ("-", "1.91", "-", 0, 13),
    ("2.30", "2.65", "2.42E-04", 12, 914),
    ("2.79", "2.48", "7.04E-45", 674, 598),
    ("2.47", "2.36", "2.51E-15", 3204, 2944),
    ("1.77", "1.04", "4.71E-05", 20, 36),
    ("2.44", "2.42", "7.17E-01", 69, 216),
    ("2.67", "2.35", "9.90E-23", 291, 905),
    ("1.79", "1.44", "4.98E-04", 1358, 202),
]
# Table 4, with the counts of both sides.
TABLE_4 = """\
| delta_mean >= 0.62 | 5708/7666 | 1958/7666 | 2.20E-16 |
| delta_mean < 0.62 | 1282/7665 | 6383/7665 | 2.20E-16 |
| delta_sd >= 0.09 | 2016/7666 | 5650/7666 | 2.20E-16 |
| delta_sd < 0.09 | 4974/7665 | 2691/7665 | 2.20E-16 |
| delta_hurst >= 0.31 | 2729/7666 | 4937/7666 | 3.88E-136 |
| delta_hurst < 0.31 | 4261/7665 | 3404/7665 | 3.88E-136 |
| delta_alpha >= 0.26 | 3963/7666 | 3703/7666 | 7.09E-52 |
| delta_alpha < 0.26 | 3027/7665 | 4638/7665 | 7.09E-52 |
| delta_beta >= 1.00 | 3572/7666 | 4094/7666 | 1.34E-02 |
| delta_beta < 1.00 | 3418/7665 | 4247/7665 | 1.34E-02 |
| distance >= 2.48 | 4012/7666 | 3654/7666 | 6.32E-63 |
| distance < 2.48 | 2978/7665 | 4687/7665 | 6.32E-63 |
"""


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    rows = pd.read_csv(SHARED / "data" / "mongodb" / "triaged_points.csv")
    project = rows["file"].str.split("/").str[0]
    return statistics.triaged(rows.rename(columns={"label": "verdict"}).assign(project=project))


@pytest.fixture
def small() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"delta_mean": rng.random(60), "distance": rng.random(60)})
    rows["project"] = ["a", "b", "c"] * 20
    rows["verdict"] = ["true_positive"] * 25 + ["false_positive"] * 30 + ["not_triaged"] * 5
    rows.loc[:24, "delta_mean"] += 0.5
    return rows


def scientific(p_value: float) -> str:
    """Return a p-value as the paper prints it: R has a lower limit."""
    return "-" if np.isnan(p_value) else f"{p_value:.2E}" if p_value > 0.0 else "2.20E-16"


def quartiles(row: pd.Series, kind: str) -> str:
    middle, low, high = (row[f"{kind}_{part}"] for part in ("median", "q1", "q3"))
    return f"{middle:.2f} [{low:.2f};{high:.2f}]"


@needs_shared
def test_tables_of_the_published_rows_are_the_printed_ones(published: pd.DataFrame) -> None:
    medians = statistics.medians(published)
    assert [
        f"{row['feature']} | {quartiles(row, 'true')} | {quartiles(row, 'false')} | "
        f"{scientific(row['p_value'])}"
        for _, row in medians.iterrows()
    ] == TABLE_2.splitlines()
    assert [
        f"| {row['feature']} {row['side']} {row['median']:.2f} | {row['true_positives']}/"
        f"{row['rows']} | {row['false_positives']}/{row['rows']} | {scientific(row['p_value'])} |"
        for _, row in statistics.median_split(published).iterrows()
    ] == TABLE_4.splitlines()


def test_medians_come_with_variances(small: pd.DataFrame) -> None:
    table = statistics.medians(statistics.triaged(small)).set_index("feature")
    for kind, label in (("true", "true_positive"), ("false", "false_positive")):
        values = small["delta_mean"][small["verdict"] == label]
        assert table[f"{kind}_variance"]["delta_mean"] == pytest.approx(values.var(ddof=1))


@needs_shared
def test_by_project_reproduces_the_printed_table(published: pd.DataFrame) -> None:
    rows = statistics.by_project(published).itertuples()
    for row, (true, false, p_value, positives, negatives) in zip(rows, TABLE_3, strict=True):
        assert f"{row.true_median:.2f}".replace("nan", "-") == true
        assert f"{row.false_median:.2f}" == false
        assert scientific(float(str(row.p_value))) == p_value
        assert (row.true_positives, row.false_positives) == (positives, negatives)


@needs_shared
def test_no_feature_is_normally_distributed(published: pd.DataFrame) -> None:
    table = statistics.normality(published, seed=0)
    assert (table["sample"] == 5000).all()
    assert (table["p_value"] < 1e-40).all()
    assert not table.equals(statistics.normality(published, seed=1))
    assert table.equals(statistics.normality(published, seed=0))


def test_triaged_keeps_only_decided_rows(small: pd.DataFrame) -> None:
    table = statistics.triaged(small)
    assert list(table.columns) == ["project", "real", "delta_mean", "distance"]
    assert len(table) == 55
    assert table["real"].sum() == 25


@pytest.mark.parametrize("kind", ["true_positive", "false_positive"])
def test_triaged_requires_both_kinds(small: pd.DataFrame, kind: str) -> None:
    with pytest.raises(NotEnoughDataError, match=f"no row is a {kind}"):
        statistics.triaged(small[small["verdict"] != kind])


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 9), min_size=1), st.lists(st.integers(0, 9), min_size=1))
def test_effect_is_the_share_of_pairs_won_minus_lost(real: list[int], false: list[int]) -> None:
    result = statistics.effect(np.array(real, dtype=float), np.array(false, dtype=float))
    signs = [np.sign(a - b) for a, b in itertools.product(real, false)]
    assert result["effect"] == pytest.approx(np.mean(signs), abs=1e-12)
    if not np.isnan(result["effect_low"]):
        assert -1.0 <= result["effect_low"] <= result["effect"] <= result["effect_high"] <= 1.0


def test_effect_interval_has_its_nominal_coverage() -> None:
    rng = np.random.default_rng(11)
    # Of N(1, 1) and N(0, 1): 2 Phi(1 / sqrt 2) - 1.
    truth, covered = 0.5204998778130465, 0
    for _ in range(200):
        result = statistics.effect(rng.normal(1.0, 1.0, 40), rng.normal(0.0, 1.0, 60))
        covered += result["effect_low"] <= truth <= result["effect_high"]
    assert 180 <= covered <= 199


def test_adjusted_matches_the_textbook_q_values() -> None:
    p_values = np.array([0.04, np.nan, 0.001, 0.03])
    expected = [
        0.04,
        np.nan,
        0.003,
        0.04,
    ]  # 0.03 * 3 / 2 = 0.045 is limited by the larger p-value's 0.04
    np.testing.assert_allclose(statistics.adjusted(p_values), expected, rtol=1e-12)
    assert np.isnan(statistics.adjusted(np.array([np.nan]))).all()


def test_undefined_tests_have_no_p_value() -> None:
    ones, many = np.ones(1), np.ones(5)
    assert np.isnan(statistics.rank_sum(ones, np.empty(0)))
    assert np.isnan(statistics.rank_sum(many, many))
    assert np.isnan(statistics.yates([[3, 4], [0, 0]]))
    assert np.isnan(statistics.yates([[0, 4], [0, 2]]))
    assert np.isnan(statistics.effect(np.empty(0), many)["effect"])
    assert statistics.effect(many, many)["effect"] == 0.0


def test_every_table_accepts_constant_features(small: pd.DataFrame) -> None:
    tables = statistics.all_tables(statistics.triaged(small.assign(delta_mean=1.0)), 0)
    assert np.isnan(tables["normality"]["p_value"][0])
    assert np.isnan(tables["table4_median_split"]["p_value"][0])
    assert tables["table4_median_split"]["rows"][1] == 0


def test_median_split_counts_every_row_once(small: pd.DataFrame) -> None:
    split = statistics.median_split(statistics.triaged(small))
    counts = split.groupby("feature")[["true_positives", "false_positives"]].sum()
    assert (counts["true_positives"] == 25).all()
    assert (counts["false_positives"] == 30).all()
