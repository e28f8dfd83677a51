"""Table 1 of Bauer et al. 2022: our figures and the paper's, under three protocols."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from barograph.learning import tables
from barograph.learning.limits import Bounds, Classifier, Count, FeatureSet, Goal, Seed
from barograph.learning.metrics import METRICS, Interval, summary
from barograph.learning.protocols import (
    PROTOCOLS,
    Split,
    forward_splits,
    grouped_splits,
    is_usable,
    random_splits,
)
from barograph.studies.repetitions import Repetition, repeat

KEYS = ("policy", "protocol", "feature_set", "classifier", "repetitions")
# Bauer et al. 2022, Table 1: MongoDB's verdicts, random splits, adaptive bounds, in per cent.
PAPER = {
    "random_forest": {"auc": 98.50, "accuracy": 94.34, "sensitivity": 94.40, "specificity": 94.29},
    "svm": {"auc": 94.54, "accuracy": 89.03, "sensitivity": 87.36, "specificity": 90.44},
    "xgboost": {"auc": 94.60, "accuracy": 88.38, "sensitivity": 86.77, "specificity": 89.74},
}
PAPER_ROWS = ("adaptive", "bauer8")  # the bounds and features of the paper's figures
HEADS = ("bounds", "features", "classifier")
COMPACT = ("auc", "accuracy")

Row = Mapping[str, Any]  # KEYS, and an Interval for every metric


@dataclass(frozen=True)
class EvaluateParams:
    """Parameters of the stage `evaluate`.

    Attributes:
        policies: The bounds of Pre and After.
        feature_sets: The classifiers of each feature set.
        repetitions: The number of splits of the random and the grouped protocol.
        trees: The number of trees of every forest.
        goal: The goal for which thresholds are chosen.
        seed: Seed of splits and classifiers.
        footnote: The same as `feature_sets`, for footnote 2 of the paper.
    """

    policies: tuple[Bounds, ...]
    feature_sets: dict[FeatureSet, tuple[Classifier, ...]]
    repetitions: Count
    trees: Count
    goal: Goal
    seed: Seed
    footnote: dict[FeatureSet, tuple[Classifier, ...]] = field(default_factory=dict)


def evaluate(
    params: EvaluateParams, policies: Sequence[str], feature_sets: Mapping[str, Any], label: str
) -> list[Row]:
    """Return one row for every policy, feature set, classifier and protocol.

    Args:
        params: The parameters of the stage.
        policies: The bounds of Pre and After.
        feature_sets: The classifiers of each feature set.
        label: The label of the progress bar.
    """
    cells: list[tuple[dict[str, str], int]] = []
    repetitions: list[Repetition] = []
    for labels, splits, rows in _cells(params, policies, feature_sets):
        cells.append((labels, len(splits)))
        repetitions += [
            Repetition(
                labels["classifier"], rows, split, params.seed + k, params.trees, params.goal
            )
            for k, split in enumerate(splits)
        ]
    scores = iter(repeat(repetitions, label))
    return [
        {**labels, "repetitions": count, **summary([next(scores) for _ in range(count)])}
        for labels, count in cells
    ]


def splits_of(rows: tables.Labelled, protocol: str, params: EvaluateParams) -> list[Split]:
    """Return the usable splits of a protocol."""
    if protocol == "random":
        drawn = random_splits(rows.truth.size, params.repetitions, params.seed)
    elif protocol == "grouped":
        drawn = grouped_splits(rows.series, rows.commits, params.repetitions, params.seed)
    else:
        drawn = forward_splits(rows.decided, params.seed)
    return [split for split in drawn if is_usable(split, rows.truth)]


def _cells(
    params: EvaluateParams, policies: Sequence[str], feature_sets: Mapping[str, Any]
) -> Iterator[tuple[dict[str, str], list[Split], tables.Labelled]]:
    """Yield the first four of KEYS of each row of the table, with its splits and feature rows."""
    for policy in policies:
        frame = tables.read(policy)
        for feature_set, classifiers in feature_sets.items():
            rows = tables.labelled(frame, feature_set)
            splits = {protocol: splits_of(rows, protocol, params) for protocol in PROTOCOLS}
            for name in classifiers:
                for protocol in PROTOCOLS:
                    labels = (policy, protocol, feature_set, name)
                    yield dict(zip(KEYS, labels, strict=False)), splits[protocol], rows


def flat(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the rows as a flat table: each metric with the ends of its interval."""
    frame = pd.DataFrame([{key: row[key] for key in KEYS} | _ends(row) for row in rows])
    return frame.drop_duplicates(list(KEYS))


def nested(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the means as a tree: policy, protocol, feature set, classifier, metric."""
    tree: dict[str, Any] = {}
    for row in rows:
        if row["repetitions"]:
            branch = tree
            for key in KEYS[:4]:
                branch = branch.setdefault(str(row[key]), {})
            branch.update({metric: row[metric].mean for metric in METRICS})
    return tree


def compact(rows: Sequence[Row]) -> pd.DataFrame:
    """Return AUC and accuracy of the three protocols and the AUC of the paper, for a terminal."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        labels = tuple(str(row[key]) for key in ("policy", "feature_set", "classifier"))
        line = cells.setdefault(labels, dict(zip(HEADS, labels, strict=True)))
        for metric in COMPACT:
            line[f"{metric} {row['protocol']}"] = _percent(row[metric], row["repetitions"])
    for (policy, feature_set, name), line in cells.items():
        if (policy, feature_set) == PAPER_ROWS and name in PAPER:
            line["paper"] = f"{PAPER[name]['auc']:.2f}"
    order = [f"{metric} {protocol}" for metric in COMPACT for protocol in PROTOCOLS]
    names = [*HEADS, *order, "paper"]
    table = [[line.get(name, "-") for name in names] for line in cells.values()]
    first, *others = PROTOCOLS
    heads = [f"AUC {first}", *others, f"acc. {first}", *others, "paper AUC"]
    return pd.DataFrame(table, columns=pd.Index([*HEADS, *heads]))


def in_full(rows: Sequence[Row]) -> pd.DataFrame:
    """Return every metric with its interval in per cent, and the rows of the paper."""
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


def _percent(interval: Interval, repetitions: int) -> str:
    return f"{100 * interval.mean:.2f}" if repetitions else "-"


def _with_ends(interval: Interval, repetitions: int) -> str:
    mean, low, high = (100 * value for value in interval)
    return f"{mean:.2f} [{low:.2f}; {high:.2f}]" if repetitions else "-"
