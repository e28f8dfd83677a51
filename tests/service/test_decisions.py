"""Reasons and revisions of a point."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from barograph.models import TriageModel
from barograph.results.series import Floats
from barograph.server.store import reading
from barograph.server.web.model_watch import load_model
from tests.service.conftest import app_of, store_of
from tests.service.models import small_pair
from tests.service.samples import POINTS, result, steps


@pytest.fixture
def store_url(url: str) -> str:
    """Here on every database."""
    return url


def path_of(client: TestClient, order: int) -> str:
    number = client.post(POINTS, json=steps("insert")).json()["decisions"][0]["series"]
    return f"/api/v1/series/{number}/points/{order}"


def test_reasons_equal_those_of_the_model(client: TestClient, artifact: Path) -> None:
    path = path_of(client, 25)
    reply = client.get(f"{path}/reasons").json()["reasons"]
    model = TriageModel.load(artifact, "online")
    assert {row["name"] for row in reply} == set(model.columns)
    sizes = [abs(row["contribution"]) for row in reply]
    assert sizes == sorted(sizes, reverse=True)
    with store_of(client).read() as connection:
        [explained] = reading.points_of(connection, 1, first=25, last=25)
    base, parts = model.reasons(_row(reply, model))
    assert base + float(parts.sum()) == pytest.approx(explained.decision.probability)


def _row(reply: list[dict[str, Any]], model: TriageModel) -> Floats:
    values = {str(row["name"]): row["value"] for row in reply}
    return np.array([[values[name] for name in model.columns]])


def test_reasons_of_a_replaced_model_answer_409(client: TestClient, artifact: Path) -> None:
    path = path_of(client, 25)
    assert client.get(f"{path}/reasons").status_code == 200
    small_pair(seed=1).save(artifact)
    assert app_of(client).state.context.watch.check()
    assert load_model(artifact).judge.version in client.get("/api/v1/model").text
    other = client.get(f"{path}/reasons")
    assert (other.status_code, other.json()["error"]["kind"]) == (409, "conflict")


def test_first_point_has_no_reasons_and_missing_points_answer_404(client: TestClient) -> None:
    assert client.get(path_of(client, 0) + "/reasons").json() == {"reasons": []}
    for what in ("reasons", "revisions", "revisions?run=x"):
        order = 2 if "run" in what else 99
        assert client.get(f"{path_of(client, order)}/{what}").status_code == 404


def test_revisions_list_all_values_current_first(client: TestClient) -> None:
    for value in (5.0, 4.0, 7.0, 7.0):
        number = client.post(POINTS, json=result(3, value)).json()["decisions"][0]["series"]
    path = f"/api/v1/series/{number}/points/3/revisions"
    answer = client.get(path).json()
    assert [(revision["value"], revision["is_current"]) for revision in answer["revisions"]] == [
        (7.0, True),
        (4.0, False),
        (5.0, False),
    ]
    assert answer["next"] is None
    first = client.get(path, params={"limit": 2}).json()
    rest = client.get(path, params={"limit": 2, "after": first["next"]}).json()
    assert first["revisions"] + rest["revisions"] == answer["revisions"]
