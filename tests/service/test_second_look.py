"""With a second look changes are called early, and surer as more results come."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from barograph.detection import OnlineDetector
from barograph.detection.online import Budget, SecondLookWanted
from barograph.errors import DataError
from barograph.models import TriageModel
from barograph.series import Floats
from barograph.service import Watch
from barograph.service.models import PATIENCE
from barograph.training.online import Learned, learn
from tests.service.conftest import Start, app_of
from tests.service.models import small_model
from tests.service.samples import POINTS, result
from tests.training.online_histories import forest, histories, learned

LENGTH = 220


@pytest.fixture
def store_url(url: str) -> str:
    """Here on every database."""
    return url


@pytest.fixture
def again(tmp_path: Path) -> SecondLookWanted:
    path = tmp_path / "confirm.baro"
    learned()[1].confirm.save(path)
    return SecondLookWanted(path, "early", 10.0)


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    path = tmp_path / "online.baro"
    learned()[1].online.save(path)
    return path


def values() -> Floats:
    return histories(3).values[:LENGTH]


def detected() -> tuple[list[int], list[dict[str, Any]], set[int]]:
    """The alarms and steps of the detector, and the change points that stand in the end."""
    _, models = learned()
    budget = Budget.released(models.online, models.confirm, "early", 10.0)
    detector = OnlineDetector(models.online, models.confirm, budget=budget)
    alarms = [at for at, value in enumerate(values()) if detector.update(float(value)).is_change]
    steps = [
        {
            "kind": one.kind.value,
            "order": one.index,
            "run": "",
            "probability": one.probability,
            "from_order": one.moved_from,
            "from_run": None if one.moved_from is None else "",
        }
        for one in detector.steps
    ]
    return alarms, steps, set(detector.change_points)


def test_answers_and_decisions_are_those_of_the_detector(client: TestClient) -> None:
    alarms, steps, standing = detected()
    told: list[dict[str, Any]] = []
    for at, value in enumerate(values()):
        answer = client.post(POINTS, json=result(at, float(value))).json()
        told += answer["decisions"]
    assert [one["order"] for one in told if one["is_change"]] == alarms
    assert [step for one in told for step in one["steps"]] == steps
    again = client.post(POINTS, json=result(alarms[0], float(values()[alarms[0]]))).json()
    assert again["decisions"][0]["steps"] == told[alarms[0]]["steps"]
    path = f"/api/v1/series/{told[0]['series']}/decisions"
    found = client.get(path).json()["decisions"]
    kept = [step for one in found for step in one["steps"]]
    assert kept == [{**one, "model": answer["model"]} for one in steps]
    now = {one["order"]: one["became"] for one in found if one["became"]}
    assert {order for order, kind in now.items() if kind in ("called", "confirmed")} == standing
    changes = client.get(path, params={"changes": True}).json()["decisions"]
    assert changes == [one for one in found if one["is_change"] or one["steps"] or one["became"]]
    assert client.get("/api/v1/model").json()["second_look"]


def test_a_pair_that_cannot_look_together_looks_once_and_says_so(
    start: Start, artifact: Path
) -> None:
    small_model().save(artifact)
    client = start()
    told = client.get("/api/v1/model").json()
    assert not told["second_look"]
    assert "tail rates" in told["alone"]
    assert client.post(POINTS, json=result(1)).json()["decisions"][0]["steps"] == []


def test_a_pair_that_is_asked_for_must_fit(artifact: Path, again: SecondLookWanted) -> None:
    small_model().save(artifact)
    needed = SecondLookWanted(again.path, "early", 10.0, needed=True)
    with pytest.raises(DataError, match="tail rates"):
        Watch(artifact, needed).start()


def released(models: Learned, *uses: str) -> dict[str, TriageModel]:
    """Models of a pair as they are released: each card names both."""
    name = f"{models.online.version}+{models.confirm.version}"
    found = {"online": models.online, "confirm": models.confirm}
    return {use: replace(found[use], card={**found[use].card, "pair": name}) for use in uses}


def test_half_a_pair_waits_for_the_other_but_not_for_ever(tmp_path: Path) -> None:
    truth, old = learned()
    new = learn(truth, make=forest, seed=1)
    now = [0.0]

    def release(models: Learned, *uses: str) -> None:
        for use, model in released(models, *uses).items():
            model.save(tmp_path / f"{use}.baro")

    def version() -> str:
        assert watch.current is not None
        return watch.current.judge.version

    release(old, "online", "confirm")
    wanted = SecondLookWanted(tmp_path / "confirm.baro", "early", 10.0)
    watch = Watch(tmp_path / "online.baro", wanted, clock=lambda: now[0])
    watch.start()
    first = version()
    release(new, "online")
    assert not watch.look()
    assert (version(), "waits" in watch.fault) == (first, True)
    release(new, "confirm")
    assert watch.look()
    second = version()
    assert not {*second.split("+")} & {*first.split("+")}
    release(old, "online")
    assert not watch.look()
    now[0] += PATIENCE - 1.0
    assert not watch.look()
    assert version() == second
    now[0] += 1.0
    assert watch.look()
    assert version().split("+") == [first.split("+")[0], second.split("+")[1]]
    assert not watch.look()
    release(new, "online")
    assert watch.look()
    release(old, "confirm")
    assert watch.look(again=True)
    assert watch.fault == ""


def test_a_new_confirming_model_is_taken_up_and_a_damaged_one_refused(
    client: TestClient, again: SecondLookWanted
) -> None:
    before = client.get("/api/v1/model").json()
    watch = app_of(client).state.parts.watch
    assert not watch.look()
    assert again.path is not None
    good = again.path.read_bytes()
    again.path.write_bytes(b"garbage")
    assert not watch.look()
    told = client.get("/api/v1/model").json()
    assert "confirm.baro" in told["refused"]
    assert {**told, "refused": None} == before
    again.path.unlink()
    assert not watch.look()
    other = replace(learned()[1].confirm, threshold=0.25)
    other.save(again.path)
    assert again.path.read_bytes() != good
    assert watch.look()
    assert client.get("/api/v1/model").json()["refused"] is None
    learned()[1].online.save(again.path)
    assert not watch.look()
    assert "made for the use 'online'" in client.get("/api/v1/model").json()["refused"]
