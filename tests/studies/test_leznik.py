from pathlib import Path

import leznik as benchmark
import numpy as np
import pytest

from barograph.runtime.errors import DataError
from barograph.studies import leznik
from tests.shared import SHARED, needs_shared

POINTS = SHARED / "data/mongodb/triaged_points.csv"


def simulated_points(rows: int = 600) -> leznik.TriagedPoints:
    generator = np.random.default_rng(0)
    features = generator.random((rows, 6))
    perfomalist = generator.random(rows) > 0.5
    truth = (
        features[:, 0] + 0.3 * perfomalist + 0.2 * generator.standard_normal(rows) > 0.7
    ).astype(np.int64)
    series = generator.integers(0, 90, rows)
    projects = np.array([f"project{k % 3}" for k in series], dtype=object)
    return leznik.TriagedPoints(features, perfomalist, truth, series, projects)


def test_rates_follow_from_the_confusion_counts() -> None:
    truth = np.array([1, 1, 1, 1, 0, 0])
    result = leznik.rates(truth, [1, 1, 1, 0, 0, 1], np.array([0.9, 0.8, 0.7, 0.2, 0.1, 0.6]))
    assert result == (4 / 6, 3 / 4, 1 / 2, 7 / 8)


def test_rates_of_an_empty_class_are_nan() -> None:
    result = leznik.rates(np.array([1, 1]), [1, 0], np.array([0.9, 0.2]))
    assert result[:2] == (0.5, 0.5)
    assert np.isnan(result[2:]).all()


@pytest.mark.parametrize("protocol", leznik.PROTOCOLS)
def test_splits_have_distinct_test_parts_of_a_tenth(protocol: str) -> None:
    rows = simulated_points()
    parts = list(leznik.splits(rows, protocol))
    assert len(parts) == 10
    assert len({tuple(part.test) for part in parts}) == 10
    for part in parts:
        assert np.array_equal(np.sort(np.concatenate(part)), np.arange(600))
        assert 40 <= part.test.size <= 80
        if protocol == "series":
            assert not np.isin(rows.series[part.test], rows.series[part.train]).any()
    with pytest.raises(ValueError, match="protocol 'luck' is unknown; allowed"):
        next(leznik.splits(rows, "luck"))


def test_without_project_holds_back_each_project_once() -> None:
    rows = simulated_points()
    parts = dict(benchmark.without_project(rows))
    assert sorted(parts) == ["project0", "project1", "project2"]
    for project, part in parts.items():
        assert set(rows.projects[part.test]) == {project}
        assert project not in rows.projects[part.train]


def test_stacked_and_forest_models_learn_from_the_same_inputs() -> None:
    rows = simulated_points()
    assert rows.inputs.shape == (600, 7)
    parts = list(leznik.splits(rows, "rows", repetitions=3))
    for model in (benchmark.stacked(0), benchmark.best(0, trees=50)):
        result = benchmark.mean([leznik.fit_and_rate(model, rows, part) for part in parts])
        assert result.accuracy > 0.8
        assert result.auc > 0.85


def test_read_names_missing_columns(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("file,delta_mean,label\na,1,true_positive\n")
    with pytest.raises(DataError, match=r"points\.csv: missing columns: \['delta_sd'"):
        benchmark.read(path)


@needs_shared
def test_published_rules_have_the_published_rates() -> None:
    rows = benchmark.read(POINTS)
    assert rows.truth.size == 15_331
    table = leznik.rule_tables(rows)
    for name in ("voting without distance", "voting with distance", "perfomalist"):
        result = table[name]
        rounded = tuple(round(share, 4) for share in result[:3])
        assert rounded == pytest.approx(benchmark.PUBLISHED[name], abs=1.01e-4)
    assert round(table["voting, fitted with distance"].accuracy, 4) == 0.7682
    assert round(table["voting, fitted without distance"].accuracy, 4) == 0.7152


@needs_shared
def test_models_reach_the_published_accuracy_on_one_split() -> None:
    rows = benchmark.read(POINTS)
    part = next(leznik.splits(rows, "rows"))
    assert leznik.fit_and_rate(benchmark.stacked(0), rows, part).accuracy > 0.80
    assert leznik.fit_and_rate(benchmark.best(0, trees=60), rows, part).accuracy > 0.84
