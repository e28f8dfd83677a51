"""Each stage on a small project; a step of six standard deviations must be learnt from it."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from barograph.features import FEATURES_VERSION
from barograph.learning import candidates, tables
from barograph.models import UNSURE
from barograph.models.triage import TriageModel
from barograph.pipeline import (
    characterise,
    classify,
    evaluate,
    release,
    replay,
    report,
    subseries,
    train,
    windows,
)
from barograph.runtime import parallel
from barograph.runtime.errors import BarographError, ConfigError, DataError, NotEnoughDataError
from tests.shared import local_cluster

REPORTS = Path("data/reports")


def metrics(stage: str) -> Any:
    return json.loads((REPORTS / f"{stage}.json").read_text())


@pytest.mark.usefixtures("described")
def test_characterise_writes_every_policy() -> None:
    assert len(list(Path("data/processed").glob("*.parquet"))) == 24
    adaptive, newest = tables.read("adaptive"), tables.read("label_free:w0")
    assert len(adaptive) == len(newest) == 120
    assert adaptive["after_norm_sd"].gt(0).all()
    assert newest["after_norm_sd"].eq(0).all()


def test_characterise_writes_the_keys_where_no_set_is_asked(described: Path) -> None:
    path = described / "params.yaml"
    path.write_text(
        path.read_text().replace("label_free_windows: [bauer8]", "label_free_windows: []")
    )
    keys = tables.read("label_free:w0")[["candidate", "verdict"]]
    characterise.main()
    newest = tables.read("label_free:w0")
    assert newest.columns[-1] == "decided"
    pd.testing.assert_frame_equal(newest[keys.columns], keys)


@pytest.mark.usefixtures("described")
def test_tables_name_missing_table_or_column() -> None:
    table = Path("data/processed/adaptive.parquet")
    aside = table.rename("adaptive.parquet")
    with pytest.raises(DataError, match=r"adaptive\.parquet: no such feature table"):
        tables.read("adaptive")
    aside.rename(table)
    frame = tables.read("adaptive").drop(columns="pre_entropy")
    with pytest.raises(DataError, match=r"misses the columns \['pre_entropy'\] of bauer8"):
        tables.columns(frame, "bauer8")
    with pytest.raises(DataError, match=r"misses the columns \['pre_entropy'\] of change8"):
        tables.columns(frame, "change8")


@pytest.mark.usefixtures("trained")
def test_tables_refuse_another_version_of_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = json.loads(pq.read_schema("data/processed/label_free.parquet").metadata[b"PANDAS_ATTRS"])
    assert kept == {
        "feature_sets": ["bauer8", "difference8", "change8"],
        "features_version": FEATURES_VERSION,
    }
    assert tables.read_for("confirm").attrs == kept
    frame = tables.read("label_free")
    monkeypatch.setattr(tables, "FEATURES_VERSION", "2")
    for stage in (train, evaluate, windows, classify):
        with pytest.raises(
            DataError,
            match=r"(free|adaptive).*parquet: built with version '1' .* computes '2': run",
        ):
            stage.main()
    frame.attrs = {}
    report.write_parquet(Path("data/processed/label_free.parquet"), frame)
    with pytest.raises(DataError, match="built with version None of the features"):
        classify.main()


@pytest.mark.usefixtures("trained")
def test_train_and_release_write_models_and_cards() -> None:
    assert metrics("train")["label_free"]["auc"] > 0.9
    release.main()
    model = TriageModel.load("data/release/label_free.baro")
    assert model.card["rows"] == 100
    assert TriageModel.load("data/release/online.baro", "confirm").card["rows"] == 1000
    assert dict(model.metrics) == metrics("train")["label_free"]
    text = Path("data/release/label_free.md").read_text()
    assert all(part in text for part in ("grouped split", "data_hash", "## Limits", "auc: "))
    assert Path("data/reports/train/online.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("trained")
def test_classify_lists_most_likely_candidates_first() -> None:
    classify.main()
    table = pd.read_csv(REPORTS / "classify/classified.csv")
    assert len(table) == 20
    assert table["probability"].is_monotonic_decreasing
    assert table["real"].equals(table["series"] % 2 == 0)
    assert set(table["answer"]) <= set(classify.ANSWERS.values())
    assert table["reasons"].str.endswith(".").all()
    assert table["name"].str.contains("/test").all()
    assert len(set(table["model"])) == 1
    assert sum(metrics("classify")["answers"].values()) == 20


@pytest.mark.usefixtures("trained")
def test_classify_leaves_to_people_what_its_two_answers_contradict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    all_real = np.ones(20, dtype=np.int64)
    monkeypatch.setattr(TriageModel, "predict_set", lambda *_: all_real.copy())
    classify.main()
    table = pd.read_csv(REPORTS / "classify/classified.csv")
    assert set(table["answer"]) == {"real", classify.ANSWERS[UNSURE]}
    assert table["answer"].eq("real").equals(table["real"])


@pytest.mark.usefixtures("described")
def test_evaluate_reports_three_protocols_and_a_baseline() -> None:
    evaluate.main()
    table = pd.read_csv(REPORTS / "evaluate/table.csv")
    assert set(table["protocol"]) == {"random", "grouped", "forward"}
    assert set(table["repetitions"]) == {2, 10}
    assert set(table["feature_set"]) == {"bauer8", "change8"}
    first = table[table["feature_set"] == "bauer8"]
    auc = first.set_index(["protocol", "classifier"])["auc"].to_dict()
    assert auc["random", "random_forest"] > 0.95
    assert auc["random", "most_frequent"] == 0.5
    assert "profile tiny" in (REPORTS / "evaluate/table.md").read_text()


def test_train_params_need_a_feature_set_for_every_use() -> None:
    with pytest.raises(ConfigError, match=r"for the uses \[\]; needed are"):
        candidates.TrainParams({}, ("random_forest",), "sigmoid", 1, "f1", 1)


@pytest.mark.usefixtures("described")
def test_training_refuses_one_class_or_one_series() -> None:
    frame = tables.read("adaptive")
    result = frame[frame["verdict"] == "true_positive"]
    with pytest.raises(NotEnoughDataError, match="50 of them true: both kinds are needed"):
        tables.labelled(result, "bauer8")
    few = tables.labelled(frame.assign(identity=1), "bauer8")
    with pytest.raises(NotEnoughDataError, match="of 1 series and 17 commits cannot be held out"):
        candidates.held_out(few, 1)


@pytest.mark.usefixtures("described")
def test_windows_reports_every_window() -> None:
    windows.main()
    table = pd.read_csv(REPORTS / "windows/windows.csv")
    assert table["window"].tolist() == [*map(str, range(11)), "adaptive"]
    assert table["low"].min() >= 0.0
    assert table["high"].max() <= 1.0
    assert (REPORTS / "windows/windows.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("trained")
def test_replay_finds_steps_at_their_first_point() -> None:
    replay.main()
    table = pd.read_parquet(REPORTS / "replay/found.parquet")
    steps = table[(table["series"] % 2 == 0) & (table["index"] == 15)]
    assert len(steps) > 50
    assert metrics("replay")["points"] == 3600


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize("scheduler", ["processes", "dask"])
def test_stages_give_same_bytes_with_any_number_of_workers(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = (characterise, classify, replay, *([evaluate] if scheduler == "processes" else []))
    for stage in stages:
        stage.main()
    once = contents()
    for module, size in ((characterise, 50), (classify, 7), (replay, 50)):
        monkeypatch.setattr(module, "CHUNK", size)
    with ExitStack() as stack:
        if scheduler == "dask":
            cluster = stack.enter_context(local_cluster(2))
            monkeypatch.setenv(parallel.SCHEDULER, cluster.scheduler_address)
        else:
            monkeypatch.setenv("BAROGRAPH_WORKERS", "3")
        for stage in stages:
            stage.main()
    assert contents() == once


def contents() -> dict[str, bytes]:
    paths = [*REPORTS.rglob("*"), *Path("data/processed").glob("*")]
    return {str(p): p.read_bytes() for p in sorted(paths) if p.is_file()}


@pytest.mark.usefixtures("project")
def test_stages_refuse_wrong_tables_and_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("data/interim/series.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError, match=r"series\.parquet: not a readable Parquet file"):
        subseries.main()
    monkeypatch.setenv("BAROGRAPH_WORKERS", "several")
    with pytest.raises(BarographError, match="BAROGRAPH_WORKERS is 'several'"):
        parallel.worker_count()
