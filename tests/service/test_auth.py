"""Authorisation: every route without a token, with a wrong one, and with one of another scope."""

import re
import time
from collections.abc import Iterator

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from barograph.server.store import tokens
from barograph.server.store.tokens import Scope
from barograph.server.web.app import ROUTERS
from barograph.server.web.auth import RateLimiter, is_loopback
from barograph.server.web.context import GuardedRoute
from barograph.server.web.settings import Settings
from tests.service.conftest import Start, app_of, make_token, store_of
from tests.service.samples import POINTS, result
from tests.shared import ROOT

# Routes that need no token.
OPEN = {"/health", "/ready", "/ping", "/openapi.json"}
OPEN_PAGES = {"/sign-in", "/sign-out", "/static/{digest}/{name}"}


def routes() -> Iterator[tuple[str, str, Scope]]:
    for router in ROUTERS:
        for route in router.routes:
            assert isinstance(route, APIRoute)
            if isinstance(route, GuardedRoute) and route.include_in_schema:
                for method in route.methods or ():
                    yield method, route.path, route.scope


GUARDED = sorted(routes())


def call(client: TestClient, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    url = path.replace("{number}", "1").replace("{name}", "x")
    answer = client.request(method, url, headers=headers)
    reply = answer.json().get("error", {}) if answer.status_code >= 400 else {}
    return answer.status_code, reply.get("kind", "")


def test_every_route_is_guarded_except_the_open_ones(client: TestClient) -> None:
    paths = {
        getattr(route, "path", "")
        for route in app_of(client).routes
        if not isinstance(route, GuardedRoute)
    }
    assert paths == OPEN | OPEN_PAGES


@pytest.mark.parametrize(("method", "path", "scope"), GUARDED)
def test_route_needs_its_scope(start: Start, method: str, path: str, scope: Scope) -> None:
    client = start()
    strong = make_token(client, scope)
    assert call(client, method, path, {}) == (401, "unauthorised")
    for wrong in ("Bearer baro_wrong", "Bearer", "Basic eDp4", "Bearer " + "x" * 5000):
        assert call(client, method, path, {"Authorization": wrong}) == (401, "unauthorised")
    for weak in set(Scope) - {scope, Scope.ADMIN}:
        assert call(client, method, path, make_token(client, weak)) == (403, "forbidden")
    assert call(client, method, path, strong)[0] not in {401, 403}
    admin = strong if scope is Scope.ADMIN else make_token(client, Scope.ADMIN)
    assert call(client, method, path, admin)[0] not in {401, 403}


def test_scopes_are_those_of_the_documentation() -> None:
    page = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    stated = {
        (method, path): scope
        for routes, scope in re.findall(r"^\| (`.*`) \| `(\w+)` \|", page, re.MULTILINE)
        for method, path in re.findall(r"`(\w+) (\S+)`", routes)
    }
    used = {
        (method, path.replace(":path}", "}")): scope.value  # how it is matched
        for method, path, scope in GUARDED
    }
    assert stated == used


def test_open_routes_need_no_token(client: TestClient) -> None:
    make_token(client, Scope.READ)
    assert {path: client.get(path).status_code for path in OPEN} == dict.fromkeys(OPEN, 200)


def test_revoked_token_is_refused_at_once(client: TestClient) -> None:
    admin = make_token(client, Scope.ADMIN)
    made = client.post("/api/v1/tokens", json={"name": "x", "scopes": ["read"]}, headers=admin)
    assert made.status_code == 201
    header = {"Authorization": f"Bearer {made.json()['token']}"}
    assert client.get("/api/v1/series", headers=header).status_code == 200
    assert client.delete("/api/v1/tokens/x", headers=admin).status_code == 200
    assert client.get("/api/v1/series", headers=header).status_code == 401
    listed = client.get("/api/v1/tokens", headers=admin).text
    assert made.json()["token"] not in listed


def test_token_that_another_process_revoked_is_accepted_for_a_second_at_most(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = make_token(client, Scope.READ)
    auth = app_of(client).state.context.auth
    assert client.get("/api/v1/series", headers=read).status_code == 200
    store_of(client).write(lambda c: tokens.revoke(c, "read", "test"))
    monkeypatch.setattr(auth, "_clock", lambda: time.monotonic() + 1.0)
    assert client.get("/api/v1/series", headers=read).status_code == 401


def test_revoking_the_last_token_still_requires_a_token(client: TestClient) -> None:
    admin = make_token(client, Scope.ADMIN)
    assert client.delete("/api/v1/tokens/admin", headers=admin).status_code == 200
    assert client.get("/api/v1/series").status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "10.1.2.3:8000"}, 421),
        ({"Host": "["}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "http://127.0.0.1"}, 200),
        ({"Origin": "http://["}, 403),
        ({"Host": "localhost:8000", "Origin": "http://localhost:8000"}, 200),
        ({"Host": "localhost:8000", "Origin": "http://localhost:3000"}, 403),
        ({"Authorization": "Bearer baro_wrong"}, 401),
    ],
)
def test_without_tokens_only_this_machine_is_trusted(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    assert client.get("/api/v1/series", headers=headers).status_code == status


def test_without_tokens_another_machine_is_refused(client: TestClient) -> None:
    far = TestClient(app_of(client), "http://127.0.0.1", client=("10.0.0.7", 1))
    assert far.get("/api/v1/series").status_code == 401
    assert far.get("/health").status_code == 200


def test_token_is_required_when_not_bound_to_loopback(start: Start) -> None:
    assert start(Settings(local=False)).get("/api/v1/series").status_code == 401


def test_rate_limit_answers_429_with_retry_after(start: Start) -> None:
    client = start(Settings(rate=0.001, burst=3))
    answers = [client.get("/api/v1/series") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert int(answers[-1].headers["retry-after"]) > 1


def test_default_rate_is_below_what_a_service_answers() -> None:
    now = iter(k / 1000 for k in range(9001))  # 1,000 requests a second
    limiter = RateLimiter(Settings().rate, Settings().burst, lambda: next(now))
    refused = sum(limiter.take("ci") > 0 for _ in range(9000))
    assert 5000 < refused < 7000


def test_limiter_forgets_the_callers_that_were_quiet_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("barograph.server.web.auth.CACHED_CALLERS", 2)
    limiter = RateLimiter(0.001, 1)
    assert [limiter.take(name) > 0 for name in "aaba"] == [False, True, False, True]
    assert [limiter.take(name) > 0 for name in "cab"] == [False, True, False]


def test_requests_without_a_token_are_rate_limited_by_address(start: Start) -> None:
    client = start(Settings(local=False, rate=0.001, burst=2))
    codes = [client.get("/api/v1/series").status_code for _ in range(4)]
    assert codes == [401, 401, 429, 429]
    other = TestClient(app_of(client), "http://127.0.0.1", client=("10.0.0.7", 1))
    assert other.get("/api/v1/series").status_code == 401


def test_wrong_tokens_are_rate_limited(start: Start) -> None:
    client = start(Settings(rate=0.001, burst=3))
    make_token(client, Scope.READ)
    wrong = {"Authorization": "Bearer baro_guess"}
    codes = [client.get("/api/v1/series", headers=wrong).status_code for _ in range(5)]
    assert codes == [401, 401, 401, 429, 429]


def test_wrong_tokens_do_not_lock_out_a_valid_token_of_the_same_address(start: Start) -> None:
    client = start(Settings(rate=0.001, burst=3))
    right = make_token(client, Scope.READ)
    wrong = {"Authorization": "Bearer baro_guess"}
    codes = [
        client.get("/api/v1/series", headers=headers).status_code
        for headers in (wrong, wrong, wrong, wrong, right, wrong, right)
    ]
    assert codes == [401, 401, 401, 429, 200, 429, 200]


def test_tokens_are_never_logged(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    header = make_token(client, Scope.INGEST)
    client.post(POINTS, json=result(), headers=header)
    client.post(POINTS, content=b"\xff", headers=header)
    secret = header["Authorization"].removeprefix("Bearer ")
    assert secret not in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_is_loopback_accepts_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org", ""])  # noqa: S104
def test_is_loopback_refuses_reachable_hosts(host: str) -> None:
    assert not is_loopback(host)
