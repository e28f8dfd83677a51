"""`barograph retrain`: the pipeline's models from a store, released if they are better."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.cli import main
from barograph.cli.models import read_params
from barograph.learning.learners import FOREST
from barograph.learning.online.pair import BESIDE
from barograph.learning.registry import registry_of
from barograph.learning.retrain import Retrained
from barograph.models.triage import FILES
from barograph.pipeline import characterise, prior, subseries, train, tune
from barograph.results.history import History
from barograph.server.store import Store
from barograph.server.store.exchange import import_history
from tests.shared import ROOT
from tests.store.judges import Rule

PARAMS = """
profile: tiny
load: {kind: mongodump, location: data/raw/simulated/dump, max_skipped_share: 0.05}
simulate: {}
characterise:
  adaptive: [contrast]
  label_free: [contrast]
  adaptive_windows: [bauer8]
  label_free_windows: [confirm]
train:
  feature_sets: {adaptive: contrast, label_free: contrast, online: online, confirm: confirm}
  classifiers: [xgboost]
  calibration: sigmoid
  goal: accuracy
  seed: 1
  enough: 150
  prior_weight: 0.3
  simulated: {seed: 3, long_series: 1, short_series: 0}
  points: 1500
  reporting: {seed: 90001, long_series: 2, short_series: 2}
tune: {searches: {label_free: [xgboost]}, folds: 3, seed: 1, least_verdicts: 50}
release: {least_auc: 0.5, draws: 100, seed: 1, least_verdicts: 10}
tiny:
  train: {trees: 4}
  tune: {trials: 2}
prior:
  simulate: {seed: 4711, long_series: 2, short_series: 20}
  characterise:
    adaptive: [contrast]
    label_free: [contrast]
    adaptive_windows: []
    label_free_windows: [confirm]
"""
Run = tuple[int, str, str]


@pytest.fixture
def store(project: Path) -> Path:
    """A project whose tables are in a store, too."""
    (project / "params.yaml").write_text(PARAMS)
    with Store("ci.db", Rule()) as opened:
        import_history(opened, History.read("data/interim"), "test")
    return project


def run(capsys: pytest.CaptureFixture[str], *options: str) -> Run:
    with pytest.raises(SystemExit) as left:
        main(["retrain", "--store", "ci.db", "--params", "params.yaml", *options])
    output = capsys.readouterr()
    return int(left.value.code or 0), output.out, output.err


def models(folder: Path) -> dict[str, bytes]:
    """Return the newest candidate for release of each name."""
    result: dict[str, bytes] = {}
    for name in FILES:
        for path in (folder / name).glob("*/model.baro"):
            result[name] = path.read_bytes()
    return result


def test_printed_parameters_are_those_that_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["retrain", "--print-params"])
    assert not ended.value.code
    (tmp_path / "own.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    result: Any = read_params(tmp_path / "own.yaml")
    assert result == read_params()


def test_retrain_releases_the_models_of_the_pipeline(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert store.is_dir()
    _, output, error = run(capsys, "--format", "json", "--release-to", "served/models")
    assert "barograph:" not in error
    answer = json.loads(output)
    assert answer["verdicts"] == {"real": 50, "noise": 50, "series": 100}
    facts = answer["files"]["label_free"]["uses"]["label_free"]
    assert facts["real"] == 50
    for means in (facts["agreement"], facts["brier"]):
        assert min(means["new"], means["old"]) > 0
        assert max(means["new"], means["old"]) <= 1
        assert means["low"] <= means["new"] - means["old"] <= means["high"]
    for name, decision in answer["files"].items():
        path = Path("served/models") / f"{name}.baro"
        assert (str(path) in answer["released"]) == path.is_file() == decision["promoted"]
    learned = models(Path("served/registry"))
    for stage in (subseries, characterise, prior, tune, train):
        stage.main()
    for name in FILES:
        assert (train.FOLDER / f"{name}.baro").read_bytes() == learned[name]


def test_retrain_with_too_few_verdicts_says_so_and_keeps_the_models(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (store / "ci.db").unlink()
    path = store / "data/interim/candidates.parquet"
    table = pq.read_table(path)
    kept = [v if k < 16 else "not_triaged" for k, v in enumerate(table["verdict"].to_pylist())]
    place = table.column_names.index("verdict")
    pq.write_table(table.set_column(place, "verdict", pa.array(kept)), path)
    with Store("ci.db", Rule()) as opened:
        import_history(opened, History.read("data/interim"), "test")
    code, output, _ = run(capsys, "--dry-run")
    first, *files, last = output.splitlines()
    assert code == 0
    assert first == "16 verdicts: 8 real, 8 noise, in 16 series"
    for name, line in zip(("adaptive", "label_free"), files, strict=False):
        assert line.startswith(f"{name}: kept: ")
        assert "too few verdicts" in line
    assert [line.partition(":")[0] for line in files] == list(FILES)
    assert files[2].startswith("online: kept: fewer than 100 confirmed changes")
    assert last == "dry run: nothing was written"
    assert not (store / "data/registry").exists()


def test_lines_name_the_figures_of_each_decision() -> None:
    facts = {"auc": 0.9, "auc_of_other": 0.875, "real": 30, "noise": 20, "other": "it"}
    facts |= {"agreement": {"new": 0.84, "old": 0.8}}
    better = {"promoted": True, "why": "better than it", "uses": {"adaptive": facts}}
    beside = {
        "labels": "verdicts",
        "changes": 80,
        "reported": [0.5, 0.6, 0.7],
        "reported_by_other": [0.6, 0.7, 0.8],
    }
    worse = {"promoted": False, "why": "reports no more changes", BESIDE: beside}
    decisions = {"adaptive": better, "online": worse}
    released = Retrained(1246, 1829, 868, decisions, {"adaptive": "a digest"})
    assert [*released.lines()][1].startswith("adaptive: released: better than it; AUC")
    assert [*Retrained(1246, 1829, 868, decisions).lines()] == [
        "3,075 verdicts: 1,246 real, 1,829 noise, in 868 series",
        "adaptive: may be released: better than it; AUC 0.900, it 0.875; agreement with people "
        "84%, it 80%",
        "online: kept: reports no more changes; 60% of 80 changes by verdicts reported in time, "
        "70% by the built-in pair",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--params", "slow.yaml"), "profile is 'slow', but there is no section of that name"),
        (("--store", "none.db"), "none.db: no such store"),
    ],
)
def test_retrain_names_what_is_missing(
    options: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "slow.yaml").write_text(PARAMS.replace("profile: tiny", "profile: slow"))
    code, _, error = run(capsys, *options)
    assert code == 1
    assert message in error


def test_built_in_parameters_are_those_of_the_profile_quick() -> None:
    built_in: Any = read_params()
    pipeline: Any = read_params(ROOT / "params.yaml")
    names = pipeline.train.classifiers
    assert names == (*built_in.train.classifiers, FOREST)
    without = replace(pipeline.train, classifiers=names[:-1])
    assert built_in == replace(pipeline, train=without)
    assert built_in.profile == "quick"


def test_registry_lies_next_to_the_released_models() -> None:
    assert registry_of(Path("data/release")) == Path("data/registry")
