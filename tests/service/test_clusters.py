"""Clusters and tickets."""

import pytest
from fastapi.testclient import TestClient

from barograph.detection import ClusterSettings
from barograph.server.store.tokens import Scope
from barograph.server.triage import clusters
from tests.service.conftest import make_token, refresh_loop, store_of
from tests.service.samples import POINTS, steps
from tests.service.test_queries import pages


@pytest.fixture
def store_url(url: str) -> str:
    """Here on every database."""
    return url


def clustered(client: TestClient) -> None:
    for k in range(8):
        client.post(POINTS, json=steps(f"t{k}"))
    clusters.recluster(store_of(client), "db")


def test_clusters_list_their_series_and_take_a_status(client: TestClient) -> None:
    clustered(client)
    triage, read = make_token(client, Scope.TRIAGE), make_token(client, Scope.READ)
    [cluster] = client.get("/api/v1/clusters?project=db", headers=read).json()["clusters"]
    assert (cluster["order"], cluster["size"], cluster["status"]) == (25, 8, "new")
    path = f"/api/v1/clusters/{cluster['id']}"
    assert client.get(path, headers=read).json() == cluster
    client.headers.update(read)
    names = [
        series["test"] for series in pages(client, f"{path}/members", "series", "after", limit=3)
    ]
    assert sorted(names) == [f"t{k}" for k in range(8)]
    body = {"status": "regression"}
    assert client.post(f"{path}/status", json=body).status_code == 403
    reply = client.post(f"{path}/status", json=body, headers=triage).json()
    assert reply == {**cluster, "status": "regression"}
    assert client.get("/api/v1/clusters?project=other").json() == {"clusters": [], "next": None}
    clusters.recluster(store_of(client), "db", ClusterSettings(cutoff=1e12))
    assert client.get("/api/v1/clusters").json()["clusters"] == []
    [past] = client.get("/api/v1/clusters?include_past=true").json()["clusters"]
    assert (past["status"], past["current"]) == ("regression", False)


def test_tickets_are_created_linked_listed_and_closed(client: TestClient) -> None:
    for k in range(3):
        client.post(POINTS, json=steps(f"t{k}"))
    refresh_loop(client).run_once(clusters=False)
    for url in ("javascript:alert(1)", "data:text/html,x", "//x/1"):
        refused = client.post("/api/v1/tickets", json={"key": "A/1", "url": url})
        assert refused.status_code == 422
        message = f"url: {url!r} does not begin with https:// or http://"
        assert refused.json()["error"]["message"] == message
    ticket = {"key": "A/1", "url": "https://x/1", "title": "slow", "change_points": [2, 1]}
    made = client.post("/api/v1/tickets", json=ticket).json()
    assert made == {
        **ticket,
        "id": 1,
        "change_points": [1, 2],
        "status": "open",
        "opened": made["opened"],
    }
    again = client.post("/api/v1/tickets", json={"key": "A/1", "change_points": [3]}).json()
    assert again == {**made, "change_points": [1, 2, 3]}
    client.post("/api/v1/tickets", json={"key": "B"})
    assert [
        entry["key"] for entry in pages(client, "/api/v1/tickets", "tickets", "after", limit=1)
    ] == [*("A/1", "B")]
    assert client.get("/api/v1/tickets?change_point=3").json()["tickets"] == [again]
    closed = client.post("/api/v1/tickets/1/close").json()
    assert closed == {**again, "status": "closed"} == client.get("/api/v1/tickets/1").json()
    assert client.get("/api/v1/tickets?status=open").json()["tickets"][0]["key"] == "B"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"key": "A", "change_points": [7]}, "no candidate 7"),
        ({"key": "A", "change_points": [0]}, "change_points.0"),
        ({"key": "A\u0000"}, "key"),
        ({"key": ""}, "key"),
        ({"title": "x"}, "key"),
    ],
)
def test_post_ticket_refuses_invalid_tickets(
    client: TestClient, body: dict[str, object], text: str
) -> None:
    answer = client.post("/api/v1/tickets", json=body)
    assert answer.status_code == 422
    assert text in answer.json()["error"]["message"]
    assert client.get("/api/v1/tickets").json()["tickets"] == []


@pytest.mark.parametrize("what", ["clusters/9", "clusters/9/members", "tickets/9"])
def test_missing_clusters_and_tickets_answer_404(client: TestClient, what: str) -> None:
    assert client.get(f"/api/v1/{what}").status_code == 404
