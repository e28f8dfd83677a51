"""Signing in to the pages, and what a session may do."""

import re

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from barograph.server.store import audit, tokens
from barograph.server.store.audit import now
from barograph.server.store.tokens import Scope
from barograph.server.web.auth import COOKIE, CSRF
from barograph.server.web.pages.sign_in import safe_path
from barograph.server.web.settings import Settings
from tests.service.conftest import Start, app_of, make_token, store_of

HERE = "http://127.0.0.1"


def secret_of(client: TestClient, *scopes: Scope) -> str:
    return make_token(client, *scopes)["Authorization"].removeprefix("Bearer ")


def sign_in(client: TestClient, secret: str, target: str = "/", **headers: str) -> Response:
    form = {"token": secret, "next": target}
    return client.post("/sign-in", data=form, headers=headers, follow_redirects=False)


def csrf_of(client: TestClient) -> dict[str, str]:
    return {CSRF: client.get("/api/v1/session").json()["csrf"]}


@pytest.fixture
def signed_in(client: TestClient) -> TestClient:
    secret = secret_of(client, Scope.READ, Scope.TRIAGE)
    assert sign_in(client, secret).status_code == 303
    return client


def test_token_is_exchanged_for_a_strict_cookie(client: TestClient) -> None:
    secret = secret_of(client, Scope.READ, Scope.TRIAGE)
    answer = sign_in(client, secret, "/series/7?from=3")
    assert answer.headers["location"] == "/series/7?from=3"
    cookie = answer.headers["set-cookie"]
    assert re.search(r"; HttpOnly; Max-Age=43200; Path=/; SameSite=strict$", cookie)
    assert secret not in cookie
    who = client.get("/api/v1/session").json()
    assert (who["name"], who["scopes"]) == ("read-triage", ["read", "triage"])
    with store_of(client).read() as connection:
        [entry] = audit.trail(connection, 1)
    assert (entry.who, entry.action) == ("read-triage", "signed in")


@pytest.mark.parametrize(
    ("forwarded", "trusted", "secure"),
    [("https", True, True), ("http", True, False), ("https", False, False)],
)
def test_cookie_is_secure_behind_a_trusted_proxy_with_tls(
    start: Start, forwarded: str, *, trusted: bool, secure: bool
) -> None:
    proxies = frozenset(["127.0.0.1"] if trusted else [])
    client = start(Settings(trusted_proxies=proxies))
    answer = sign_in(client, secret_of(client, Scope.READ), **{"X-Forwarded-Proto": forwarded})
    assert answer.headers["set-cookie"].endswith("Secure") is secure


@pytest.mark.parametrize("token", ["baro_wrong", "", "x" * 5000, "ü"])
def test_wrong_token_is_refused(client: TestClient, token: str) -> None:
    make_token(client, Scope.READ)
    answer = sign_in(client, token)
    assert answer.status_code == 401
    assert "Unknown token." in answer.text
    assert "set-cookie" not in answer.headers


def test_wrong_tokens_are_rate_limited_at_the_sign_in(start: Start) -> None:
    client = start(Settings(rate=0.001, burst=2))
    make_token(client, Scope.READ)
    answers = [sign_in(client, "baro_guess") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [401, 401, 429]
    assert int(answers[-1].headers["retry-after"]) > 0


def test_valid_token_is_rate_limited_at_the_sign_in(start: Start) -> None:
    client = start(Settings(rate=0.001, burst=4))
    secret = secret_of(client, Scope.READ)
    answers = [sign_in(client, secret) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [303] * 4 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) > 1
    with store_of(client).read() as connection:
        entries = audit.trail(connection, 100)
    assert sum(entry.action == "signed in" for entry in entries) == 4


def test_sign_in_page_is_rate_limited(start: Start) -> None:
    client = start(Settings(rate=0.001, burst=2))
    secret_of(client, Scope.READ)
    codes = [client.get("/sign-in").status_code for _ in range(4)]
    assert codes == [200, 200, 429, 429]


def test_token_that_may_not_read_cannot_sign_in(client: TestClient) -> None:
    answer = sign_in(client, secret_of(client, Scope.INGEST))
    assert answer.status_code == 403
    assert "the scope ingest; pages need the scope read" in answer.text


def test_write_by_cookie_needs_the_csrf_header(signed_in: TestClient) -> None:
    body = {"verdict": "unsure", "change_points": [{"id": 9}]}
    old = {CSRF: "0" * 64}
    for headers in ({}, old):
        refused = signed_in.post("/api/v1/verdicts", json=body, headers=headers)
        assert (refused.status_code, CSRF in refused.text) == (403, True)
    answer = signed_in.post("/api/v1/verdicts", json=body, headers=csrf_of(signed_in))
    assert answer.status_code == 200
    assert answer.json()["refused"][0]["why"] == "gone"


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_every_method_that_writes_by_cookie_needs_the_csrf_header(
    signed_in: TestClient, method: str
) -> None:
    refused = signed_in.request(method, "/api/v1/saved-filters/mine", json={"query": ""})
    assert (refused.status_code, CSRF in refused.text) == (403, True)


def test_csrf_token_of_another_session_is_refused(signed_in: TestClient) -> None:
    other = csrf_of(signed_in)
    secret = secret_of(signed_in, Scope.READ, Scope.TRIAGE, Scope.INGEST)
    assert sign_in(signed_in, secret).status_code == 303
    body = {"verdict": "unsure", "change_points": [{"id": 9}]}
    assert signed_in.post("/api/v1/verdicts", json=body, headers=other).status_code == 403


def test_session_has_the_scopes_of_its_token_only(client: TestClient) -> None:
    sign_in(client, secret_of(client, Scope.READ))
    body = {"verdict": "unsure", "change_points": [{"id": 9}]}
    answer = client.post("/api/v1/verdicts", json=body, headers=csrf_of(client))
    assert answer.status_code == 403
    assert "lacks the scope 'triage'" in answer.text


def test_sign_out_ends_the_session(signed_in: TestClient) -> None:
    cookie = signed_in.cookies[COOKIE]
    csrf = signed_in.get("/api/v1/session").json()["csrf"]
    stale = signed_in.post("/sign-out", data={"csrf": "old"}, follow_redirects=False)
    assert stale.status_code == 403
    answer = signed_in.post("/sign-out", data={"csrf": csrf}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert COOKIE not in signed_in.cookies
    stolen = {"Cookie": f"{COOKIE}={cookie}"}
    assert signed_in.get("/api/v1/session", headers=stolen).status_code == 401


def test_revoked_token_ends_its_sessions(signed_in: TestClient) -> None:
    store_of(signed_in).write(lambda c: tokens.revoke(c, "read-triage", "test"))
    app_of(signed_in).state.context.auth.forget()
    assert signed_in.get("/api/v1/session").status_code == 401


def test_session_expires(client: TestClient) -> None:
    secret = secret_of(client, Scope.READ)
    store = store_of(client)

    def begin(connection: object) -> str:
        token = tokens.find(connection, secret)  # type: ignore[arg-type]
        assert token is not None
        return tokens.begin_session(connection, token, 1000, now() - 1001)  # type: ignore[arg-type]

    old = {"Cookie": f"{COOKIE}={store.write(begin)}"}
    answer = client.get("/api/v1/session", headers=old)
    assert answer.status_code == 401
    assert "the session has ended" in answer.text


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Origin": "http://evil.example"}, 403), ({"Host": "evil.example"}, 421)],
)
def test_forms_of_other_sites_are_refused(
    signed_in: TestClient, path: str, headers: dict[str, str], status: int
) -> None:
    answer = signed_in.post(path, data={"token": "x"}, headers=headers, follow_redirects=False)
    assert answer.status_code == status
    assert signed_in.get("/api/v1/session").status_code == 200


def test_request_of_another_site_is_refused_even_with_token_or_cookie(
    signed_in: TestClient,
) -> None:
    bearer = make_token(signed_in, Scope.READ)
    for headers in ({}, bearer):
        origin = headers | {"Origin": "http://evil.example"}
        assert signed_in.get("/api/v1/session", headers=origin).status_code == 403
        host = headers | {"Host": "evil.example"}
        assert signed_in.get("/api/v1/session", headers=host).status_code == 421


def test_allowed_hosts_are_served_but_never_trusted_without_a_token(start: Start) -> None:
    client = start(Settings(allowed_hosts=frozenset(["bench.example"])))
    named = {"Host": "bench.example"}
    assert client.get("/api/v1/series", headers=named).status_code == 401
    bearer = make_token(client, Scope.READ)
    assert client.get("/api/v1/series", headers=named | bearer).status_code == 200
    proxied = {"Host": "127.0.0.1:8000", "Origin": "https://bench.example"}
    assert client.get("/api/v1/series", headers=proxied | bearer).status_code == 200


@pytest.mark.parametrize(("scheme", "status"), [("http", 403), ("https", 200)])
@pytest.mark.parametrize("page", ["127.0.0.1", "bench.example"])
def test_page_of_plain_http_is_another_site_for_a_service_with_tls(
    start: Start, page: str, scheme: str, status: int
) -> None:
    proxied = frozenset(["127.0.0.1"])
    client = start(Settings(allowed_hosts=frozenset(["bench.example"]), trusted_proxies=proxied))
    headers = {"X-Forwarded-Proto": "https", "Origin": f"{scheme}://{page}"}
    answer = client.get("/sign-in", headers=headers, follow_redirects=False)
    assert answer.status_code != 403  # a link leads here
    bearer = make_token(client, Scope.READ)
    secret = bearer["Authorization"].partition(" ")[2]
    answer = client.post("/sign-in", data={"token": secret}, headers=headers)
    assert answer.status_code == status
    answer = client.get("/api/v1/series", headers=bearer | headers)
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("host", "status"),
    [("10.1.2.3:8000", 200), ("[2001:db8::1]:8000", 200), ("evil.example", 421)],
)
def test_service_for_other_machines_answers_for_its_addresses(
    start: Start, host: str, status: int
) -> None:
    client = start(Settings(local=False))
    bearer = make_token(client, Scope.READ)
    assert client.get("/api/v1/series", headers=bearer | {"Host": host}).status_code == status


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "",
        "x",
        "/a\nb",
        "/" + "a" * 2001,
    ],
)
def test_sign_in_leads_to_paths_of_this_service_only(path: str) -> None:
    assert safe_path(path) == "/"


def test_signed_out_visitor_of_a_page_is_led_to_the_sign_in(client: TestClient) -> None:
    make_token(client, Scope.READ)
    answer = client.get("/?q=a%20b", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/sign-in?next=%2F%3Fq%3Da%2520b",
    )
    script = client.get("/", headers={"Sec-Fetch-Mode": "cors"}, follow_redirects=False)
    assert script.status_code == 401
    link = client.get("/", headers={"Sec-Fetch-Site": "cross-site"}, follow_redirects=False)
    assert (link.status_code, 'http-equiv="refresh"' in link.text) == (200, True)


def test_sign_in_page_is_skipped_by_those_who_need_none(client: TestClient) -> None:
    answer = client.get("/sign-in?next=/series", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/series")
    far = TestClient(app_of(client), HERE, client=("10.0.0.7", 1))
    assert "No token exists yet." in far.get("/sign-in").text
    make_token(client, Scope.READ)
    form = client.get("/sign-in?next=//evil.example").text
    assert 'name="next" value="/"' in form
