"""Stage `statistics`: how confirmed and false change points differ (Leznik et al. 2022, 3).

Every function takes the table of `triaged` rows and returns one table. The tests reproduce the
paper's printed p-values: Wilcoxon's rank-sum test in its asymptotic form without continuity
correction (Tables 2 and 3), and the chi-square test with Yates' correction (Table 4). Effect sizes
with intervals and q-values over the projects are additions. All of them assume independent rows.
Points of one series are not independent, so the intervals are too narrow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from barograph.features import leznik
from barograph.learning import tables as feature_tables
from barograph.learning.limits import Bounds, Seed
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import page_without_verdicts, parameters, profile_name, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.results.series import FINAL, Floats, Verdict
from barograph.runtime.errors import ConfigError, NotEnoughDataError

SAMPLE = 5000  # the largest sample that the Shapiro-Wilk test is defined for
LEVEL = 0.05
COUNTS = ("true_positives", "false_positives")
FOLDER = report.FOLDER / "statistics"
TITLES = {
    "normality": "Normality of the features (Shapiro-Wilk)",
    "table2_medians": "Table 2: medians, quartiles and variances of the features (rank-sum test)",
    "table3_projects": "Table 3: median distance by project (rank-sum test)",
    "table4_median_split": "Table 4: rows above and below the median (chi-square with Yates)",
}
NOTE = (
    "A delta is the absolute difference between a feature of Pre and of After, which is the "
    "candidate and the next point. w: the statistic of Shapiro-Wilk. q_value: the p-value adjusted "
    "over the projects (Benjamini and Hochberg). effect: the rank-biserial correlation with its "
    "95 % interval, which assumes independent rows; points of one series are not independent."
)


def candidate_rows(
    history: History, bounds: pd.DataFrame, policy: str, feature_sets: Sequence[str] = ("hybrid",)
) -> pd.DataFrame:
    """Return the features of the decided candidates under a policy, with project and verdict.

    Args:
        history: The values.
        bounds: The bounds of all policies.
        policy: The name of one of them.
        feature_sets: The sets to compute.

    Returns:
        One row for each candidate.

    Raises:
        ConfigError: The policy has no bounds.
    """
    bounds = bounds_of(bounds, policy)
    keys = feature_tables.keys_of(history)
    final = keys["verdict"].isin(FINAL)
    bounds = bounds[final.to_numpy()[bounds["candidate"].to_numpy()]]
    rows = feature_tables.build(history, bounds, feature_sets, keys)
    projects = np.array([identity.project for identity in history.ids], dtype=object)
    return rows.assign(project=projects[rows["series"].to_numpy()])


def bounds_of(bounds: pd.DataFrame, policy: str) -> pd.DataFrame:
    """Return the bounds of one policy; a `ConfigError` if there are none."""
    chosen = bounds[bounds["policy"] == policy]
    if chosen.empty:
        raise ConfigError(f"no bounds of the policy {policy!r}")
    return chosen


def triaged(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the features of the decided rows, with the columns `project` and `real` first.

    Raises:
        NotEnoughDataError: The decided rows are all of one kind.
    """
    decided = rows[rows["verdict"].isin(FINAL)].reset_index(drop=True)
    real = (decided["verdict"] == Verdict.TRUE_POSITIVE.value).rename("real")
    for verdict, mask in (("true_positive", real), ("false_positive", ~real)):
        if not mask.any():
            raise NotEnoughDataError(f"no row is a {verdict}; both kinds are needed to compare")
    return pd.concat([decided["project"], real, decided[features_of(rows)]], axis=1)


def features_of(rows: pd.DataFrame) -> list[str]:
    """Return the names of the feature columns."""
    return [name for name in rows.columns if name in (*leznik.NAMES, "distance")]


def all_tables(table: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """Return every table by the name of its file."""
    return {
        "normality": normality(table, seed),
        "table2_medians": medians(table),
        "table3_projects": by_project(table),
        "table4_median_split": median_split(table),
    }


def normality(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Test each feature for normality on a random sample of at most 5,000 rows."""
    rows = []
    for name in features_of(table):
        values = table[name].to_numpy()
        size = min(SAMPLE, values.size)
        sample = np.random.default_rng(seed).choice(values, size, replace=False)
        varies = size > 2 and np.ptp(sample) > 0.0  # the test is not defined otherwise
        w, p = stats.shapiro(sample) if varies else (np.nan, np.nan)
        rows.append({"feature": name, "sample": size, "w": float(w), "p_value": float(p)})
    return pd.DataFrame(rows)


def medians(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each feature between true and false positives: Table 2, and the variances."""
    rows = []
    for name in features_of(table):
        real, false = kinds(table, name)
        row: dict[str, object] = {"feature": name}
        for kind, values in (("true", real), ("false", false)):
            low, middle, high = np.percentile(values, [25, 50, 75])
            row |= {f"{kind}_median": middle, f"{kind}_q1": low, f"{kind}_q3": high}
            row[f"{kind}_variance"] = float(np.var(values, ddof=1)) if values.size > 1 else np.nan
        rows.append(row | {"p_value": rank_sum(real, false)} | effect(real, false))
    return pd.DataFrame(rows)


def by_project(table: pd.DataFrame) -> pd.DataFrame:
    """Compare the distance between true and false positives in each project: Table 3.

    `q_value` is the p-value adjusted for the number of projects by Benjamini and Hochberg.
    """
    rows = []
    for project, part in table.groupby("project", sort=True):
        real, false = kinds(part, "distance")
        row = {
            "project": project,
            "true_median": np.median(real) if real.size else np.nan,
            "false_median": np.median(false) if false.size else np.nan,
            "p_value": rank_sum(real, false),
            **dict(zip(COUNTS, (real.size, false.size), strict=True)),
        }
        rows.append(row | effect(real, false))
    result = pd.DataFrame(rows)
    result.insert(4, "q_value", adjusted(result["p_value"].to_numpy()))
    return result


def median_split(table: pd.DataFrame) -> pd.DataFrame:
    """Count true and false positives above and below the median of each feature: Table 4."""
    rows = []
    real = table["real"].to_numpy()
    for name in features_of(table):
        values = table[name].to_numpy()
        middle = np.median(values)
        above = values >= middle
        counts = [[int((side & kind).sum()) for kind in (real, ~real)] for side in (above, ~above)]
        p_value = yates(counts)
        rows += [
            (name, sign, middle, true, false, true + false, p_value)
            for sign, (true, false) in zip((">=", "<"), counts, strict=True)
        ]
    columns = ["feature", "side", "median", *COUNTS, "rows", "p_value"]
    return pd.DataFrame(rows, columns=columns)


def kinds(table: pd.DataFrame, feature: str) -> tuple[Floats, Floats]:
    """Return the values of a feature for the true and for the false positives."""
    values, real = table[feature].to_numpy(), table["real"].to_numpy()
    return values[real], values[~real]


def rank_sum(real: Floats, false: Floats) -> float:
    """Return Wilcoxon's p-value; NaN if a side is empty or all values are equal."""
    if not real.size or not false.size or np.ptp(np.concatenate((real, false))) == 0.0:
        return np.nan
    result = stats.mannwhitneyu(real, false, method="asymptotic", use_continuity=False)
    return float(result.pvalue)


def effect(real: Floats, false: Floats) -> dict[str, float]:
    """Return the rank-biserial correlation with its 95 % interval, both within [-1, 1].

    It is the probability that a true positive has the larger value, minus the probability that it
    has the smaller one. The interval is that of Brunner and Munzel. It is NaN if a side has one
    value or if the two sides do not overlap.
    """
    size = low = high = np.nan
    if real.size and false.size:
        greater = stats.mannwhitneyu(real, false, method="asymptotic").statistic
        size = 2.0 * float(greater) / (real.size * false.size) - 1.0
    if min(real.size, false.size) > 1 and abs(size) < 1.0 and np.ptp([*real, *false]) > 0.0:
        from statsmodels.stats.nonparametric import rank_compare_2indep

        result = rank_compare_2indep(real, false)
        ends = result.confint_lintransf(const=-1.0, slope=2.0, alpha=LEVEL)
        low, high = max(float(ends[0]), -1.0), min(float(ends[1]), 1.0)
    return {"effect": size, "effect_low": low, "effect_high": high}


def adjusted(p_values: Floats) -> Floats:
    """Return q-values; missing p-values stay NaN and are not counted."""
    from statsmodels.stats.multitest import multipletests

    known = ~np.isnan(p_values)
    result: Floats = np.full(p_values.size, np.nan)
    if known.any():
        result[known] = multipletests(p_values[known], method="fdr_bh")[1]
    return result


def yates(counts: list[list[int]]) -> float:
    """Return the chi-square p-value of a 2 x 2 table; NaN if a row or a column is empty."""
    table = np.array(counts)
    if not table.sum(axis=0).all() or not table.sum(axis=1).all():
        return np.nan
    return float(stats.chi2_contingency(table, correction=True).pvalue)


@dataclass(frozen=True)
class StatisticsParams:
    """What the tables are of.

    Attributes:
        policy: The policy of the bounds.
        seed: Seed of what is drawn: a sample for Shapiro-Wilk, or the bootstrap intervals.
    """

    policy: Bounds = "adaptive"
    seed: Seed = 1


@page_without_verdicts(FOLDER / "statistics.md")
def main() -> None:
    """Run the stage."""
    params = parameters(StatisticsParams, "statistics")
    bounds = pd.read_parquet(BOUNDS)
    rows = candidate_rows(History.read(INTERIM), bounds, params.policy)
    parts: list[str | pd.DataFrame] = []
    contents = {}
    for name, frame in all_tables(triaged(rows), params.seed).items():
        report.write_csv(FOLDER / f"{name}.csv", frame)
        missing_as_null = frame.astype(object).where(frame.notna(), None)
        contents[name] = missing_as_null.to_dict(orient="records")
        parts += [f"## {TITLES[name]}", report.formatted(frame, ".3g")]
    report.write_json(FOLDER / "statistics.json", contents)
    origin = f"Profile `{profile_name()}`, bounds `{params.policy}`. {NOTE}"
    report.write_page(FOLDER / "statistics.md", "Statistics of the triaged points", origin, *parts)


if __name__ == "__main__":
    run(main)
