"""Stage `evaluate`: Table 1 of Bauer et al. 2022, under three protocols side by side.

With the profile `paper` it takes hours.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from barograph.learning import protocols, tables
from barograph.learning.limits import Bounds, Classifier, Count, FeatureSet, Goal, Seed
from barograph.learning.metrics import METRICS, Interval, scores, summary
from barograph.models.calibration import choose_threshold
from barograph.models.catalogue import classifier, own_threshold, real_probability
from barograph.pipeline import report
from barograph.pipeline.params import page_without_verdicts, parameters, profile_name, run
from barograph.results.series import Floats, Ints
from barograph.runtime.parallel import map_parallel

KEYS = ("policy", "protocol", "feature_set", "classifier", "repetitions")
# Bauer et al. 2022, Table 1: MongoDB's verdicts, random splits, adaptive bounds, in per cent.
PAPER = {
    "random_forest": {"auc": 98.50, "accuracy": 94.34, "sensitivity": 94.40, "specificity": 94.29},
    "svm": {"auc": 94.54, "accuracy": 89.03, "sensitivity": 87.36, "specificity": 90.44},
    "xgboost": {"auc": 94.60, "accuracy": 88.38, "sensitivity": 86.77, "specificity": 89.74},
}
HEADS = ("bounds", "features", "classifier")
COMPACT = ("auc", "accuracy")
ERRORS = ("brier", "calibration_error")  # the smallest is the best

Row = Mapping[str, Any]  # KEYS, and an Interval for every metric
Cell = tuple[str, str, str]  # policy, protocol, metric
Call = tuple[str, Floats, Ints, protocols.Split, int, int, str]  # the arguments of `repetition`
FOLDER = report.FOLDER / "evaluate"
BOLD = "The best values are bold, for each kind of bounds and each protocol."
FOOTNOTE_POLICY = "adaptive"  # the paper's bounds


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
        further: The same, for sets that are judged where a table has them.
    """

    policies: tuple[Bounds, ...]
    feature_sets: dict[FeatureSet, tuple[Classifier, ...]]
    repetitions: Count
    trees: Count
    goal: Goal
    seed: Seed
    footnote: dict[FeatureSet, tuple[Classifier, ...]] = field(default_factory=dict)
    further: dict[FeatureSet, tuple[Classifier, ...]] = field(default_factory=dict)


def evaluate(
    params: EvaluateParams,
    policies: Sequence[str],
    feature_sets: Mapping[str, Any],
    label: str,
    read: tables.FrameReader = tables.read,
) -> list[Row]:
    """Return one row for every policy, feature set, classifier and protocol.

    Args:
        params: The parameters of the stage.
        policies: The bounds of Pre and After.
        feature_sets: The classifiers of each feature set.
        label: The label of the progress bar.
        read: Returns the feature table of a policy.
    """
    cells: list[tuple[object, ...]] = []
    groups: list[list[Call]] = []
    for policy in policies:
        frame = read(policy)
        held = frame.attrs["feature_sets"]
        further = {name: names for name, names in params.further.items() if name in held}
        for feature_set, classifiers in {**feature_sets, **further}.items():
            rows = tables.labelled(frame, feature_set)
            splits = {
                protocol: splits_of(rows, protocol, params) for protocol in protocols.PROTOCOLS
            }
            for name, protocol in product(classifiers, protocols.PROTOCOLS):
                cells.append((policy, protocol, feature_set, name, len(splits[protocol])))
                seeded = enumerate(splits[protocol], params.seed)
                groups.append(calls_of(name, rows, seeded, params.trees, params.goal))
    found = summaries(groups, label)
    return [
        dict(zip(KEYS, cell, strict=True)) | row for cell, row in zip(cells, found, strict=True)
    ]


def splits_of(
    rows: tables.Labelled, protocol: str, params: EvaluateParams
) -> list[protocols.Split]:
    """Return the usable splits of a protocol."""
    if protocol == "random":
        drawn = protocols.random_splits(rows.truth.size, params.repetitions, params.seed)
    elif protocol == "grouped":
        drawn = protocols.grouped_splits(rows.series, rows.commits, params.repetitions, params.seed)
    else:
        drawn = protocols.forward_splits(rows.decided, params.seed)
    return [split for split in drawn if protocols.is_usable(split, rows.truth)]


def calls_of(
    name: str,
    rows: tables.Labelled,
    splits: Iterable[tuple[int, protocols.Split]],
    trees: int,
    goal: str,
) -> list[Call]:
    """Return the arguments of `repetition` for a classifier on splits, each with its seed."""
    return [(name, rows.matrix, rows.truth, split, seed, trees, goal) for seed, split in splits]


def summaries(groups: Sequence[Sequence[Call]], label: str) -> list[dict[str, Interval]]:
    """Run the repetitions of all groups; return the intervals of the metrics of each group."""
    results = iter(map_parallel(repetition, [call for group in groups for call in group], label))
    return [summary(list(islice(results, len(group)))) for group in groups]


def repetition(
    name: str, matrix: Floats, truth: Ints, split: protocols.Split, seed: int, trees: int, goal: str
) -> dict[str, float]:
    """Return the scores of one classifier on one split.

    The threshold comes from validation, unless the classifier has a rule of its own.
    """
    # One thread: workers share the cores, and the number of threads must not change the rounding.
    with threadpool_limits(1):
        model = classifier(name, seed=seed, trees=trees)
        model.fit(matrix[split.train], truth[split.train])
        validation = real_probability(model, matrix[split.validation])
        threshold = own_threshold(name) or choose_threshold(
            truth[split.validation], validation, goal
        )
        probability = real_probability(model, matrix[split.test])
        return scores(truth[split.test], probability, threshold)


def flat(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the rows as a flat table: each metric with the ends of its interval."""
    ends = ("", "_low", "_high")
    table = [
        {key: row[key] for key in KEYS}
        | {f"{m}{end}": v for m in METRICS for end, v in zip(ends, row[m], strict=True)}
        for row in rows
    ]
    return pd.DataFrame(table).drop_duplicates(list(KEYS))


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
    lines: dict[tuple[str, ...], dict[Any, str]] = {}
    for row in rows:
        labels = tuple(str(row[key]) for key in ("policy", "feature_set", "classifier"))
        line = lines.setdefault(labels, {})
        for metric in COMPACT:
            line[metric, row["protocol"]] = _percent(row, metric, {}).partition(" ")[0]
        if paper := _paper(row):
            line["paper"] = f"{paper['auc']:.2f}"
    columns = [
        *((metric, protocol) for metric in COMPACT for protocol in protocols.PROTOCOLS),
        "paper",
    ]
    table = [[*labels, *(line.get(c, "-") for c in columns)] for labels, line in lines.items()]
    first, *others = protocols.PROTOCOLS
    heads = [f"AUC {first}", *others, f"acc. {first}", *others, "paper AUC"]
    return pd.DataFrame(table, columns=pd.Index([*HEADS, *heads]))


def in_full(rows: Sequence[Row]) -> pd.DataFrame:
    """Return every metric with its interval in per cent, and the rows of the paper.

    The best value of each metric is bold, once for each kind of bounds and protocol.
    """
    best = best_values(rows)
    table = []
    for row in rows:
        keys = {key: row[key] for key in KEYS}
        table.append(keys | {metric: _percent(row, metric, best) for metric in METRICS})
        if paper := _paper(row):
            shown = {m: f"{paper[m]:.2f}" if m in paper else "-" for m in METRICS}
            table.append(keys | {"protocol": "the paper's", "repetitions": 100} | shown)
    return pd.DataFrame(table)


def best_values(rows: Sequence[Row]) -> dict[Cell, str]:
    """Return the best value of every metric, as it is printed, by bounds, protocol and metric."""
    values: dict[Cell, list[float]] = {}
    for row, metric in product(rows, METRICS):
        if row["repetitions"]:
            values.setdefault(_cell(row, metric), []).append(row[metric].mean)
    best = {cell: (min if cell[2] in ERRORS else max)(means) for cell, means in values.items()}
    return {cell: f"{100 * value:.2f}" for cell, value in best.items()}


def _cell(row: Row, metric: str) -> Cell:
    return row["policy"], row["protocol"], metric


def _percent(row: Row, metric: str, best: Mapping[Cell, str]) -> str:
    if not row["repetitions"]:
        return "-"
    mean, low, high = (f"{100 * value:.2f}" for value in row[metric])
    shown = f"**{mean}**" if mean == best.get(_cell(row, metric)) else mean
    return f"{shown} [{low}; {high}]"


def _paper(row: Row) -> dict[str, float]:
    """Return the paper's figures for a row, if it has some."""
    is_printed = [row[key] for key in KEYS[:3]] == ["adaptive", "random", "bauer8"]
    return PAPER.get(row["classifier"], {}) if is_printed else {}


def write_tables(
    folder: Path, title: str, text: str, rows: list[Row], footnote: Sequence[Row] = ()
) -> None:
    """Write the rows of a stage, and its page; of the tables there, the first fits on a screen.

    Args:
        folder: The folder of the stage, which has its name.
        title: What the page is about.
        text: What its figures mean.
        rows: The rows.
        footnote: Those of a table of their own, at the end.
    """
    report.write_csv(folder / "table.csv", flat([*rows, *footnote]))
    report.write_json(folder.with_suffix(".json"), nested([*rows, *footnote]))
    head = "## Differences and relative changes instead of both sides (footnote 2)"
    last: list[Any] = [head, compact(footnote)] if footnote else []
    report.write_page(
        folder / "table.md",
        f"{title}, profile {profile_name()}",
        text,
        compact(rows),
        "## Every metric, with 95 % confidence intervals",
        BOLD,
        in_full(rows),
        *last,
    )


@page_without_verdicts(FOLDER / "table.md", "evaluate")
def main() -> None:
    """Run the stage."""
    params = parameters(EvaluateParams, "evaluate")
    rows = evaluate(params, params.policies, params.feature_sets, "evaluate")
    footnote = evaluate(params, (FOOTNOTE_POLICY,), params.footnote, "evaluate, footnote")
    write_tables(
        FOLDER,
        "Classification of candidates (Bauer et al. 2022, Table 1)",
        f"In per cent: means of {params.repetitions} repetitions (forward: of its cuts), "
        f"{params.trees} trees, thresholds chosen on validation for {params.goal}. The paper's "
        "figures are for MongoDB's data under the random protocol, which leaks: points of one "
        "series or commit are near copies. Read the other two for what to expect. `grouped` holds "
        "out series and commits, `forward` tests on later verdicts than it learns from. The bounds "
        "of `adaptive` are confirmed change points, as in the paper, those of `label_free` the "
        "neighbouring candidates.",
        rows,
        footnote,
    )


if __name__ == "__main__":
    run(main)
