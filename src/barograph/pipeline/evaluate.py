"""Stage `evaluate`: Table 1 of Bauer et al. 2022, under three protocols side by side.

It may take hours in the profile `paper`; stopped at any moment and started again it goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from barograph.errors import ConfigError
from barograph.evaluation.experiment import judged
from barograph.evaluation.metrics import summary
from barograph.evaluation.protocols import (
    PROTOCOLS,
    Split,
    forward_splits,
    grouped_splits,
    random_splits,
)
from barograph.features import FEATURE_SETS
from barograph.models.catalogue import CLASSIFIERS
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.repeated import Repetition, repeated
from barograph.pipeline.stage import run
from barograph.studies import table_one
from barograph.training import tables

FOLDER = report.FOLDER / "evaluate"
FOOTNOTE_POLICY = "adaptive"  # the paper's bounds


@dataclass(frozen=True)
class EvaluateParams:
    """What the experiment varies and how often it is repeated."""

    policies: tuple[str, ...]
    feature_sets: dict[str, Any]  # the classifiers that are judged on each set
    repetitions: int
    trees: int
    goal: str
    seed: int
    footnote: dict[str, Any] = field(default_factory=dict)  # the same for Bauer's footnote 2

    def __post_init__(self) -> None:
        """Refuse what would stop the experiment hours later."""
        for chosen in (self.feature_sets, self.footnote):
            for feature_set, classifiers in chosen.items():
                if feature_set not in FEATURE_SETS:
                    known = sorted(FEATURE_SETS)
                    raise ConfigError(f"evaluate: no feature set {feature_set!r}; known: {known}")
                unknown = sorted(set(classifiers) - set(CLASSIFIERS))
                if unknown:
                    raise ConfigError(
                        f"evaluate: no classifier {unknown[0]!r}; known: {sorted(CLASSIFIERS)}"
                    )


@dataclass(frozen=True)
class Cell:
    """One row of the table: what is judged, and on which splits."""

    policy: str
    protocol: str
    feature_set: str
    classifier: str
    splits: list[Split]


def splits(rows: tables.Labelled, protocol: str, params: EvaluateParams) -> list[Split]:
    """Return the splits of a protocol that hold both classes where it matters."""
    drawn = {
        "random": lambda: random_splits(rows.truth.size, params.repetitions, params.seed),
        "grouped": lambda: grouped_splits(
            rows.series, rows.commits, params.repetitions, params.seed
        ),
        "forward": lambda: forward_splits(rows.decided, params.seed),
    }[protocol]()
    return [split for split in drawn if judged(split, rows.truth)]


def evaluate(
    params: EvaluateParams, policies: tuple[str, ...], chosen: dict[str, Any], label: str
) -> list[table_one.Row]:
    """Return one row for every policy, feature set, classifier and protocol."""
    cells, wanted = [], []
    for cell, rows in _cells(params, policies, chosen):
        cells.append(cell)
        wanted += [
            Repetition(cell.classifier, rows, split, params.seed + k, params.trees, params.goal)
            for k, split in enumerate(cell.splits)
        ]
    scores = iter(repeated(wanted, label))
    return [_row(cell, [next(scores) for _ in cell.splits]) for cell in cells]


def _cells(
    params: EvaluateParams, policies: tuple[str, ...], chosen: dict[str, Any]
) -> Iterator[tuple[Cell, tables.Labelled]]:
    for policy in policies:
        frame = tables.read(policy)
        for feature_set, classifiers in chosen.items():
            rows = tables.labelled(frame, feature_set)
            parts = {protocol: splits(rows, protocol, params) for protocol in PROTOCOLS}
            for name in classifiers:
                for protocol in PROTOCOLS:
                    yield Cell(policy, protocol, feature_set, name, parts[protocol]), rows


def _row(cell: Cell, scores: list[dict[str, float]]) -> table_one.Row:
    return {
        "policy": cell.policy,
        "protocol": cell.protocol,
        "feature_set": cell.feature_set,
        "classifier": cell.classifier,
        "repetitions": len(scores),
        **summary(scores),
    }


def page(rows: list[table_one.Row], footnote: list[table_one.Row], params: EvaluateParams) -> str:
    """Render all tables, the one that fits on a screen first."""
    title = f"Classification of candidates (Bauer et al. 2022, Table 1), profile {profile_name()}"
    parts = [
        f"# {title}",
        f"In per cent, means of {params.repetitions} repetitions (forward: of its cuts), "
        f"{params.trees} trees, thresholds chosen on validation for {params.goal}. The paper's "
        "figures are for MongoDB's data under the random protocol, which leaks: points of one "
        "series or commit are near copies. Read the other two for what to expect.",
        report.markdown(table_one.compact(rows)),
        "## Every metric, with 95 % confidence intervals",
        report.markdown(table_one.in_full(rows)),
    ]
    if footnote:
        parts += [
            "## Differences and relative changes instead of both sides (footnote 2)",
            report.markdown(table_one.compact(footnote)),
        ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run the stage."""
    params = parameters(EvaluateParams, "evaluate")
    rows = evaluate(params, params.policies, params.feature_sets, "evaluate")
    footnote = evaluate(params, (FOOTNOTE_POLICY,), params.footnote, "evaluate, footnote")
    report.write_csv(FOLDER / "table.csv", table_one.flat([*rows, *footnote]))
    report.write_json(report.FOLDER / "evaluate.json", table_one.nested([*rows, *footnote]))
    report.write_text(FOLDER / "table.md", page(rows, footnote, params))


if __name__ == "__main__":
    run(main)
