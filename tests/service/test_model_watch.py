"""New model files are used without a restart; refused files change nothing."""

from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from barograph.detection.online import make_judge
from barograph.models import OnlineModels
from barograph.runtime.errors import ArtifactError
from barograph.server.store import Store
from barograph.server.web import model_watch
from barograph.server.web.app import create_app
from barograph.server.web.model_watch import ModelWatch
from tests.service.conftest import HERE, app_of
from tests.service.models import small_model, small_pair
from tests.service.samples import POINTS, result
from tests.shared import PATIENCE, wait_for

MODEL = "/api/v1/model"


def watch_of(client: TestClient) -> ModelWatch:
    watch = app_of(client).state.context.watch
    assert isinstance(watch, ModelWatch)
    return watch


def test_new_model_file_is_loaded(client: TestClient, artifact: Path) -> None:
    before = client.get(MODEL).json()["version"]
    small_pair(seed=1).save(artifact)
    assert watch_of(client).check()
    after = client.get(MODEL).json()["version"]
    assert after != before
    assert client.post(POINTS, json=result(1)).json()["model"] == after
    assert not watch_of(client).check()


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04"])
def test_damaged_model_is_refused_and_the_last_good_model_stays(
    client: TestClient, artifact: Path, content: bytes
) -> None:
    before = client.get(MODEL).json()
    artifact.write_bytes(content)
    reply = client.post("/api/v1/model/reload").json()
    assert reply["version"] == before["version"]
    assert before["refused_reason"] is None
    assert str(artifact) in reply["refused_reason"]
    assert "barograph_models_refused_total 1.0" in client.get("/metrics").text
    assert client.post(POINTS, json=result(1)).json()["model"] == before["version"]
    small_pair(seed=1).save(artifact)
    assert client.post("/api/v1/model/reload").json()["refused_reason"] is None


def test_watch_goes_on_whatever_a_file_does(
    client: TestClient, artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise MemoryError("too\nlarge")

    small_pair(seed=1).save(artifact)
    with monkeypatch.context() as patch:
        patch.setattr("barograph.server.web.model_watch.load_model", fails)
        reply = client.post("/api/v1/model/reload")
    assert reply.status_code == 200
    assert reply.json()["refused_reason"] == f"{artifact}: MemoryError: too large"
    small_pair(seed=2).save(artifact)
    assert watch_of(client).check()


def test_model_for_another_use_is_refused(client: TestClient, artifact: Path) -> None:
    small_model(use="label_free").save(artifact)
    assert not watch_of(client).check()
    assert "label_free" in client.get(MODEL).json()["refused_reason"]


def test_model_stays_in_use_while_its_folder_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "mounted" / "online.baro"
    path.parent.mkdir()
    small_pair().save(path)
    watch = ModelWatch(path)
    loaded = watch.start()
    path.parent.rename(tmp_path / "elsewhere")
    assert not watch.check(force=True)
    assert watch.current is loaded


def test_built_in_model_is_used_after_the_released_file_is_deleted(
    client: TestClient, artifact: Path
) -> None:
    artifact.unlink()
    assert watch_of(client).check()
    assert client.get(MODEL).json()["version"] == make_judge(OnlineModels.default()).version
    assert not watch_of(client).check()
    small_pair(seed=1).save(artifact)
    assert watch_of(client).check()


def test_start_refuses_a_damaged_model(tmp_path: Path) -> None:
    path = tmp_path / "online.baro"
    path.write_bytes(b"garbage")
    with pytest.raises(ArtifactError, match=r"online\.baro"):
        ModelWatch(path).start()


def test_each_batch_is_judged_by_one_model(client: TestClient, artifact: Path) -> None:
    """While models change as fast as they can, each answer is that of one model alone."""
    models = {}
    for seed in range(2):
        small_pair(seed=seed).save(artifact)
        watch_of(client).check(force=True)
        models[client.get(MODEL).json()["version"]] = artifact.read_bytes()
    assert len(models) == 2
    stop = Event()

    def change() -> None:
        while not stop.is_set():
            for content in models.values():
                artifact.write_bytes(content)
                watch_of(client).check(force=True)

    rng = np.random.default_rng(0)
    values = (100 + 4 * rng.standard_normal(40)).tolist()
    thread = Thread(target=change)
    thread.start()
    answers: dict[str, set[tuple[float, ...]]] = {}
    number = 0
    try:
        while number < 20 or len(answers) < 2:
            number += 1
            batch = [result(k, value, test=f"t{number}") for k, value in enumerate(values)]
            answer = client.post(POINTS, json=batch).json()
            probabilities = tuple(point["probability"] for point in answer["decisions"])
            answers.setdefault(answer["model"], set()).add(probabilities)
    finally:
        stop.set()
        thread.join()
    assert set(answers) == set(models)
    assert all(len(different) == 1 for different in answers.values())
    assert len(set.union(*answers.values())) == 2


def test_store_uses_the_judge_of_the_loaded_model(client: TestClient) -> None:
    store: Store = app_of(client).state.context.store
    assert isinstance(store, Store)
    assert store.judge is not None
    assert store.judge.version == client.get(MODEL).json()["version"]


def test_service_answers_while_it_loads_its_first_model(
    artifact: Path, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, load = Event(), model_watch.load_model

    def load_late(*arguments: Any) -> model_watch.LoadedModel:
        assert go_on.wait(PATIENCE)
        return load(*arguments)

    monkeypatch.setattr(model_watch, "load_model", load_late)
    with Store(store_url) as store:
        app = create_app(store, ModelWatch(artifact))
        with TestClient(app, HERE, client=("127.0.0.1", 50000)) as client:
            assert client.get("/health").status_code == 200
            assert client.get("/ready").status_code == 503
            refused = client.post(POINTS, json=[result(1, 100.0)])
            assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
            go_on.set()
            wait_for(lambda: client.get("/ready").status_code == 200)
            assert client.post(POINTS, json=[result(1, 100.0)]).json()["written"] == 1


def test_failure_of_the_first_model_is_reported_to_whoever_started_the_app(
    artifact: Path, store_url: str
) -> None:
    artifact.write_bytes(b"no model")
    failed, watch = Event(), ModelWatch(artifact)
    with Store(store_url) as store:
        app = create_app(store, watch, on_failure=failed.set)
        with TestClient(app, HERE, client=("127.0.0.1", 50000)) as client:
            assert failed.wait(PATIENCE)
            assert client.get("/ready").status_code == 503
    assert isinstance(watch.failure, ArtifactError)
