"""Health, readiness, metrics, headers, and what nobody foresaw."""

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from barograph.errors import StoreError
from barograph.service.shield import HEADERS
from barograph.triage import Store
from tests.service.samples import POINTS, result, steps

ANSWERS = [("GET", "/health"), ("GET", "/nowhere"), ("PUT", POINTS), ("POST", POINTS)]


@pytest.mark.parametrize(("method", "path"), ANSWERS)
def test_every_answer_has_the_strict_headers(client: TestClient, method: str, path: str) -> None:
    answer = client.request(method, path)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("PUT", POINTS, 405, "method_not_allowed"),
        ("POST", f"{POINTS}/", 404, "not_found"),
        ("GET", "/api/v1/series/x", 422, "invalid"),
        ("GET", "/api/v1/series/7", 404, "not_found"),
        ("GET", "/api/v1/series/7/points", 404, "not_found"),
        ("GET", "/api/v1/change-points/7", 404, "not_found"),
        ("GET", "/api/v1/series?limit=0", 422, "invalid"),
        ("GET", "/api/v1/series?test=%00", 422, "invalid"),
        ("GET", f"/api/v1/series/{10**30}", 422, "invalid"),
    ],
)
def test_errors_have_one_shape(
    client: TestClient, method: str, path: str, status: int, kind: str
) -> None:
    answer = client.request(method, path)
    told = answer.json()["error"]
    assert (answer.status_code, told["status"], told["kind"]) == (status, status, kind)
    assert told["message"]


def test_probes(client: TestClient) -> None:
    model = client.get("/api/v1/model").json()["version"]
    assert client.get("/health").json()["status"] == "alive"
    for path in ("/ready", "/ping"):
        told = client.get(path).json()
        assert (told["status"], told["model"]) == ("ready", model)


def test_not_ready_while_the_store_does_not_answer(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: Store) -> None:
        raise StoreError("the store failed: disk I/O error")

    monkeypatch.setattr(Store, "read", broken)
    answer = client.get("/ready")
    assert answer.status_code == 503
    assert answer.json()["error"]["kind"] == "unavailable"
    assert client.get("/health").status_code == 200


def test_what_nobody_foresaw_is_told_without_its_inside(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_self: Store) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(Store, "read", broken)
    answer = client.get("/api/v1/model")
    assert answer.status_code == 500
    assert answer.json()["error"]["kind"] == "internal"
    assert "inside" not in answer.text
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "ZeroDivisionError: inside" in caplog.text


def test_metrics_count(client: TestClient) -> None:
    client.post(POINTS, json=steps("insert"))
    client.post(POINTS, json=[result(1, test="query"), 7])
    client.get("/nowhere/at/all")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert found["barograph_points_total", "written"] == 31
    assert found["barograph_points_total", "rejected"] == 1
    assert found["barograph_changes_total",] >= 1
    assert found["barograph_http_requests_total", "POST", POINTS, "200"] == 2
    assert found["barograph_http_requests_total", "GET", "none", "404"] == 1
    assert found["barograph_ready",] == 1
    version = client.get("/api/v1/model").json()["version"]
    assert found["barograph_model_info", version] == 1


def test_every_operation_is_described_with_an_example(client: TestClient) -> None:
    text = client.get("/openapi.json").json()
    for path, operations in text["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], path
            assert operation["description"], (method, path)
            body = operation.get("requestBody")
            if body:
                for content in body["content"].values():
                    schema = content["schema"]
                    assert {"example", "examples"} & (set(content) | set(schema)), path
    for name, schema in text["components"]["schemas"].items():
        if name.endswith(("Page", "Answer", "Made", "List", "Trail")) or name == "Ingested":
            assert schema["examples"], name
