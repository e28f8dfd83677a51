"""A small project of its own: params.yaml and three tables made by hand."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.pipeline import characterise, subseries, train
from barograph.results.parquet import CANDIDATES_SCHEMA, POINTS_SCHEMA, RUN_COLUMNS, SERIES_SCHEMA

PARAMS = """
profile: tiny
characterise:
  adaptive: [bauer8]
  label_free: [bauer8]
  adaptive_windows: [bauer8]
  label_free_windows: [bauer8]
train:
  feature_sets: {adaptive: bauer8, label_free: bauer8, online: bauer8, confirm: bauer8}
  classifiers: [random_forest]
  calibration: sigmoid
  goal: accuracy
  seed: 1
evaluate:
  policies: [adaptive]
  feature_sets: {bauer8: [random_forest, most_frequent]}
  footnote: {change8: [random_forest]}
  goal: accuracy
  seed: 1
windows: {feature_set: bauer8, classifier: random_forest, base: adaptive, goal: accuracy, seed: 1}
classify: {use: label_free, coverage: 0.9, reasons: 3}
replay: {min_points: 2}
release: {least_auc: 0.5, level: 0.05, draws: 200, seed: 1, least_verdicts: 1, margin: 1.0}
tiny:
  train: {trees: 8}
  evaluate: {repetitions: 2, trees: 8}
  windows: {repetitions: 2, trees: 8}
"""
SERIES, LENGTH = 120, 30
BEGINNINGS = 11  # commits at which the histories of the series begin
DAY = 86_400_000


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with parameters and tables, made the current one; one worker, no MLflow."""
    (tmp_path / "params.yaml").write_text(PARAMS)
    write_tables(tmp_path / "data" / "interim")
    return enter(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def described_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose candidates are described; do not change it."""
    folder = tmp_path_factory.mktemp("described")
    (folder / "params.yaml").write_text(PARAMS)
    write_tables(folder / "data" / "interim")
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        subseries.main()
        characterise.main()
    return folder


@pytest.fixture(scope="session")
def trained_once(described_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with models."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copytree(described_once, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        train.main()
    return folder


@pytest.fixture
def described(described_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose candidates are described, made the current folder."""
    shutil.copytree(described_once, tmp_path, dirs_exist_ok=True)
    return enter(tmp_path, monkeypatch)


@pytest.fixture
def trained(trained_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with models, made the current folder."""
    shutil.copytree(trained_once, tmp_path, dirs_exist_ok=True)
    return enter(tmp_path, monkeypatch)


def enter(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """Make a project the current folder, with one worker and without MLflow."""
    patch.chdir(folder)
    patch.setenv("BAROGRAPH_WORKERS", "1")
    patch.setenv("BAROGRAPH_MLFLOW", "off")
    return folder


def write_tables(folder: Path) -> None:
    """Write series with a step in every second one; a candidate stands at the middle of each."""
    folder.mkdir(parents=True)
    generator = np.random.default_rng(7)
    write(folder, "series", SERIES_SCHEMA, series_columns())
    points = pa.schema([field for field in POINTS_SCHEMA if field.name not in RUN_COLUMNS])
    write(folder, "points", points, points_columns(generator))
    write(folder, "candidates", CANDIDATES_SCHEMA, candidates_columns(generator))


def forget_verdicts(folder: Path) -> None:
    """Make all candidates of a project untriaged."""
    path = folder / "data/interim/candidates.parquet"
    table = pq.read_table(path)
    for name, value in (("verdict", "not_triaged"), ("triaged_on", None)):
        field = table.schema.field(name)
        column = pa.array([value] * table.num_rows, pa.string()).cast(field.type)
        table = table.set_column(table.column_names.index(name), field, column)
    pq.write_table(table, path)


def series_columns() -> dict[str, object]:
    names = ("project", "variant", "task", "measurement")
    series = {name: [f"{name}{k % 7}" if k % 7 else name for k in range(SERIES)] for name in names}
    tests = [f"test{k}" for k in range(SERIES)]
    known = {"direction": [1] * SERIES, "unit": ["ops/s"] * SERIES}
    return {**series, "test": tests, "args": ["{}"] * SERIES, **known}


def points_columns(generator: np.random.Generator) -> dict[str, object]:
    values = 100 + generator.standard_normal((SERIES, LENGTH))
    values[::2, LENGTH // 2 :] += 6
    owners = np.repeat(np.arange(SERIES), LENGTH)
    index = np.tile(np.arange(LENGTH), SERIES)
    orders = index + owners % BEGINNINGS
    return {
        "series": owners,
        "order": orders,
        "commit": [f"c{order}" for order in orders.tolist()],
        "time": index * DAY,
        "value": values.ravel(),
    }


def candidates_columns(generator: np.random.Generator) -> dict[str, object]:
    index = generator.integers(LENGTH // 2 - 5, LENGTH // 2 + 5, SERIES)
    index[::2] = LENGTH // 2
    orders = index + np.arange(SERIES) % BEGINNINGS
    verdicts = ["false_positive" if k % 2 else "true_positive" for k in range(SERIES - 20)]
    return {
        "series": np.arange(SERIES),
        "index": index,
        "order": orders,
        "commit": [f"c{order}" for order in orders.tolist()],
        "verdict": verdicts + ["not_triaged"] * 20,
        "calculated_on": (index + 2) * DAY,
        "triaged_on": [LENGTH * DAY + k for k in range(SERIES - 20)] + [None] * 20,
        "algorithm": ["by hand"] * SERIES,
    }


def write(folder: Path, name: str, schema: pa.Schema, columns: dict[str, object]) -> None:
    """Write one table with the types of its schema; columns that are not given are left out."""
    fields = [field for field in schema if field.name in columns]
    arrays = [
        pa.array(columns[field.name]).cast(pa.int64()).cast(field.type)
        if pa.types.is_timestamp(field.type)
        else pa.array(columns[field.name], type=field.type)
        for field in fields
    ]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    pq.write_table(table, folder / f"{name}.parquet")
