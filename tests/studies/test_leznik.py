from pathlib import Path

import numpy as np
import pytest

from barograph.errors import DataError
from barograph.studies import leznik
from tests.shared import SHARED, needs_shared

POINTS = SHARED / "data/mongodb/triaged_points.csv"


def made(rows: int = 600) -> leznik.Published:
    generator = np.random.default_rng(0)
    features = generator.random((rows, 6))
    found = generator.random(rows) > 0.5
    truth = (features[:, 0] + 0.3 * found + 0.2 * generator.standard_normal(rows) > 0.7).astype(
        np.int64
    )
    series = generator.integers(0, 90, rows)
    projects = np.array([f"project{k % 3}" for k in series], dtype=object)
    return leznik.Published(features, found, truth, series, projects)


def test_rates_come_from_the_confusion_counts() -> None:
    truth = np.array([1, 1, 1, 1, 0, 0])
    found = leznik.rates(truth, [1, 1, 1, 0, 0, 1], np.array([0.9, 0.8, 0.7, 0.2, 0.1, 0.6]))
    assert found == (4 / 6, 3 / 4, 1 / 2, 7 / 8)


def test_a_class_without_cases_has_no_rate() -> None:
    found = leznik.rates(np.array([1, 1]), [1, 0], np.array([0.9, 0.2]))
    assert found[:2] == (0.5, 0.5)
    assert np.isnan(found[2:]).all()


@pytest.mark.parametrize("protocol", leznik.PROTOCOLS)
def test_splits_hold_back_a_tenth_and_nothing_twice(protocol: str) -> None:
    rows = made()
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


def test_every_project_is_held_back_once() -> None:
    rows = made()
    parts = dict(leznik.without_project(rows))
    assert sorted(parts) == ["project0", "project1", "project2"]
    for project, part in parts.items():
        assert set(rows.projects[part.test]) == {project}
        assert project not in rows.projects[part.train]


def test_both_models_learn_from_the_same_inputs() -> None:
    rows = made()
    assert rows.inputs.shape == (600, 7)
    parts = list(leznik.splits(rows, "rows", repetitions=3))
    for model in (leznik.stacked(0), leznik.best(0, trees=50)):
        found = leznik.mean([leznik.judged(model, rows, part) for part in parts])
        assert found.accuracy > 0.8
        assert found.auc > 0.85


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("file,delta_mean,label\na,1,true_positive\n")
    with pytest.raises(DataError, match=r"points\.csv: misses the columns \['delta_sd'"):
        leznik.read(path)


@needs_shared
def test_the_published_rules_give_the_published_rates() -> None:
    rows = leznik.read(POINTS)
    assert rows.truth.size == 15_331
    table = leznik.rules(rows)
    for name in ("voting without distance", "voting with distance", "perfomalist"):
        found = table[name]
        rounded = tuple(round(share, 4) for share in found[:3])
        assert rounded == pytest.approx(leznik.PUBLISHED[name], abs=1.01e-4)
    assert round(table["voting, fitted with distance"].accuracy, 4) == 0.7682
    assert round(table["voting, fitted without distance"].accuracy, 4) == 0.7152


@needs_shared
def test_one_split_of_the_published_rows_beats_the_published_accuracy() -> None:
    rows = leznik.read(POINTS)
    part = next(leznik.splits(rows, "rows"))
    assert leznik.judged(leznik.stacked(0), rows, part).accuracy > 0.80
    assert leznik.judged(leznik.best(0, trees=60), rows, part).accuracy > 0.84
