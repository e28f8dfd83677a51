"""Histories of many owners: which are kept, what may be learned from, and their weights."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from barograph.learning.online import pool
from barograph.learning.online.pool import Unlabelled, read_marked_values, read_pool

LICENCES = {"One/a": "MIT", "one/b": "MIT", "two/c": "none stated", "three/d": "other (own text)"}
LENGTHS = {"One/a": 100, "one/b": 60, "two/c": 50, "three/d": 45}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a pool: series of four projects, one of a fixed build, a short and a constant one."""
    frames = [series(project, "s", length) for project, length in LENGTHS.items()]
    frames += [
        series("One/a", f"php {pool.CONTROL}", 70),
        series("two/c", "short", 39),
        series("two/c", "constant", 80).assign(value=1.0),
    ]
    table = pd.concat(frames).sample(frac=1.0, random_state=1)
    table.to_parquet(tmp_path / "pool.parquet")
    licences = [(name, licence, "GitHub runner") for name, licence in LICENCES.items()]
    projects = pd.DataFrame(licences, columns=["project", "licence", "runner"])
    projects.to_csv(tmp_path / "projects.csv", index=False)
    return tmp_path


def series(project: str, name: str, length: int) -> pd.DataFrame:
    values = np.random.default_rng(length).normal(10.0, 1.0, length)
    keys = {"project": project, "machine": None, "series": name}
    return pd.DataFrame({**keys, "order": np.arange(length), "value": values})


def test_series_are_in_order_with_what_is_known_of_them(folder: Path) -> None:
    found = read_pool(folder)
    assert sorted(found.owners.tolist()) == ["one", "one", "one", "three", "two"]
    assert sorted(np.diff(found.offsets).tolist()) == [45, 50, 60, 70, 100]
    for k, (first, end) in enumerate(zip(found.offsets, found.offsets[1:], strict=False)):
        expected = np.random.default_rng(end - first).normal(10.0, 1.0, end - first)
        assert found.values[first:end].tolist() == expected.tolist()  # noqa: PD011
        assert found.controls[k] == (end - first == 70)
        assert found.may_teach[k] == (found.owners[k] == "one" and not found.controls[k])


def test_owners_have_equal_weights_unless_they_are_short(folder: Path) -> None:
    found = read_pool(folder)
    weights, sizes = found.weights(), np.diff(found.offsets)
    assert (weights * sizes).sum() == pytest.approx(1.0)
    assert np.ptp(weights) < 1e-12  # all owners have less than the full number of values
    owners, offsets = np.array(["a", "a", "b"]), np.array([0, 4000, 8000, 20_000])
    flags = np.ones(3, dtype=np.bool_)
    long = Unlabelled(np.zeros(20_000), offsets, owners, owners, owners, flags, ~flags)
    totals = long.weights() * np.diff(offsets)
    assert totals == pytest.approx([0.25, 0.25, 0.5])


def test_marked_histories_are_read_without_marks(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(5.0, 1.0, 100)
    table = pd.DataFrame(
        {"series_id": ["1"] * 50 + ["2"] * 50, "idx": [*range(50)] * 2, "mean": numbers}
    )
    table.sample(frac=1.0, random_state=2).to_parquet(tmp_path / "series.parquet")
    meta = pd.DataFrame({"series_id": ["1", "2"], "group": [7, 8]})
    meta.to_csv(tmp_path / "series_meta.csv", index=False)
    found = read_marked_values(tmp_path)
    assert found.values.tolist() == numbers.tolist()  # noqa: PD011
    assert len(set(found.owners.tolist())) == 1
    assert [group.split()[-1] for group in found.groups.tolist()] == ["7", "8"]
    assert found.may_teach.all()
