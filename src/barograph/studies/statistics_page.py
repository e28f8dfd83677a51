"""The tables of `statistics` for people, in the layout and notation of the paper."""

import math
from collections.abc import Iterator, Mapping

import pandas as pd

BELOW = "2.20E-16"  # R prints this for p-values below the precision of a double
TITLES = {
    "normality": "Normality of the features (Shapiro-Wilk)",
    "table2_medians": "Table 2: medians, quartiles and variances of the features (rank-sum test)",
    "table3_projects": "Table 3: median distance by project (rank-sum test)",
    "table4_median_split": "Table 4: rows above and below the median (chi-square with Yates)",
}
NOTE = (
    "A delta is the absolute difference between a feature of Pre and of After, which is the "
    "candidate and the next point. Brackets after a median: quartiles. TP and FP: true and false "
    f"positives. W: the statistic of Shapiro-Wilk. p = {BELOW} stands for 0 in double precision, "
    "as R prints it. q is p adjusted over the projects "
    "(Benjamini and Hochberg). Effect is the rank-biserial correlation with its 95 % interval, "
    "which assumes independent rows; points of one series are not independent."
)


def scientific(p_value: float) -> str:
    """Format a p-value as in the paper; a dash if it is missing."""
    if math.isnan(p_value):
        return "-"
    return f"{p_value:.2E}" if p_value > 0.0 else BELOW


def sections(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the title and the formatted cells of each table."""
    for name, title in TITLES.items():
        yield title, _CELLS[name](tables[name])


def _normality(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Feature": table["feature"],
            "Rows": table["sample"],
            "W": table["w"].map(_fixed),
            "p": table["p_value"].map(scientific),
        }
    )


def _medians(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Feature": table["feature"],
            "True positive": _quartiles(table, "true"),
            "False positive": _quartiles(table, "false"),
            "p": table["p_value"].map(scientific),
            "Effect": _effects(table),
            "Variance TP": table["true_variance"].map(_small),
            "Variance FP": table["false_variance"].map(_small),
        }
    )


def _projects(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Project": table["project"],
            "Median TP": table["true_median"].map(_fixed),
            "Median FP": table["false_median"].map(_fixed),
            "p": table["p_value"].map(scientific),
            "q": table["q_value"].map(scientific),
            "Effect": _effects(table),
            "TP": table["true_positives"],
            "FP": table["false_positives"],
        }
    )


def _median_split(table: pd.DataFrame) -> pd.DataFrame:
    condition = table["feature"] + " " + table["side"] + " " + table["median"].map(_fixed)
    rows = table["rows"].astype(str)
    return pd.DataFrame(
        {
            "Condition": condition,
            "True positive": table["true_positives"].astype(str) + "/" + rows,
            "False positive": table["false_positives"].astype(str) + "/" + rows,
            "p": table["p_value"].map(scientific),
        }
    )


def _quartiles(table: pd.DataFrame, kind: str) -> pd.Series:
    middle, low, high = (table[f"{kind}_{part}"].map(_fixed) for part in ("median", "q1", "q3"))
    return middle + " [" + low + ";" + high + "]"


def _effects(table: pd.DataFrame) -> pd.Series:
    size, low, high = (table[name].map(_fixed) for name in ("effect", "effect_low", "effect_high"))
    return size + (" [" + low + ";" + high + "]").where(table["effect_low"].notna(), "")


def _small(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _fixed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


_CELLS = {
    "normality": _normality,
    "table2_medians": _medians,
    "table3_projects": _projects,
    "table4_median_split": _median_split,
}
