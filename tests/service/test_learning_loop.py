"""From verdicts to a better model: the whole loop over HTTP, with tiny models."""

from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from barograph.cli.models import read_params
from barograph.detection import Hunter
from barograph.results.history import History
from barograph.server.store import Store
from barograph.server.store.exchange import import_history
from barograph.server.web.app import create_app
from barograph.server.web.background import BackgroundWorker, WorkerConfig
from barograph.server.web.model_watch import ModelWatch
from barograph.server.web.retraining import Retraining
from tests.pipeline.conftest import project
from tests.service.models import small_pair
from tests.shared import wait_for
from tests.store.judges import Rule
from tests.training.test_retrain import PARAMS

__all__ = ["project"]


def retrained(client: TestClient) -> None:
    """Start a retraining and wait for its end."""
    assert client.post("/api/v1/retraining").status_code == 202
    shares = [0.0]

    def has_ended() -> bool:
        running = client.get("/api/v1/retraining").json()["running"]
        shares.extend([running["share"]] if running else [])
        return running is None

    wait_for(has_ended)
    assert shares == sorted(shares)


def swap_verdicts(path: Path) -> None:
    """Let people call real what the built-in model calls noise, so that there is much to learn."""
    table = pq.read_table(path)
    swapped = {"true_positive": "false_positive", "false_positive": "true_positive"}
    verdicts = [swapped.get(verdict, verdict) for verdict in table["verdict"].to_pylist()]
    place = table.column_names.index("verdict")
    pq.write_table(table.set_column(place, "verdict", pa.array(verdicts)), path)


def test_verdicts_lead_to_a_model_that_decides(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    params = project / "params.yaml"
    params.write_text(PARAMS)
    artifact = project / "online.baro"
    small_pair().save(artifact)
    swap_verdicts(project / "data/interim/candidates.parquet")
    url = str(project / "ci.db")
    with Store(url, Rule()) as store:
        import_history(store, History.read(project / "data/interim"), "test")
        learn = partial(read_params, params)
        path = project / "served" / "label_free.baro"
        config = WorkerConfig(url, Hunter(), "Hunter", path, params=learn)
        worker, retraining = BackgroundWorker(config), Retraining(store, config, path.parent)
        app = create_app(store, ModelWatch(artifact), worker=worker, retraining=retraining)
        where = {"base_url": "http://127.0.0.1", "client": ("127.0.0.1", 50000)}
        with TestClient(app, **where) as client:  # type: ignore[arg-type]
            before = client.get("/api/v1/model/record").json()
            assert before["due"]["new"] == 100
            retrained(client)
            state = client.get("/api/v1/retraining").json()
            assert (state["latest"]["state"], state["latest"]["verdicts"]) == ("done", 100)
            files = {model["name"]: model for model in state["comparison"]}
            label_free = files["label_free"]
            assert label_free["may_release"]
            assert label_free["why"].startswith("better than the built-in model: gain +1.000 ")
            auc = next(row for row in label_free["measures"] if row["measure"] == "AUC")
            assert auc["low"] <= auc["new"] - auc["old"] <= auc["high"]
            assert not (project / "served").exists()  # a person releases
            page = client.get("/model").text
            assert "Challenger against the model in service" in page
            assert f"may be released: {label_free['why']}" in page
            released = client.post(
                "/api/v1/retraining/release", json={"id": state["compared"]["id"]}
            )
            assert "label_free" in released.json()["files"]
            assert (project / "served" / "label_free.baro").is_file()
            after = client.get("/api/v1/model/record").json()
            assert after["due"]["new"] == 0
            assert {file["name"]: file["number"] for file in after["files"]}["label_free"] == 1
            assert "Model 1 scores the queue" in client.get("/model").text
