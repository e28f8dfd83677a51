"""The second look: decisions, steps, and models that cannot do it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from barograph.detection import OnlineDetector
from barograph.detection.online import Budget
from barograph.learning.online.learn import learn
from barograph.models import OnlineModels
from barograph.results.series import Floats
from barograph.runtime.errors import DataError
from barograph.server.web.model_watch import ModelWatch
from tests.service.models import small_pair
from tests.service.samples import POINTS, result
from tests.training.online_histories import forest, histories, learned

LENGTH = 220


@pytest.fixture
def store_url(url: str) -> str:
    """Here on every database."""
    return url


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    path = tmp_path / "online.baro"
    _, models = learned()
    OnlineModels(models.online, models.confirm).save(path)
    return path


def values() -> Floats:
    return histories(3).values[:LENGTH]


def detected() -> tuple[list[int], list[dict[str, Any]], set[int]]:
    """The alarms and steps of the detector, and the change points that stand in the end."""
    _, models = learned()
    budget = Budget.released(models.online, models.confirm)
    detector = OnlineDetector(models.online, models.confirm, budget=budget)
    alarms = [
        order for order, value in enumerate(values()) if detector.update(float(value)).is_change
    ]
    steps = [
        {
            "kind": row.kind.value,
            "order": row.index,
            "probability": row.probability,
            "from_order": row.moved_from,
        }
        for row in detector.steps
    ]
    return alarms, steps, {point.index for point in detector.change_points}


def test_decisions_equal_those_of_the_online_detector(client: TestClient) -> None:
    alarms, steps, standing = detected()
    reply: list[dict[str, Any]] = []
    for index, value in enumerate(values()):
        answer = client.post(POINTS, json=result(index, float(value))).json()
        reply += answer["decisions"]
    assert [row["order"] for row in reply if row["is_change"]] == alarms
    assert [step for row in reply for step in row["steps"]] == steps
    again = client.post(POINTS, json=result(alarms[0], float(values()[alarms[0]]))).json()
    assert again["decisions"][0]["steps"] == reply[alarms[0]]["steps"]
    path = f"/api/v1/series/{reply[0]['series']}/decisions"
    body = client.get(path).json()["decisions"]
    kept = [step for decision in body for step in decision["steps"]]
    assert kept == [{**row, "model": answer["model"]} for row in steps]
    now = {
        decision["order"]: decision["current_state"]
        for decision in body
        if decision["current_state"]
    }
    assert {order for order, kind in now.items() if kind in ("called", "confirmed")} == standing
    changes = client.get(path, params={"changes_only": True}).json()["decisions"]
    assert changes == [
        decision
        for decision in body
        if decision["is_change"] or decision["steps"] or decision["current_state"]
    ]
    assert client.get("/api/v1/model").json()["second_look"]


def test_suspect_is_settled_by_a_rerun(client: TestClient) -> None:
    noise = np.random.default_rng(0).normal(100.0, 1.0, 80).tolist()
    sent = [result(index, value, commit=f"c{index}") for index, value in enumerate([*noise, 160.0])]
    [*_, first] = client.post(POINTS, json=sent).json()["decisions"]
    assert (first["answer"], first["is_change"], first["reruns"]) == ("suspect", False, 1)
    assert first["surprise"] > 5
    [again] = client.post(POINTS, json={**sent[-1], "value": 159.0, "run": "2"}).json()["decisions"]
    assert (again["answer"], again["is_change"], again["reruns"]) == ("change", True, 0)
    later = [result(81 + k, 160.0 + k % 2, commit=f"c{81 + k}") for k in range(3)]
    for decision in client.post(POINTS, json=later).json()["decisions"]:
        assert decision["answer"] == "quiet"
        assert abs(decision["known_since"]["order"] - 80) <= 1
        assert decision["known_since"]["commit"] == f"c{decision['known_since']['order']}"
    path = f"/api/v1/series/{again['series']}"
    points = client.get(f"{path}/points", params={"from_order": 80}).json()["points"]
    assert [(point["run"], point["value"], point["settled"]) for point in points[:2]] == [
        *(("", 160.0, 159.0), ("2", 159.0, None))
    ]
    decided = client.get(f"{path}/decisions", params={"from_order": 80}).json()["decisions"]
    names = ("answer", "probability", "surprise", "reruns", "known_since")
    assert [decided[0][name] for name in names] == [again[name] for name in names]
    assert decided[1]["known_since"]["commit"] in ("c79", "c80")


def test_start_fails_without_a_pair(artifact: Path) -> None:
    small_pair().newest.save(artifact)
    with pytest.raises(DataError, match="no confirming model: train both models again"):
        ModelWatch(artifact).start()
    newest = replace(small_pair().newest, card={})
    OnlineModels(newest, learned()[1].confirm).save(artifact)
    with pytest.raises(DataError, match="tail rates"):
        ModelWatch(artifact).start()


def test_watch_replaces_both_models_together(artifact: Path) -> None:
    truth, _ = learned()
    new = learn(truth, make=forest, seed=1)
    watch = ModelWatch(artifact)
    first = watch.start().judge.version
    OnlineModels(new.online, new.confirm).save(artifact)
    assert watch.check()
    assert watch.current is not None
    second = watch.current.judge.version
    assert not {*second.split("+")} & {*first.split("+")}
    assert not watch.check()
    assert watch.check(force=True)
    assert watch.refused_reason == ""
