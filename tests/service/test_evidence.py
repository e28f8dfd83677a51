"""The routes about evidence, charts and commits answer as their schemas say."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from barograph.server.web.routes.series import CHART
from tests.service.conftest import refresh_loop
from tests.service.samples import POINTS, steps

REAL = {"verdict": "true_positive", "change_points": [{"id": 2}]}


@pytest.fixture
def changed(client: TestClient) -> TestClient:
    """A service with two variants of a test that step at one commit."""
    sent = [
        {**row, "variant": variant, "commit": f"c{row['order']}", "direction": -1}
        for variant in ("linux", "arm")
        for row in steps("insert")
    ]
    assert client.post(POINTS, json=sent).status_code == 200
    refresh_loop(client).run_once(clusters=False)
    return client


def answer(client: TestClient, path: str, **query: Any) -> Any:
    reply = client.get(f"/api/v1{path}", params=query)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_the_chart_of_a_series_matches_its_schema(changed: TestClient) -> None:
    chart = answer(changed, "/series/1/chart")
    CHART.model_validate(chart)
    assert len(chart["values"]) == 30
    assert [mark["state"] for mark in chart["marks"]] == ["unprocessed"]
    assert chart["marks"][0]["index"] == 25


def test_the_evidence_about_a_change_point_agrees(changed: TestClient) -> None:
    suspects = answer(changed, "/change-points/1/suspects")
    assert [commit["commit"] for commit in suspects["commits"]] == ["c25"]
    siblings = answer(changed, "/change-points/1/siblings")
    assert [sibling["state"] for sibling in siblings["siblings"]] == ["moved"]
    assert siblings["rose"] == 1
    reasons = answer(changed, "/change-points/1/reasons")
    assert "1 of 1 sibling series rose at the same commit." in reasons["facts"]
    assert reasons["reasons"]
    history = answer(changed, "/change-points/1/history")
    assert [event["kind"] for event in history["events"]] == ["detected", "scored"]


def test_cases_alike_appear_after_a_verdict(changed: TestClient) -> None:
    assert answer(changed, "/change-points/1/alike") == {"cases": []}
    changed.post("/api/v1/verdicts", json=REAL)
    [case] = answer(changed, "/change-points/1/alike")["cases"]
    assert (case["change_point"], case["verdict"]) == (2, "true_positive")


def test_a_case_has_the_labels_of_its_series_whatever_they_hold(client: TestClient) -> None:
    sent = [
        {**row, "variant": variant, "args": {"path": "a/b"}, "direction": -1}
        for variant in ("linux", "arm/64")
        for row in steps("read/write")
    ]
    assert client.post(POINTS, json=sent).status_code == 200
    refresh_loop(client).run_once(clusters=False)
    client.post("/api/v1/verdicts", json=REAL)
    [case] = answer(client, "/change-points/1/alike")["cases"]
    assert (case["variant"], case["test"]) == ("arm/64", "read/write")
    assert case["args"] == {"path": "a/b"}


def test_a_commit_answers_with_its_changes_and_a_text(changed: TestClient) -> None:
    [row] = answer(changed, "/commits", project="db")["commits"]
    assert (row["order"], row["worse"]) == (25, 2)
    commit = answer(changed, "/commit", project="db", order=25)
    assert [change["effect"] for change in commit["changed"]] == ["worse", "worse"]
    assert "Worse: 2 series" in commit["text"]
    assert commit["text"].endswith("/commit?project=db&order=25")


@pytest.mark.parametrize(
    "path",
    [
        "/series/9/chart",
        *(f"/change-points/9/{part}" for part in ("suspects", "siblings", "reasons", "history")),
        "/change-points/9/alike",
        "/commit?project=none&order=1",
    ],
)
def test_what_is_not_there_is_not_found(changed: TestClient, path: str) -> None:
    assert changed.get(f"/api/v1{path}").status_code == 404
