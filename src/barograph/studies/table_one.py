"""Table 1 of Bauer et al. 2022 as a page: our figures and the paper's, three protocols at once."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from barograph.evaluation.metrics import METRICS, Interval
from barograph.evaluation.protocols import PROTOCOLS

KEYS = ("policy", "protocol", "feature_set", "classifier", "repetitions")
# Bauer et al. 2022, Table 1: MongoDB's own verdicts, random splits, adaptive bounds, in per cent.
PAPER = {
    "random_forest": {"auc": 98.50, "accuracy": 94.34, "sensitivity": 94.40, "specificity": 94.29},
    "svm": {"auc": 94.54, "accuracy": 89.03, "sensitivity": 87.36, "specificity": 90.44},
    "xgboost": {"auc": 94.60, "accuracy": 88.38, "sensitivity": 86.77, "specificity": 89.74},
}
PAPER_ROWS = ("adaptive", "bauer8")  # the bounds and the features that the paper's figures are of
HEADS = ("bounds", "features", "classifier")
COMPACT = ("auc", "accuracy")

Row = Mapping[str, Any]  # KEYS, and an Interval for every metric


def flat(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the rows for programs: each metric with the ends of its interval beside it."""
    frame = pd.DataFrame([{key: row[key] for key in KEYS} | _ends(row) for row in rows])
    return frame.drop_duplicates(list(KEYS))


def nested(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the means as metrics: policy, protocol, feature set, classifier, metric."""
    tree: dict[str, Any] = {}
    for row in rows:
        if row["repetitions"]:
            place = tree
            for key in KEYS[:4]:
                place = place.setdefault(str(row[key]), {})
            place.update({metric: row[metric].mean for metric in METRICS})
    return tree


def side_by_side(rows: Sequence[Row]) -> pd.DataFrame:
    """Return AUC and accuracy of the three protocols beside the paper's, a row a classifier."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        who = tuple(str(row[key]) for key in ("policy", "feature_set", "classifier"))
        line = cells.setdefault(who, dict(zip(HEADS, who, strict=True)))
        for metric in COMPACT:
            line[f"{metric} {row['protocol']}"] = _percent(row[metric], row["repetitions"])
    order = [f"{metric} {protocol}" for metric in COMPACT for protocol in PROTOCOLS]
    for (policy, feature_set, name), line in cells.items():
        paper = PAPER.get(name, {}) if (policy, feature_set) == PAPER_ROWS else {}
        line |= {f"paper's {m}": f"{paper[m]:.2f}" if paper else "-" for m in COMPACT}
    columns = [*HEADS, *order, *(f"paper's {m}" for m in COMPACT)]
    return pd.DataFrame(list(cells.values())).reindex(columns=columns).fillna("-")


def compact(rows: Sequence[Row]) -> pd.DataFrame:
    """Return `side_by_side` for a terminal: short heads, and of the paper's figures the AUC."""
    frame = side_by_side(rows).drop(columns="paper's accuracy")
    first, *others = PROTOCOLS
    heads = [f"AUC {first}", *others, f"acc. {first}", *others, "paper AUC"]
    frame.columns = pd.Index([*HEADS, *heads])
    return frame


def in_full(rows: Sequence[Row]) -> pd.DataFrame:
    """Return every metric with its interval in per cent; a row of the paper's where it has one."""
    table = []
    for row in rows:
        table.append(
            {key: row[key] for key in KEYS}
            | {metric: _with_ends(row[metric], row["repetitions"]) for metric in METRICS}
        )
        paper = PAPER.get(row["classifier"], {})
        if paper and (row["policy"], row["feature_set"], row["protocol"]) == (
            *PAPER_ROWS,
            PROTOCOLS[0],
        ):
            table.append(
                {key: row[key] for key in KEYS}
                | {"protocol": "the paper's", "repetitions": 100}
                | {metric: f"{paper[metric]:.2f}" if metric in paper else "-" for metric in METRICS}
            )
    return pd.DataFrame(table)


def _ends(row: Row) -> dict[str, float]:
    ends = ("", "_low", "_high")
    return {f"{m}{end}": v for m in METRICS for end, v in zip(ends, row[m], strict=True)}


def _percent(found: Interval, repetitions: int) -> str:
    return f"{100 * found.mean:.2f}" if repetitions else "-"


def _with_ends(found: Interval, repetitions: int) -> str:
    mean, low, high = (100 * value for value in found)
    return f"{mean:.2f} [{low:.2f}; {high:.2f}]" if repetitions else "-"
