"""A champion gives way only to a model that is not worse, and comes back by one command."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from barograph.features import FEATURE_SETS
from barograph.learning import candidates, challengers, tables
from barograph.learning import release as releasing
from barograph.learning.comparison import Comparison
from barograph.learning.registry import Index
from barograph.models import OnlineModels, TriageModel
from barograph.pipeline import release, train
from barograph.pipeline.params import run
from barograph.runtime.errors import ConfigError, DataError
from tests.pipeline.conftest import enter
from tests.service.models import small_model
from tests.shared import ROOT

USE = "label_free"
SERVED = Path(f"data/release/{USE}.baro")


@contextmanager
def with_one_use(described: Path, folder: Path) -> Iterator[None]:
    """Work in a copy of a project, of which only one use is trained and released."""
    shutil.copytree(described, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        leave_one_use(patch)
        yield


@pytest.fixture(scope="module")
def trained_once(described_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the model of one use; do not change it."""
    folder = tmp_path_factory.mktemp("trained")
    with with_one_use(described_once, folder):
        train.main()
    return folder


@pytest.fixture
def trained(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a model; only one use is trained and released, to save time."""
    leave_one_use(monkeypatch)
    return trained


def leave_one_use(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(release, "FILES", {USE: (USE,)})
    patch.setattr(train, "FILES", {USE: (USE,)})
    patch.setattr(challengers, "USES", (USE,))
    patch.setattr(candidates.TrainParams, "__post_init__", lambda _: None)


def retrain(**changed: object) -> None:
    document = yaml.safe_load(Path("params.yaml").read_text())
    document["tiny"]["train"] |= changed
    Path("params.yaml").write_text(yaml.safe_dump(document))
    train.main()


def spoil() -> None:
    """Turn every verdict that the next model learns from round, but keep what it is judged by."""
    frame = tables.read(USE)
    final = tables.labelled(frame, "bauer8")
    test = candidates.held_out(final, 1).test
    triaged = np.flatnonzero(frame["verdict"].isin(["true_positive", "false_positive"]))
    turned = np.setdiff1d(triaged, triaged[test])
    names = {"true_positive": "false_positive", "false_positive": "true_positive"}
    verdicts = frame["verdict"].to_numpy(dtype=object)
    verdicts[turned] = [names[v] for v in verdicts[turned]]
    frame.assign(verdict=verdicts).to_parquet(f"data/processed/{USE}.parquet")


def report() -> Any:
    return json.loads(Path("data/reports/release.json").read_text())[USE]


@pytest.mark.usefixtures("trained")
def test_release_promotes_first_model_once() -> None:
    release.main()
    first = report(), SERVED.read_bytes()
    assert first[0]["why"].startswith("it cannot be compared with the built-in model: ")
    shutil.rmtree("data/release")
    release.main()
    assert (report(), SERVED.read_bytes()) == first
    assert len(Index.read(USE).champions) == 1


@pytest.mark.usefixtures("trained")
def test_rolled_back_model_is_never_promoted_again() -> None:
    release.main()
    first = SERVED.read_bytes()
    retrain(trees=12)
    release.main()
    assert report()["promoted"]
    assert report()["uses"][USE]["p_worse"] > 0.05
    second = SERVED.read_bytes()
    assert second != first
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["release", "rollback", USE])
        releasing.main()
    assert SERVED.read_bytes() == first
    release.main()
    assert SERVED.read_bytes() == first
    assert report()["why"] == "it was rolled back before"
    assert releasing.rollback(USE).champion is None
    assert not SERVED.exists()
    with pytest.raises(ConfigError, match="the built-in model is in service already"):
        releasing.rollback(USE)


@pytest.mark.usefixtures("trained")
def test_release_keeps_champion_over_worse_model() -> None:
    release.main()
    champion = SERVED.read_bytes()
    spoil()
    train.main()
    Path("params.yaml").write_text(
        Path("params.yaml").read_text().replace("least_auc: 0.5", "least_auc: 0.0")
    )
    release.main()
    assert report()["why"] == "worse than the champion"
    assert report()["uses"][USE]["difference"] < 0
    assert SERVED.read_bytes() == champion


PARAMS = releasing.ReleaseParams(0.5, 100, 1)
OF_PIPELINE = releasing.Evidence(PARAMS, release.learned_from, must_gain=False)


def compared(difference: float, p_worse: float = 0.9) -> dict[str, Any]:
    """Return the facts of a comparison on a few verdicts."""
    gain = Comparison(difference, difference - 0.07, difference + 0.07, p_worse, 30)
    return {"real": 21, "noise": 20, **gain._asdict()}


@pytest.mark.parametrize(
    ("difference", "p_worse", "why"),
    [
        (-0.038, 0.1, "worse than the built-in model by more than 0.01"),
        (-0.005, 0.01, "worse than the built-in model"),
        (-0.009, 0.3, None),
        (0.02, 0.9, None),
    ],
)
def test_model_is_released_unless_its_auc_is_lower_by_more_than_the_margin(
    difference: float, p_worse: float, why: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = compared(difference, p_worse)
    monkeypatch.setattr(releasing, "compare", lambda *_: result)
    twins = {USE: replace(small_model(0, USE), metrics={"auc": 0.9})}
    decision = releasing.decide(twins, Index(USE), OF_PIPELINE)
    assert decision["promoted"] == (why is None)
    assert decision["why"] == (why or "not worse than the built-in model")


def test_model_that_is_named_is_released_even_if_it_is_worse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evidence = replace(OF_PIPELINE, named=(USE,))
    twins = {USE: replace(small_model(0, USE), metrics={"auc": 0.9})}
    monkeypatch.setattr(releasing, "compare", lambda *_: compared(-0.2, 0.0))
    decision = releasing.decide(twins, Index(USE), evidence)
    assert decision["promoted"]
    assert decision["why"] == "release.classifier names it; worse than the built-in model"
    assert decision["uses"][USE]["difference"] == -0.2
    # It is named for one file only, and never released if it is worse than chance.
    assert not releasing.decide(twins, Index(USE), replace(evidence, named=("online",)))["promoted"]
    hopeless = {USE: replace(twins[USE], metrics={"auc": 0.4})}
    assert not releasing.decide(hopeless, Index(USE), evidence)["promoted"]


@pytest.mark.parametrize(("lead", "promoted"), [(0.05, False), (0.025, True)])
def test_lead_over_the_built_in_model_may_shrink_by_the_margin(
    lead: float, promoted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = small_model(0, USE)
    champion = replace(made, card={"cross_fit": compared(lead)})
    monkeypatch.setattr(TriageModel, "load", lambda *_: champion)
    twins = {USE: replace(made, metrics={"auc": 0.9}, card={"cross_fit": compared(0.02)})}
    decision = releasing.decide(twins, Index(USE, ("a",)), OF_PIPELINE)
    assert decision["promoted"] == promoted


@pytest.mark.usefixtures("trained")
def test_release_refuses_model_below_least_auc() -> None:
    spoil()
    retrain(trees=9)
    release.main()
    assert not SERVED.exists()
    assert not report()["promoted"]
    assert "below 0.5" in report()["why"]


@pytest.mark.usefixtures("trained")
def test_release_replaces_unreadable_champion() -> None:
    release.main()
    index = Index.read(USE)
    twin = index.folder(str(index.champion)) / "judged.baro"
    twin.write_bytes(b"no model")
    retrain(trees=9)
    release.main()
    assert report()["promoted"]
    assert "it cannot be compared with the champion, data/release" in report()["why"]


@pytest.mark.usefixtures("trained")
def test_release_keeps_champion_without_verdicts_to_compare_by() -> None:
    release.main()
    champion = SERVED.read_bytes()
    retrain(trees=9)
    tables.read(USE).assign(verdict="not_triaged").to_parquet(f"data/processed/{USE}.parquet")
    release.main()
    assert not report()["promoted"]
    why = "it cannot be compared with the champion, data/release/label_free.baro: 0 triaged points"
    assert why in report()["why"]
    assert SERVED.read_bytes() == champion


PAIR = ("online", "confirm")


@pytest.fixture
def pairs(project: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A project whose models are made by hand, and the p value of each comparison."""
    p_values = dict.fromkeys(PAIR, 0.9)
    monkeypatch.setattr(release, "FILES", {"online": PAIR})
    monkeypatch.setattr(
        releasing,
        "compare",
        lambda twin, *_: compared(0.0, p_values[twin.use]),
    )
    return p_values


def train_pair(seed: int) -> None:
    """Put both models of the pair where the stage `train` puts them."""
    models = [replace(small_model(seed, use), metrics={"auc": 0.9}) for use in PAIR]
    for folder in (train.FOLDER, train.TWINS):
        OnlineModels(*models).save(folder / "online.baro")


def served() -> bytes:
    return Path("data/release/online.baro").read_bytes()


@pytest.mark.parametrize("worse", PAIR)
def test_pair_is_promoted_only_if_neither_model_is_worse(
    pairs: dict[str, float], worse: str
) -> None:
    train_pair(0)
    release.main()
    first = served()
    train_pair(1)
    pairs[worse] = 0.01
    release.main()
    assert served() == first
    decision = json.loads(Path("data/reports/release.json").read_text())["online"]
    assert (decision["promoted"], decision["why"]) == (False, f"{worse}: worse than the champion")
    assert [decision["uses"][use]["promoted"] for use in PAIR] == [use != worse for use in PAIR]
    assert len(Index.read("online").champions) == 1
    pairs[worse] = 0.9
    release.main()
    second = served()
    assert second != first
    assert len(Index.read("online").champions) == 2
    # The champion stays when the same file is released again.
    pairs[worse] = 0.01
    release.main()
    assert served() == second


@pytest.mark.usefixtures("pairs")
def test_rollback_restores_the_former_pair_for_good() -> None:
    train_pair(0)
    release.main()
    first = served()
    card = Path("data/release/online.md").read_text()
    assert "# Model card: online" in card
    assert "# Model card: confirm" in card
    train_pair(1)
    release.main()
    assert served() != first
    assert releasing.rollback("online").name == "online"
    assert served() == first
    release.main()
    assert served() == first
    assert releasing.rollback("online").champion is None
    assert not Path("data/release/online.md").exists()


@pytest.mark.usefixtures("trained")
def test_damaged_record_is_named() -> None:
    Path("data/registry").mkdir()
    Path(f"data/registry/{USE}.json").write_text("[]")
    with pytest.raises(DataError, match=r"label_free\.json: not a record of released models"):
        Index.read(USE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # MLflow's use of SQLAlchemy
@pytest.mark.filterwarnings("ignore:.*Any type hint:UserWarning")  # MLflow's own types
@pytest.mark.usefixtures("trained")
def test_mlflow_aliases_follow_release_and_rollback(monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.delenv("BAROGRAPH_MLFLOW")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "")
    monkeypatch.delenv("DVC_ROOT", raising=False)
    shutil.copy(ROOT / "dvc.yaml", "dvc.yaml")
    run(release.main)
    retrain(trees=12)
    run(train.main)
    run(release.main)
    client = mlflow.MlflowClient("sqlite:///data/mlflow.db")

    def alias(name: str) -> int:
        return int(client.get_model_version_by_alias(f"barograph-{USE}", name).version)

    assert (alias("candidate"), alias("champion")) == (2, 2)
    releasing.rollback(USE)
    assert (alias("candidate"), alias("champion")) == (2, 1)
    releasing.rollback(USE)
    assert "champion" not in client.get_registered_model(f"barograph-{USE}").aliases
    experiment = client.get_experiment_by_name("barograph").experiment_id
    found = client.search_runs([experiment])
    names = sorted(each.info.run_name for each in found)
    assert names == ["release", "release", f"rollback {USE}", f"rollback {USE}", "train"]
    [trained] = [each for each in found if each.info.run_name == "train"]
    assert trained.data.params["train.trees"] == "12"
    held_out = dict(TriageModel.load(f"data/models/{USE}.baro").metrics)
    for name, value in held_out.items():
        assert trained.data.metrics[f"{USE}.{name}"] == pytest.approx(value)
        assert trained.data.metrics[f"{USE}.random_forest.{name}"] == pytest.approx(value)
    assert len(trained.data.tags["data.digest"]) == 16
    assert artifacts(client, trained.info.run_id) == {
        f"models/{USE}.baro",
        f"models/random_forest/{USE}.baro",
        "reports/train.json",
        "reports/train/models.csv",
        "reports/train/models.md",
        f"reports/train/{USE}.png",
    }
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///data/mlflow.db")
    loaded = mlflow.pyfunc.load_model(f"models:/barograph-{USE}@candidate")
    assert loaded.metadata.signature.inputs.input_names() == list(FEATURE_SETS["bauer8"])
    example = loaded.input_example
    probability = TriageModel.load(f"data/models/{USE}.baro").predict_proba(example)[:, 1]
    np.testing.assert_array_equal(loaded.predict(example), probability)


def artifacts(client: Any, run_id: str, folder: str = "") -> set[str]:
    """Return the paths of all artifacts of a run."""
    found: set[str] = set()
    for each in client.list_artifacts(run_id, folder):
        found |= artifacts(client, run_id, each.path) if each.is_dir else {each.path}
    return found
