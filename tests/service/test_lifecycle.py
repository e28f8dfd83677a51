"""Renaming, merging, retiring, deleting and pruning over HTTP."""

import pytest
from fastapi.testclient import TestClient

from barograph.server.store import tokens
from barograph.server.store.tokens import Scope
from tests.service.conftest import Start, app_of
from tests.service.samples import POINTS, result

JSON = {"Content-Type": "application/json"}  # without a body


def names(client: TestClient) -> dict[int, str]:
    return {row["id"]: row["name"] for row in client.get("/api/v1/series").json()["series"]}


@pytest.fixture
def filled(client: TestClient) -> TestClient:
    """Two series of three results: the second has the later ones."""
    sent = [
        result(order, test=test)
        for test, begin in (("a", 0), ("b", 3))
        for order in (begin, begin + 1)
    ]
    assert client.post(POINTS, json={"points": sent}).status_code == 200
    return client


def test_renamed_series_takes_the_results_of_its_former_name(filled: TestClient) -> None:
    answer = filled.post("/api/v1/series/1/rename", json={"test": "c", "args": {"n": 8}})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["id"], answer.json()["name"]) == (1, "db/c/- n=8")
    [decision] = filled.post(POINTS, json={"points": [result(9, test="a")]}).json()["decisions"]
    assert (decision["status"], decision["series"]) == ("written", 1)
    taken = filled.post("/api/v1/series/2/rename", json={"test": "c", "args": {"n": 8}})
    assert taken.status_code == 422
    assert "series 1 has the name" in taken.text
    assert filled.post("/api/v1/series/9/rename", json={"test": "x"}).status_code == 404


def test_merged_series_has_the_results_of_both(filled: TestClient) -> None:
    answer = filled.post("/api/v1/series/2/merge", json={"into": 1})
    assert (answer.status_code, answer.json()) == (200, {"into": 1, "points": 2})
    assert list(names(filled)) == [1]
    points = filled.get("/api/v1/series/1/points").json()["points"]
    assert [point["order"] for point in points] == [0, 1, 3, 4]
    assert filled.post("/api/v1/series/2/merge", json={"into": 1}).status_code == 404
    assert filled.post("/api/v1/series/1/merge", json={"into": 9}).status_code == 404


def test_retired_and_deleted_series(filled: TestClient) -> None:
    assert filled.post("/api/v1/series/1/retire", headers=JSON).json()["retired"] > 0
    brought_back = filled.post("/api/v1/series/1/retire", json={"retired": False})
    assert brought_back.json()["retired"] is None
    deleted = filled.delete("/api/v1/series/1")
    assert deleted.json() == {"points": 2, "candidates": 0, "verdicts": 0}
    assert filled.get("/api/v1/series/1").status_code == 404
    [entry] = filled.get("/api/v1/audit?limit=1").json()["entries"]
    assert (entry["action"], entry["subject"]) == ("delete series", "series 1")


def test_prune_only_counts_without_the_option_to_delete(filled: TestClient) -> None:
    answer = filled.post("/api/v1/prune", json={"older_than_days": 400})
    nothing = {"series": 0, "points": 0, "candidates": 0, "kept": 0}
    assert answer.json() == {**nothing, "dry_run": True}
    assert filled.post("/api/v1/prune", json={"older_than_days": 0}).status_code == 422


def test_life_of_series_needs_the_scope_admin(start: Start) -> None:
    client = start()
    store = app_of(client).state.context.store
    secret = store.write(lambda c: tokens.create(c, "t", [Scope.INGEST, Scope.TRIAGE], "cli"))
    headers = {"Authorization": f"Bearer {secret}"}
    for path in ("series/1/rename", "series/1/merge", "series/1/retire", "prune"):
        assert client.post(f"/api/v1/{path}", json={}, headers=headers).status_code == 403
    assert client.delete("/api/v1/series/1", headers=headers).status_code == 403
