"""The queue over HTTP: as JSON and as a page, with its filters, patterns and states."""

import re
import time
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from barograph.server.store.tokens import Scope
from tests.service.conftest import make_token, refresh_loop
from tests.service.samples import POINTS, steps

HOSTILE = '"><script>alert(1)</script>\u202e' + "x" * 450
COMMITS = [f"{k:040x}" for k in range(30)]


@pytest.fixture
def board(client: TestClient) -> TestClient:
    """A service with two series that changed at one commit, and one that improved at another."""
    rows = [
        *steps("insert"),
        *steps(HOSTILE),
        *steps("find", change=15, by=-20.0),
    ]
    for row in rows:
        row |= {"direction": -1, "commit": COMMITS[row["order"]]}
    assert client.post(POINTS, json={"points": rows}).status_code == 200
    refresh_loop(client).run_once(clusters=False)
    return client


def queue_of(board: TestClient, query: str = "") -> Any:
    answer = board.get(f"/api/v1/queue{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def decide(board: TestClient, verdict: str, *members: Any) -> None:
    points = [{"id": member["id"], "version": member["version"]} for member in members]
    body = {"verdict": verdict, "change_points": points}
    assert board.post("/api/v1/verdicts", json=body).json()["refused"] == []


def test_the_queue_groups_by_commit_and_direction(board: TestClient) -> None:
    page = queue_of(board)
    shapes = [(g["order"], g["effect"], len(g["members"])) for g in page["groups"]]
    assert shapes == [(25, "worse", 2), (15, "better", 1)]
    assert (page["total"], page["change_points"], page["next"]) == (2, 3, None)
    [member] = page["groups"][1]["members"]
    assert (member["version"], member["last_before"], round(member["percent"])) == (0, 14, -20)


def test_one_chosen_change_point_is_named_in_the_singular(board: TestClient) -> None:
    assert re.search(r"Chosen <b[^>]*>1 change point</b>", board.get("/?ids=1").text)


def test_a_change_from_zero_is_named_in_every_list(client: TestClient) -> None:
    rows = [row | {"value": 5.0 * (row["order"] >= 25)} for row in steps("errors")]
    client.post(POINTS, json=[row | {"commit": f"c{row['order']}"} for row in rows])
    refresh_loop(client).run_once(clusters=False)
    for address in ("/", "/queue/members?of=1", "/commit?project=db&order=25"):
        assert "from 0" in client.get(address).text, address
    decide(client, "true_positive", {"id": 1, "version": 0})
    assert "from 0" in client.get("/processed").text


def test_the_moment_of_an_order_stands_where_no_commit_has_a_name(client: TestClient) -> None:
    start, hour = 1_776_643_200_000, 3_600_000
    rows = [row | {"order": start + row["order"] * hour} for row in steps("query", change=24)]
    client.post(POINTS, json=[{k: v for k, v in row.items() if k != "commit"} for row in rows])
    refresh_loop(client).run_once(clusters=False)
    order = start + 24 * hour
    for address in ("/", "/commits", f"/commit?project=db&order={order}"):
        page = client.get(address).text
        assert "2026-04-21</code>" in page, address
        assert f"order {order}</code>" not in page


def test_effectiveness_counts_the_change_points_and_their_commits(board: TestClient) -> None:
    counts = board.get("/api/v1/change-points/effectiveness").json()
    assert (counts["change_points"], counts["commits"], counts["commits_processed"]) == (3, 2, 0)
    assert not any(board.get("/api/v1/change-points/effectiveness?project=no").json().values())


def test_pages_of_the_queue_follow_each_other(board: TestClient) -> None:
    first = queue_of(board, "?limit=1")
    assert first["next"] == 1
    second = queue_of(board, f"?limit=1&offset={first['next']}")
    assert second["groups"][0]["order"] == 15
    assert second["next"] is None
    assert queue_of(board, "?limit=0&newer_than=0")["newer"] == 2


@pytest.mark.parametrize("query", ["?effect=odd", "?since=soon", "?sort=odd", "?ids=1,x", "?a=b"])
def test_a_filter_that_cannot_be_read_is_refused(board: TestClient, query: str) -> None:
    assert board.get(f"/api/v1/queue{query}").status_code == 422
    assert "The request was refused" in board.get(f"/{query}").text


def test_the_page_of_a_refused_request_names_the_parameter_alone(board: TestClient) -> None:
    assert "<p>Project: Field required</p>" in board.get("/commit?order=1").text
    assert "<p>Number: Input should be a valid integer" in board.get("/series/x").text


def test_the_page_shows_groups_with_plots_and_escapes_names(board: TestClient) -> None:
    page = board.get("/")
    assert page.status_code == 200
    assert page.text.count('class="group"') == 2
    assert page.text.count('<path class="level worse"') == 1
    assert "<script>alert" not in page.text
    assert "\u202e" not in page.text
    assert "style=" not in page.text


def test_the_members_of_a_group_are_rows(board: TestClient) -> None:
    [number] = re.findall(r'data-group="(\d+)"', board.get("/?effect=worse").text)
    members = board.get(f"/queue/members?of={number}")
    assert members.text.count('class="member"') == 2
    assert "<script>alert" not in members.text
    assert board.get("/queue/members?of=99").status_code == 404
    assert board.get("/queue/rows?offset=1").text.count('class="group"') == 1


def test_filters_live_in_the_address_of_the_page(board: TestClient) -> None:
    page = board.get("/?test=find&probability=0.2").text
    assert page.count('class="group"') == 1
    assert 'data-query="test=find&amp;probability=0.2"' in page
    assert 'href="/?probability=0.2" aria-label="Remove the filter: Test"' in page
    assert "Nothing matches" in board.get("/?test=none").text


def test_a_sort_that_tears_commits_apart_shows_the_commit_in_each_row(board: TestClient) -> None:
    assert "commit-row" in board.get("/").text
    page = board.get("/?sort=name").text
    assert "commit-row" not in page
    assert page.count('class="range-cell"') == 2


@pytest.mark.parametrize(
    ("sort", "announced"),
    [
        *(("name", "ascending"), ("-name", "descending"), ("age", "ascending")),
        *(("change", "descending"), ("-change", "ascending")),
        *(("hazard", "descending"), ("-hazard", "ascending")),
    ],
)
def test_the_order_of_a_column_is_announced(board: TestClient, sort: str, announced: str) -> None:
    page = board.get(f"/?sort={sort}").text
    column = sort.removeprefix("-")
    assert re.findall(r'data-column="(\w+)" aria-sort="(\w+)"', page) == [(column, announced)]


def test_the_default_order_is_said_and_no_column_claims_it(board: TestClient) -> None:
    page = board.get("/").text
    assert "data-order" in page
    assert "aria-sort" not in page
    assert "data-order" not in board.get("/?sort=hazard").text


def test_patterns_hide_series_and_the_page_counts_them(board: TestClient) -> None:
    patterns = {"canary": ["*/find*"], "low_priority": [], "informational": []}
    assert board.put("/api/v1/patterns", json=patterns).json() == patterns
    assert queue_of(board)["hidden"] == {"canary": 1}
    assert "1 group hidden: 1 canary." in board.get("/").text
    assert queue_of(board, "?show=canary")["total"] == 2


def test_patterns_need_the_scope_admin(board: TestClient) -> None:
    triage = make_token(board, Scope.TRIAGE, Scope.READ)
    patterns: dict[str, list[str]] = {"canary": [], "low_priority": [], "informational": []}
    assert board.put("/api/v1/patterns", json=patterns, headers=triage).status_code == 403
    assert board.get("/api/v1/patterns", headers=triage).json() == patterns


@pytest.mark.parametrize("name", ["Morning triage", "a/b", "/"])
def test_filters_are_saved_by_name(board: TestClient, name: str) -> None:
    address = f"/api/v1/saved-filters/{quote(name, safe='')}"
    assert board.put(address, json={"query": "effect=worse"}).json()["name"] == name
    page = board.get("/?effect=worse").text
    assert f'href="/?effect=worse" aria-current="true" title="Saved by local"><bdi>{name}<' in page
    renamed = board.patch(address, json={"name": f"{name}2"})
    assert renamed.json()["name"] == f"{name}2"
    assert board.patch(address, json={"name": name}).status_code == 404
    again = f"/api/v1/saved-filters/{quote(name + '2', safe='')}"
    assert board.patch(again, json={"name": f"{name}2"}).status_code == 422
    assert board.delete(again).json() == {"filters": []}
    assert board.delete(again).status_code == 404


def test_a_reader_sees_the_queue_and_the_missing_scope(board: TestClient) -> None:
    reader = make_token(board, Scope.READ)
    page = board.get("/", headers=reader).text
    assert "data-readonly" in page
    assert "Verdicts need the scope <code>triage</code>" in page
    assert page.count('class="group"') == 2


def test_processed_shows_who_decided_and_why(board: TestClient) -> None:
    assert "No verdicts yet" in board.get("/processed").text
    [member] = queue_of(board, "?test=find")["groups"][0]["members"]
    patterns = {
        "verdict": "false_positive",
        "reason": "host",
        "note": "a noisy <host>",
        "change_points": [{"id": member["id"], "version": 0}],
    }
    assert board.post("/api/v1/verdicts", json=patterns).json()["refused"] == []
    page = board.get("/processed").text
    assert "Noise 1" in page
    assert "a noisy &lt;host&gt;" in page
    assert page.count("data-reopen") == 1
    assert "Nothing matches" in board.get("/processed?verdict=true_positive").text
    assert queue_of(board)["total"] == 1


def test_processed_change_points_are_json_too(board: TestClient) -> None:
    assert board.get("/api/v1/processed").json()["change_points"] == []
    decide(board, "false_positive", *queue_of(board, "?test=find")["groups"][0]["members"])
    decide(board, "unsure", *queue_of(board)["groups"][0]["members"])
    answer = board.get("/api/v1/processed?limit=2").json()
    assert [change_point["verdict"] for change_point in answer["change_points"]] == [
        "unsure",
        "unsure",
    ]
    assert (answer["counts"], answer["next"]) == ({"false_positive": 1, "unsure": 2}, 2)
    [point] = board.get("/api/v1/processed?verdict=false_positive&test=find").json()[
        "change_points"
    ]
    assert (point["who"], point["version"], round(point["percent"])) == ("local", 1, -20)
    assert board.get("/api/v1/processed?who=nobody").json()["change_points"] == []
    assert board.get("/api/v1/processed?verdict=odd").status_code == 422


def test_members_follow_each_other_while_some_are_decided(
    board: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barograph.server.web.pages.queue.MEMBERS", 1)
    worst, other = queue_of(board, "?effect=worse")["groups"][0]["members"]
    page = board.get(f"/queue/members?of={worst['id']}").text
    assert re.findall(r'data-candidate="(\d+)"', page) == [str(worst["id"])]
    [place] = re.findall(r'data-next="([^"]+)"', page)
    decide(board, "true_positive", worst)
    following = board.get(f"/queue/members?of={other['id']}&after={quote(place)}").text
    assert re.findall(r'data-candidate="(\d+)"', following) == [str(other["id"])]
    assert "data-next" not in following
    assert board.get(f"/queue/members?of={other['id']}&after=x").status_code == 422


def test_a_page_can_ask_what_changed_in_its_groups(board: TestClient) -> None:
    worst, other = queue_of(board, "?effect=worse")["groups"][0]["members"]
    address = f"/api/v1/queue/groups?of={other['id']},{worst['id']}"
    first, second = board.get(address).json()["groups"]
    assert first["members"] == second["members"]
    assert {member["id"] for member in first["members"]} == {worst["id"], other["id"]}
    decide(board, "true_positive", worst)
    assert board.get(address).json()["groups"] == [
        {"of": other["id"], "members": [{"id": other["id"], "version": 0}]},
        {"of": worst["id"], "members": []},
    ]
    assert board.get("/api/v1/queue/groups?of=all").status_code == 422


def test_the_board_counts_what_waits_and_dates_the_newest_result(board: TestClient) -> None:
    state = board.get("/api/v1/board").json()
    assert (state["groups"], state["change_points"], state["silent"]) == (2, 3, 0)
    assert state["last_result"] > 0
    assert state["seconds_left"] is None


def test_the_time_that_the_queue_takes_is_from_the_verdicts_of_the_reader(
    board: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = queue_of(board, "?test=find")["groups"][0]["members"]
    clock = time.time_ns() // 1_000_000 - 3_600_000
    for number in range(12):
        clock += 30_000 if number != 5 else 600_000  # a break does not count
        monkeypatch.setattr("barograph.server.triage.verdicts.now", lambda moment=clock: moment)
        [member] = members
        decide(board, "not_triaged", {**member, "version": number})
    assert board.get("/api/v1/board").json()["seconds_left"] == 60.0
    assert "About 1 min at your pace." in board.get("/").text
    reader = make_token(board, Scope.READ)
    assert board.get("/api/v1/board", headers=reader).json()["seconds_left"] is None


def test_all_clear_is_not_an_empty_table(board: TestClient) -> None:
    points = [
        {"id": member["id"], "version": 0}
        for g in queue_of(board)["groups"]
        for member in g["members"]
    ]
    board.post("/api/v1/verdicts", json={"verdict": "unsure", "change_points": points})
    page = board.get("/").text
    assert "All clear" in page
    assert board.get("/?state=unsure").text.count('class="group"') == 2


def test_values_of_a_label_help_to_choose_a_filter(board: TestClient) -> None:
    answer = board.get("/api/v1/queue/values?label=project").json()
    assert answer == {"values": [{"value": "db", "count": 3}]}
