import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from barograph.models.stacked import StackedTriage
from barograph.studies import hybrid
from tests.shared import SHARED, needs_shared

POINTS = SHARED / "data/mongodb/triaged_points.csv"
# Accuracy and rates of Tables 5 and 7. Table 5 has sensitivity and specificity the other way round;
# Table 7 has predictive values.
PUBLISHED = {
    "voting without distance": (0.6962, 0.6056, 0.7721),
    "voting with distance": (0.7797, 0.7476, 0.8065),
    "perfomalist": (0.7124, 0.6711, 0.7470),
    "hybrid": (0.8290, 0.7906, 0.8609),  # Table 8
}


def published_points() -> hybrid.TriagedPoints:
    frame = pd.read_csv(POINTS)
    names = frame["file"].astype(str)
    return hybrid.TriagedPoints(
        features=frame[list(hybrid.FEATURES)].to_numpy(dtype=np.float64),
        severity=frame["perfomalist"].to_numpy(dtype=np.float64),
        truth=np.asarray(frame["label"] == "true_positive", dtype=np.int64),
        series=pd.factorize(names)[0].astype(np.int64),
    )


def stacked() -> StackedTriage:
    return StackedTriage(random_state=0)


def forest(trees: int) -> StackedTriage:
    return StackedTriage(RandomForestClassifier(trees, random_state=0, n_jobs=1))


def simulated_points(rows: int = 600) -> hybrid.TriagedPoints:
    generator = np.random.default_rng(0)
    features = generator.random((rows, 6))
    severity = np.maximum(generator.normal(0.0, 9.0, rows), 0.0)
    truth = (
        features[:, 0] + 0.3 * (severity > 0.0) + 0.2 * generator.standard_normal(rows) > 0.7
    ).astype(np.int64)
    series = generator.integers(0, 90, rows)
    return hybrid.TriagedPoints(features, severity, truth, series)


def test_rates_follow_from_the_confusion_counts() -> None:
    truth = np.array([1, 1, 1, 1, 0, 0])
    result = hybrid.rates(truth, [1, 1, 1, 0, 0, 1], np.array([0.9, 0.8, 0.7, 0.2, 0.1, 0.6]))
    assert result == (4 / 6, 3 / 4, 1 / 2, 7 / 8)


def test_rates_of_an_empty_class_are_nan() -> None:
    result = hybrid.rates(np.array([1, 1]), [1, 0], np.array([0.9, 0.2]))
    assert result[:2] == (0.5, 0.5)
    assert np.isnan(result[2:]).all()


@pytest.mark.parametrize("protocol", hybrid.PROTOCOLS)
def test_splits_have_distinct_test_parts_of_a_tenth(protocol: str) -> None:
    rows = simulated_points()
    parts = list(hybrid.splits(rows, protocol))
    assert len(parts) == 10
    assert len({tuple(test) for _, test in parts}) == 10
    for train, test in parts:
        assert np.array_equal(np.sort(np.concatenate((train, test))), np.arange(600))
        assert 40 <= test.size <= 80
        if protocol == "series":
            assert not np.isin(rows.series[test], rows.series[train]).any()


def test_stacked_and_forest_models_learn_from_the_same_inputs() -> None:
    rows = simulated_points()
    assert rows.inputs.shape == (600, 7)
    parts = list(hybrid.splits(rows, "rows", repetitions=3))
    for model in (stacked(), forest(50)):
        rates = [hybrid.fit_and_rate(model, rows, *part) for part in parts]
        result = hybrid.Rates(*np.mean(np.array(rates), axis=0).tolist())
        assert result.accuracy > 0.8
        assert result.auc > 0.85


@needs_shared
def test_published_rules_have_the_published_rates() -> None:
    rows = published_points()
    assert rows.truth.size == 15_331
    table = hybrid.voting_rates(rows)
    table["perfomalist"] = hybrid.rates(rows.truth, rows.severity > 0.0)
    for name in ("voting without distance", "voting with distance", "perfomalist"):
        result = table[name]
        rounded = tuple(round(share, 4) for share in result[:3])
        assert rounded == pytest.approx(PUBLISHED[name], abs=1.01e-4)
    assert round(table["voting, fitted with distance"].accuracy, 4) == 0.7682
    assert round(table["voting, fitted without distance"].accuracy, 4) == 0.7152


@needs_shared
def test_hybrid_has_the_published_rates() -> None:
    table = hybrid.hybrid_table(published_points(), "series", repetitions=10)
    row = table[table["model"] == "hybrid"].iloc[0]
    result = tuple(float(row[name]) for name in ("accuracy", "sensitivity", "specificity"))
    assert result == pytest.approx(PUBLISHED["hybrid"], abs=0.0025)


@needs_shared
def test_forest_on_the_same_inputs_is_better() -> None:
    rows = published_points()
    part = next(hybrid.splits(rows, "rows"))
    assert hybrid.fit_and_rate(forest(60), rows, *part).accuracy > 0.84
