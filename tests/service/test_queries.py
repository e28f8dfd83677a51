"""Reading series, points, decisions and change points; verdicts; invocations."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from barograph.server.store.tokens import Scope
from tests.service.conftest import make_token, refresh_loop
from tests.service.samples import POINTS, result, steps


@pytest.fixture
def store_url(url: str) -> str:
    """Here on every database."""
    return url


def pages(client: TestClient, path: str, rows: str, key: str, **options: Any) -> list[Any]:
    entries: list[Any] = []
    following = None
    while True:
        query = options | ({} if following is None else {key: following})
        reply = client.get(path, params=query).json()
        entries += reply[rows]
        following = reply["next"]
        if following is None:
            return entries


def test_series_are_found_by_their_labels(client: TestClient) -> None:
    rows = [result(1, test=f"t{k % 3}", project=f"p{k % 2}") for k in range(6)]
    client.post(POINTS, json=rows)
    assert len(pages(client, "/api/v1/series", "series", "after", limit=2)) == 6
    [entry] = pages(client, "/api/v1/series", "series", "after", test="t1", project="p1")
    assert (entry["test"], entry["project"], entry["args"]) == ("t1", "p1", {})
    assert client.get(f"/api/v1/series/{entry['id']}").json() == entry


def test_series_have_their_noise_if_it_is_asked_for(client: TestClient) -> None:
    rows = [result(k, 100.0 + k * 7 % 5, test="long") for k in range(60)]
    client.post(POINTS, json=[*rows, result(1, test="short")])
    assert client.get("/api/v1/series").json()["noise"] == []
    long, short = client.get("/api/v1/series?noise=true").json()["noise"]
    assert short is None
    assert long["level"] == 102.0
    assert long["scatter"] < long["smallest_5"] <= long["smallest_0"]
    assert client.get("/api/v1/series?noise=true&limit=101").status_code == 422
    client.post(POINTS, json=[result(60, 102.0, test="long")])
    [again] = client.get("/api/v1/series?noise=true&test=long").json()["noise"]
    assert again["results"] == long["results"] + 1


def test_list_of_series_shows_the_smallest_change(client: TestClient) -> None:
    rows = [result(k, 100.0 + k * 7 % 5, test="long") for k in range(60)]
    client.post(POINTS, json=[*rows, result(1, test="short")])
    noise, _ = client.get("/api/v1/series?noise=true").json()["noise"]
    percent = 100.0 * noise["smallest_5"] / noise["level"]
    page = client.get("/series").text
    assert f">{percent:.1f} %</span>" in page
    assert page.count('<span class="hint">unknown</span>') == 1


@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_pages_of_points_keep_commits_whole(client: TestClient, limit: int) -> None:
    rows = [result(k // 3, 100 + k, run=f"r{k % 3}") for k in range(20)]
    number = client.post(POINTS, json=rows).json()["decisions"][0]["series"]
    path = f"/api/v1/series/{number}"
    points = pages(client, f"{path}/points", "points", "from_order", limit=limit)
    assert [point["value"] for point in points] == [row["value"] for row in rows]
    decided = pages(client, f"{path}/decisions", "decisions", "from_order", limit=limit)
    assert [point["order"] for point in decided] == list(range(7))
    firsts = [point for point in points if point["run"] == "r0"]
    assert [point["probability"] for point in decided] == [point["probability"] for point in firsts]
    assert [point["settled"] is None for point in points] == [
        point["run"] != "r0" for point in points
    ]
    changes = pages(
        client, f"{path}/decisions", "decisions", "from_order", limit=limit, changes_only=True
    )
    assert changes == [point for point in decided if point["is_change"]]


def test_change_points_appear_and_take_verdicts(client: TestClient) -> None:
    number = client.post(POINTS, json=steps("insert")).json()["decisions"][0]["series"]
    refresh_loop(client).run_once(clusters=True)
    triage = make_token(client, Scope.TRIAGE)
    read = make_token(client, Scope.READ)
    waiting = {"verdict": "not_triaged", "project": "db"}
    reply = client.get("/api/v1/change-points", params=waiting, headers=read).json()
    [change] = reply["change_points"]
    assert (change["series"], change["order"], change["detector"]) == (number, 25, "Hunter")
    path = f"/api/v1/change-points/{change['id']}"
    verdict = {"verdict": "true_positive", "note": "fixed", "change_points": [{"id": change["id"]}]}
    answer = client.post("/api/v1/verdicts", json=verdict, headers=triage)
    assert answer.status_code == 200, answer.text
    assert client.get(path, headers=read).json()["verdict"] == "true_positive"
    events = client.get(f"{path}/history", headers=read).json()["events"]
    assert [(event["who"], event["text"]) for event in events if event["who"]] == [
        ("triage", "fixed")
    ]
    reply = client.get("/api/v1/change-points", params=waiting, headers=read).json()
    assert reply["change_points"] == []
    mine = client.get(f"/api/v1/series/{number}/change-points", headers=read).json()
    assert [point["id"] for point in mine["change_points"]] == [change["id"]]


def test_unknown_verdicts_and_fields_are_refused(client: TestClient) -> None:
    path, sent = "/api/v1/verdicts", {"verdict": "true_positive", "change_points": [{"id": 1}]}
    assert client.post(path, json=sent | {"verdict": "maybe"}).status_code == 422
    assert client.post(path, json=sent | {"change_points": []}).status_code == 422
    assert client.post(path, json=sent | {"by": "me"}).status_code == 422
    assert client.post(path, content=b"[" * 9999).status_code == 415


def test_one_verdict_on_many_change_points_is_undone_in_one_step(client: TestClient) -> None:
    for name in ("insert", "find"):
        client.post(POINTS, json=steps(name))
    refresh_loop(client).run_once(clusters=False)
    triage = make_token(client, Scope.TRIAGE, Scope.READ)
    listed = client.get("/api/v1/change-points", headers=triage).json()["change_points"]
    seen = [{"id": series["id"], "version": series["version"]} for series in listed]
    body = {"verdict": "unsure", "reason": "host", "change_points": [*seen, {"id": 99}]}
    keyed = triage | {"Idempotency-Key": "k1"}
    answer = client.post("/api/v1/verdicts", json=body, headers=keyed).json()
    assert answer["saved"] == [{"id": point["id"], "version": 1} for point in seen]
    assert [(item["id"], item["why"]) for item in answer["refused"]] == [(99, "gone")]
    assert client.post("/api/v1/verdicts", json=body, headers=keyed).json() == answer
    stale = {"verdict": "true_positive", "change_points": [{"id": seen[0]["id"], "version": 0}]}
    [refused] = client.post("/api/v1/verdicts", json=stale, headers=triage).json()["refused"]
    assert (refused["why"], refused["verdict"], refused["who"]) == (
        *("decided", "unsure", "triage-read"),
    )
    undo = f"/api/v1/verdicts/{answer['batch']}/undo"
    assert len(client.post(undo, headers=triage).json()["saved"]) == 2
    assert client.post("/api/v1/verdicts/99/undo", headers=triage).status_code == 404
    first = client.get("/api/v1/verdicts", params={"limit": 3}, headers=triage).json()
    assert [entry["verdict"] for entry in first["verdicts"]] == [
        "not_triaged",
        "not_triaged",
        "unsure",
    ]
    rest = {"before": first["next"], "limit": 3}
    last = client.get("/api/v1/verdicts", params=rest, headers=triage).json()
    assert (len(last["verdicts"]), last["next"]) == (1, None)
    assert last["verdicts"][0]["reason"] == "host"


def test_audit_lists_who_did_what(client: TestClient) -> None:
    client.post(POINTS, json=result(1))
    make_token(client, Scope.ADMIN)
    admin = make_token(client, Scope.ADMIN, Scope.READ)
    acts = client.get("/api/v1/audit", headers=admin).json()["entries"]
    assert [(act["who"], act["action"]) for act in acts][-1] == ("local", "ingest")
    assert {act["action"] for act in acts} == {"ingest", "token created"}


def rows_for(client: TestClient) -> tuple[list[str], list[list[float]]]:
    columns = client.get("/api/v1/model").json()["columns"]
    return columns, [[0.5] * len(columns), [3.0] * len(columns)]


def test_invocations_give_the_same_predictions_in_every_form(client: TestClient) -> None:
    columns, rows = rows_for(client)
    turned = columns[::-1]
    forms: list[dict[str, Any]] = [
        {"dataframe_split": {"columns": columns, "data": rows}},
        {"dataframe_split": {"columns": turned, "data": rows, "index": [0, 1]}},
        {"dataframe_records": [dict(zip(turned, row, strict=True)) for row in rows]},
        {"inputs": rows},
        {"inputs": {name: [row[0] for row in rows] for name in columns}},
        {"instances": rows},
        {"inputs": rows, "params": None},
        {"inputs": rows, "params": {"temperature": 0.5}},
    ]
    answers = [client.post("/invocations", json=form) for form in forms]
    assert [answer.status_code for answer in answers] == [200] * len(forms)
    assert len({answer.text for answer in answers}) == 1
    assert len(answers[0].json()["predictions"]) == 2


def test_invocations_refuse_repeated_columns_by_name(client: TestClient) -> None:
    columns, rows = rows_for(client)
    doubled = {"columns": [*columns, columns[1]], "data": [[*row, 7.0] for row in rows]}
    answer = client.post("/invocations", json={"dataframe_split": doubled})
    assert answer.status_code == 422
    assert repr(columns[1]) in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "form",
    [
        {},
        [],
        {"inputs": []},
        {"inputs": [[1]]},
        {"inputs": [["x"]]},
        {"inputs": {"a": [1], "b": [1, 2]}},
        {"inputs": [[1e300] * 6, [1]]},
        {"dataframe_split": {"columns": ["a"], "data": [[1, 2]]}},
        {"dataframe_records": [{"a": 1}]},
        {"inputs": [[1]], "instances": [[1]]},
        {"inputs": [[0.5] * 6], "params": [1]},
        {"unknown": 1},
    ],
)
def test_invocations_refuse_invalid_forms(client: TestClient, form: Any) -> None:
    answer = client.post("/invocations", json=form)
    assert answer.status_code == 422
    assert answer.json()["error"]["kind"] == "invalid"


def test_unknown_query_parameter_is_refused(client: TestClient) -> None:
    reply = client.get("/api/v1/change-points", params={"verdikt": "not_triaged"})
    assert reply.status_code == 422
    assert "no query parameter 'verdikt'; allowed: " in reply.json()["error"]["message"]
    assert "verdict" in reply.json()["error"]["message"]
    assert client.get("/api/v1/model", params={"x": "1"}).status_code == 422
