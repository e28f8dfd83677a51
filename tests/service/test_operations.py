"""Health, readiness, metrics, headers, and unexpected errors."""

import math
import resource
import time
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from barograph.runtime.errors import StoreError
from barograph.server.store import Store, tokens
from barograph.server.store.tokens import Scope
from barograph.server.web.middleware import HEADERS
from tests.service.conftest import app_of, make_token, store_of
from tests.service.samples import POINTS, result, steps

Sample = tuple[str, ...]  # its name and the values of its labels
ANSWERS = [("GET", "/health"), ("GET", "/nowhere"), ("PUT", POINTS), ("POST", POINTS)]


@pytest.mark.parametrize(("method", "path"), ANSWERS)
def test_every_answer_has_security_headers(client: TestClient, method: str, path: str) -> None:
    answer = client.request(method, path)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize("path", ["/health", "/ready", "/", "/api/v1/series"])
def test_head_is_answered_as_get(client: TestClient, path: str) -> None:
    assert client.head(path).status_code == client.get(path).status_code == 200
    assert client.head(POINTS).headers["allow"] == "POST"


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
    reply = answer.json()["error"]
    assert (answer.status_code, reply["status"], reply["kind"]) == (status, status, kind)
    assert reply["message"]


def test_unknown_address_is_a_page_for_a_visitor(client: TestClient) -> None:
    visit = {"accept": "text/html,application/xhtml+xml", "sec-fetch-mode": "navigate"}
    page = client.get("/nowhere", headers=visit)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no page /nowhere" in page.text
    assert client.get("/api/v1/nowhere", headers=visit).json()["error"]["status"] == 404


def test_probes_report_status_and_model(client: TestClient) -> None:
    model = client.get("/api/v1/model").json()["version"]
    assert client.get("/health").json()["status"] == "alive"
    for path in ("/ready", "/ping"):
        reply = client.get(path).json()
        assert (reply["status"], reply["model"]) == ("ready", model)


def test_ready_answers_503_while_the_store_is_down(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: Store) -> None:
        raise StoreError("the store failed: disk I/O error")

    monkeypatch.setattr(Store, "read", broken)
    answer = client.get("/ready")
    assert answer.status_code == 503
    assert answer.json()["error"]["kind"] == "unavailable"
    assert client.get("/health").status_code == 200


def test_ready_answers_503_while_the_disk_is_full(client: TestClient) -> None:
    sent = steps("test", change=15)
    client.post(POINTS, json=sent[:1])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))  # less than a page
    try:
        assert client.get("/ready").status_code == 200  # nothing was written since
        for answer in (client.post(POINTS, json=sent), client.get("/ready")):
            assert answer.status_code == 503
            assert "store.db: " in answer.json()["error"]["message"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert client.get("/ready").status_code == 200
    assert client.post(POINTS, json=sent).json()["written"] == len(sent) - 1


def test_unexpected_error_answers_500_without_details(
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


def scraped(client: TestClient, headers: dict[str, str] | None = None) -> dict[Sample, float]:
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_metrics_count_requests_and_points(client: TestClient) -> None:
    client.post(POINTS, json=steps("insert"))
    client.post(POINTS, json=[result(1, test="query"), 7])
    client.get("/nowhere/at/all")
    metrics = scraped(client)
    assert metrics["barograph_points_total", "written"] == 31
    assert metrics["barograph_points_total", "rejected"] == 1
    assert metrics["barograph_changes_total",] >= 1
    assert metrics["barograph_http_requests_total", "POST", POINTS, "200"] == 2
    assert metrics["barograph_http_requests_total", "GET", "none", "404"] == 1
    assert (metrics["barograph_ready",], metrics["barograph_store_up",]) == (1, 1)
    assert metrics["barograph_series_waiting",] == 2
    version = client.get("/api/v1/model").json()["version"]
    assert metrics["barograph_model_info", version] == 1


@pytest.fixture
def down(monkeypatch: pytest.MonkeyPatch) -> Callable[[TestClient], None]:
    """Takes the store down, long after a token was asked for last."""

    def broken(_self: Store) -> None:
        raise StoreError("the store failed: disk I/O error")

    def take(client: TestClient) -> None:
        later = time.monotonic() + 100
        monkeypatch.setattr(app_of(client).state.context.auth, "_clock", lambda: later)
        monkeypatch.setattr(Store, "read", broken)

    return take


def test_metrics_report_that_the_store_is_down(
    client: TestClient, down: Callable[[TestClient], None]
) -> None:
    client.post(POINTS, json=steps("insert"))
    down(client)
    assert client.get("/api/v1/series").status_code == 503
    metrics = scraped(client)
    assert (metrics["barograph_ready",], metrics["barograph_store_up",]) == (0, 0)
    assert math.isnan(metrics["barograph_series_waiting",])
    assert metrics["barograph_points_total", "written"] == 30
    assert metrics["barograph_http_requests_total", "GET", "/api/v1/series", "503"] == 1


def test_metrics_accept_cached_tokens_while_the_store_is_down(
    client: TestClient, down: Callable[[TestClient], None]
) -> None:
    known, weak, new = (
        make_token(client, scope) for scope in (Scope.READ, Scope.INGEST, Scope.ADMIN)
    )
    scraped(client, known)
    assert client.get("/metrics", headers=weak).status_code == 403
    down(client)
    assert scraped(client, known)["barograph_store_up",] == 0
    codes = [client.get("/metrics", headers=headers).status_code for headers in ({}, weak, new)]
    assert codes == [503, 403, 503]
    wrong = {"Authorization": "Bearer baro_wrong"}
    assert client.get("/metrics", headers=wrong).status_code == 503
    assert client.get("/api/v1/series", headers=known).status_code == 503


def test_metrics_refuse_revoked_tokens_while_the_store_is_down(
    client: TestClient, down: Callable[[TestClient], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = make_token(client, Scope.READ)
    scraped(client, read)
    store_of(client).write(lambda c: tokens.revoke(c, "read", "test"))
    later = time.monotonic() + 10
    monkeypatch.setattr(app_of(client).state.context.auth, "_clock", lambda: later)
    assert client.get("/metrics", headers=read).status_code == 401
    down(client)
    assert client.get("/metrics", headers=read).status_code == 503
    assert client.get("/metrics").status_code == 503
