"""Subjects and authors of commits: sent over HTTP, and shown wherever a commit is."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from barograph.server.store.tokens import Scope
from tests.service.conftest import make_token, refresh_loop
from tests.service.samples import POINTS, steps

COMMITS = "/api/v1/commits"
SUBJECT = "Take <locks> eagerly"
DETAILS = {
    "project": "db",
    "commit": "c25",
    "subject": SUBJECT,
    "author": "Ada",
    "url": "https://git.example/c25",
    "parent": "c24",
}


@pytest.fixture
def changed(client: TestClient) -> TestClient:
    """A service with a change at commit c25."""
    rows = [{**row, "commit": f"c{row['order']}", "direction": -1} for row in steps("insert")]
    assert client.post(POINTS, json={"points": rows}).status_code == 200
    refresh_loop(client).run_once(clusters=False)
    return client


def describe(client: TestClient, *details: dict[str, Any], **more: Any) -> Any:
    return client.post(COMMITS, json={"commits": details}, **more)


def test_the_subject_and_the_author_of_a_commit_are_shown_everywhere(changed: TestClient) -> None:
    assert describe(changed, DETAILS, {"project": "db", "commit": "not yet measured"}).json() == {
        "saved": 2
    }
    [group] = changed.get("/api/v1/queue").json()["groups"]
    assert (group["subject"], group["author"]) == (SUBJECT, "Ada")
    [listed] = changed.get(f"{COMMITS}?project=db").json()["commits"]
    assert (listed["subject"], listed["author"]) == (SUBJECT, "Ada")
    answer = changed.get("/api/v1/commit?project=db&order=25").json()
    assert answer["details"] == [DETAILS]
    assert f"{SUBJECT} · Ada · https://git.example/c25" in answer["text"].splitlines()
    suspects = changed.get(f"/api/v1/change-points/{group['members'][0]['id']}/suspects").json()
    assert suspects["commits"][-1]["subject"] == SUBJECT
    for address in ("/", "/commits", "/commit?project=db&order=25"):
        assert "Take &lt;locks&gt; eagerly" in changed.get(address).text


def test_pages_say_that_a_commit_is_the_only_one_once_its_parent_is_known(
    changed: TestClient,
) -> None:
    addresses = ("/", "/commit?project=db&order=25")

    def pages() -> list[str]:
        return [changed.get(address).text for address in addresses]

    assert not any("the only commit" in page.lower() for page in pages())
    assert all("ommits that were not measured may lie between" in page for page in pages())
    describe(changed, {**DETAILS, "parent": "unmeasured"})
    assert "2 known commits" in pages()[0]
    describe(changed, DETAILS)
    assert all("the only commit" in page.lower() for page in pages())
    assert not any("may lie between" in page for page in pages())


def test_a_commit_of_which_only_the_parent_is_known_has_no_details(changed: TestClient) -> None:
    describe(changed, {"project": "db", "commit": "c25", "parent": "c24"})
    assert changed.get("/api/v1/commit?project=db&order=25").json()["details"] == []


def test_a_change_under_investigation_counts_as_undecided(changed: TestClient) -> None:
    body = {"verdict": "under_investigation", "change_points": [{"id": 1, "version": 0}]}
    assert changed.post("/api/v1/verdicts", json=body).json()["refused"] == []
    assert changed.get("/api/v1/queue").json()["total"] == 0
    for address in ("/commits?project=db", "/series"):
        page = changed.get(address).text
        assert "To decide" not in page, address
        assert ">Undecided</th>" in page


def test_a_commit_that_is_described_again_is_replaced(changed: TestClient) -> None:
    describe(changed, DETAILS)
    describe(changed, {**DETAILS, "subject": "Revert", "author": "", "parent": ""})
    [listed] = changed.get(f"{COMMITS}?project=db").json()["commits"]
    assert (listed["subject"], listed["author"]) == ("Revert", "")
    [kept] = changed.get("/api/v1/commit?project=db&order=25").json()["details"]
    assert kept["parent"] == "c24"


@pytest.mark.parametrize(
    "wrong",
    [
        {"commit": ""},
        {"subject": "x" * 501},
        {"author": "a\nb"},
        {"url": "javascript:alert(1)"},
        {"order": 25},
        {"parent": "a\nb"},
    ],
)
def test_details_that_cannot_be_shown_are_refused(
    changed: TestClient, wrong: dict[str, Any]
) -> None:
    answer = describe(changed, {**DETAILS, **wrong})
    assert answer.status_code == 422
    assert next(iter(wrong)) in answer.json()["error"]["message"]
    assert changed.get("/api/v1/commit?project=db&order=25").json()["details"] == []


def test_an_error_names_the_commit_that_it_is_about(changed: TestClient) -> None:
    answer = describe(changed, DETAILS, DETAILS | {"subject": 501 * "s"})
    message = "commits.1.subject: 501 characters, allowed are 500"
    assert answer.json()["error"]["message"] == message


def test_describing_a_commit_needs_the_scope_ingest(changed: TestClient) -> None:
    triage = make_token(changed, Scope.TRIAGE, Scope.READ)
    assert describe(changed, DETAILS, headers=triage).status_code == 403
