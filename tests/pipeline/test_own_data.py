"""A team's own results through the whole pipeline, with as few verdicts as they have."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.pipeline import (
    characterise,
    classify,
    evaluate,
    load,
    release,
    replay,
    report,
    subseries,
    train,
    tune,
    windows,
)
from tests.pipeline.conftest import PARAMS

CHANGES = {
    "profile: tiny": "profile: tiny\nload: {kind: files, location: r.csv, max_skipped_share: 0}",
    "label_free: [bauer8]": "label_free: [bauer8, contrast]",
    "label_free_windows: [bauer8]": "label_free_windows: [confirm]",
    "[random_forest, most_frequent]": "[random_forest, svm, most_frequent]",
    "online: bauer8, confirm: bauer8": "online: online, confirm: confirm",
    "  calibration:": "  enough: 90\n  prior_weight: 0.3\n  calibration:",
    "tiny:\n": "tune: {searches: {label_free: [logistic]}, trials: 2, folds: 2, seed: 1}\n"
    "tiny:\n  tune: {}\n",
    "trees: 8}": "trees: 12, simulated: {seed: 3, long_series: 3, short_series: 0}}",
}
STAGES = (load, subseries, characterise, tune, train, evaluate, windows, classify, replay, release)


@pytest.fixture
def team_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with parameters for a table of results, made the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    monkeypatch.setenv("BAROGRAPH_MLFLOW", "off")
    text = PARAMS
    for old, new in CHANGES.items():
        text = text.replace(old, new, 1)
    (tmp_path / "params.yaml").write_text(text)
    return tmp_path


def write_results(series: int, *, step: float = 6.0) -> None:
    """Write results of several series as one table, most of them with a step."""
    generator = np.random.default_rng(5)
    rows = ["test,order,commit,value"]
    for number in range(series):
        values = generator.normal(100.0, 1.0, 60)
        values[30 + number % 9 :] += step if number % 4 else 0.0
        rows += [f"t{number},{k},c{k + number % 5},{v!r}" for k, v in enumerate(values.tolist())]
    Path("r.csv").write_text("\n".join([*rows, ""]))


def decide(count: int, noise: int) -> None:
    """Give verdicts on the first candidates that `load` found, as a person would.

    Args:
        count: Number of verdicts.
        noise: Maximum number of candidates that the person calls noise.
    """
    path = load.FOLDER / "candidates.parquet"
    table = pq.read_table(path)
    index, series = (table.column(name).to_numpy() for name in ("index", "series"))
    real = (np.abs(index - 30 - series % 9) <= 1) & (series % 4 > 0)
    is_noise = ~real & (np.cumsum(~real) <= noise)
    verdicts = np.where(is_noise, "false_positive", "true_positive").astype(object)
    verdicts[count:] = "not_triaged"
    dates = [86_400_000 * 90 if k < count else None for k in range(table.num_rows)]
    columns = {"verdict": pa.array(verdicts, pa.string()), "triaged_on": pa.array(dates)}
    for name, column in columns.items():
        place = table.column_names.index(name)
        table = table.set_column(place, name, column.cast(table.schema.field(name).type))
    pq.write_table(table, path)


@pytest.mark.usefixtures("team_data")
@pytest.mark.parametrize("noise", [20, 2])
def test_pipeline_runs_to_the_end_with_twenty_verdicts(noise: int) -> None:
    write_results(24)
    for stage in STAGES:
        stage.main()
        if stage is load:
            decide(20, noise)
    assert report.summary()


@pytest.mark.usefixtures("team_data")
def test_pipeline_runs_to_the_end_on_a_history_without_a_change() -> None:
    write_results(6, step=0.0)
    for stage in STAGES:
        stage.main()
    assert report.summary()
