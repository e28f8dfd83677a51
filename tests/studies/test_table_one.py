"""Table 1: the three protocols and the figures of the paper."""

from typing import Any

import pytest

from barograph.learning.metrics import METRICS, Interval
from barograph.learning.protocols import PROTOCOLS
from barograph.pipeline import evaluate


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """Return rows of two classifiers on two feature sets; the last protocol has no repetitions."""
    result = Interval(0.75, 0.5, 1.0)
    return [
        {"policy": "adaptive", "protocol": protocol, "feature_set": feature_set}
        | {"classifier": name, "repetitions": 0 if protocol == "forward" else 3}
        | dict.fromkeys(METRICS, result)
        for feature_set in ("bauer8", "contrast")
        for name in ("svm", "logistic")
        for protocol in PROTOCOLS
    ]


def test_compact_has_all_protocols_and_the_paper(rows: list[dict[str, Any]]) -> None:
    table = evaluate.compact(rows)
    heads = ["AUC random", "grouped", "forward", "acc. random", "grouped", "forward", "paper AUC"]
    assert list(table.columns) == [*evaluate.HEADS, *heads]
    assert table["AUC random"].tolist() == ["75.00"] * 4
    assert table["forward"].to_numpy().tolist() == [["-", "-"]] * 4
    assert table["paper AUC"].tolist() == ["94.54", "-", "-", "-"]


def test_in_full_has_an_interval_for_every_metric(rows: list[dict[str, Any]]) -> None:
    table = evaluate.in_full(rows)
    assert list(table.columns) == [*evaluate.KEYS, *METRICS]
    assert table["mcc"].tolist()[0] == "**75.00** [50.00; 100.00]"
    papers = table[table["protocol"] == "the paper's"]
    assert papers[["auc", "mcc"]].to_numpy().tolist() == [["94.54", "-"]]


def test_best_values_are_bold_for_each_protocol(rows: list[dict[str, Any]]) -> None:
    better, worse = Interval(0.9, 0.8, 1.0), Interval(0.1, 0.0, 0.2)
    rows[3] |= {"auc": better, "brier": better, "mcc": worse}  # random, bauer8, logistic
    assert (rows[3]["protocol"], rows[3]["classifier"]) == ("random", "logistic")
    table = evaluate.in_full(rows)
    chosen = table[table["protocol"] == "random"]
    means = chosen[["auc", "brier", "mcc"]].map(lambda cell: cell.partition(" ")[0])
    _, logistic, svm, _ = means.to_numpy().tolist()
    assert logistic == ["**90.00**", "90.00", "10.00"]
    assert svm == ["75.00", "**75.00**", "**75.00**"]
    grouped = table[table["protocol"] == "grouped"]["auc"]
    assert grouped.str.startswith("**75.00**").all()
    assert not evaluate.compact(rows).astype(str).map(lambda cell: "**" in cell).any(axis=None)


def test_nested_omits_rows_without_repetitions(rows: list[dict[str, Any]]) -> None:
    assert evaluate.flat(rows + rows[:1])["auc_low"].tolist() == [0.5] * 12
    tree = evaluate.nested(rows)
    assert tree["adaptive"]["random"]["bauer8"]["svm"]["brier"] == 0.75
    assert "forward" not in tree["adaptive"]
