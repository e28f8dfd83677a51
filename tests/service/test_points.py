"""`POST /api/v1/points`: results, decisions, limits, and errors in one shape."""

import gzip
import json
import threading
import time
import zlib
from typing import Any

import pytest
from fastapi.testclient import TestClient

from barograph.results.fields import identity_of
from barograph.server.store import Limits
from barograph.server.web.settings import Settings
from tests.service.conftest import Start
from tests.service.samples import POINTS, result, steps

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def store_url(url: str) -> str:
    """Here on every database."""
    return url


def post(client: TestClient, body: bytes, **headers: str) -> tuple[int, Any]:
    sent = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): text for name, text in headers.items()
    }
    answer = client.post(POINTS, content=body, headers=sent)
    return answer.status_code, answer.json()


def sent(client: TestClient, reply: Any) -> Any:
    answer = client.post(POINTS, json=reply)
    assert answer.status_code == 200, answer.text
    return answer.json()


def counts(reply: Any) -> tuple[int, int, int, int]:
    return reply["written"], reply["duplicate"], reply["revised"], reply["rejected"]


def test_post_points_takes_one_result(client: TestClient) -> None:
    reply = sent(client, result(direction="higher_is_better", time="2024-01-26T00:15:08Z"))
    assert counts(reply) == (1, 0, 0, 0)
    [decision] = reply["decisions"]
    assert decision["status"] == "written"
    assert decision["is_change"] is False
    [point] = client.get(f"/api/v1/series/{decision['series']}/points").json()["points"]
    assert point["time"] == 1706228108000
    assert point["model"] == reply["model"]


def test_series_has_the_unit_of_its_results(client: TestClient) -> None:
    rows = [
        result(order=1, value=4.5, unit=" ms "),
        result(order=2, value=0.005, unit="s"),
        result(order=3, value=4.7, unit=None),
        result(order=4, value=4.8, unit="MB"),
        result(order=5, value=4.9, unit="x" * 501),
    ]
    reply = sent(client, rows)
    assert counts(reply) == (3, 0, 0, 2)
    assert [row["reason"] for row in reply["decisions"][3:]] == [
        "unit: 'MB' cannot be converted to 'ms', the unit of the series",
        "unit: Expected `str` of length <= 500",
    ]
    [series] = client.get("/api/v1/series").json()["series"]
    assert (series["unit"], series["direction"]) == ("ms", -1)
    points = client.get(f"/api/v1/series/{series['id']}/points").json()["points"]
    assert [point["value"] for point in points] == [4.5, 5.0, 4.7]
    assert client.get(f"/api/v1/series/{series['id']}/chart").json()["series"]["unit"] == "ms"


@pytest.mark.parametrize(
    ("stated", "expected"), [({}, 1), ({"direction": "lower_is_better"}, -1), ({"unit": "kg"}, 0)]
)
def test_unit_gives_the_direction_that_a_result_does_not_state(
    client: TestClient, stated: dict[str, Any], expected: int
) -> None:
    sent(client, {**result(unit="ops/s"), **stated})
    [series] = client.get("/api/v1/series").json()["series"]
    assert series["direction"] == expected


def test_unit_does_not_contradict_the_direction_that_an_earlier_result_states(
    client: TestClient,
) -> None:
    sent(client, result(order=1, unit="ops/s", direction="lower_is_better"))
    assert counts(sent(client, result(order=2, unit="ops/s"))) == (1, 0, 0, 0)
    [series] = client.get("/api/v1/series").json()["series"]
    assert series["direction"] == -1


@pytest.mark.parametrize("form", ["list", "points", "lines", "gzip", "two members"])
def test_post_points_takes_every_form_of_a_batch(client: TestClient, form: str) -> None:
    batch = steps("insert")
    body = json.dumps({"points": batch} if form == "points" else batch).encode()
    headers = {"Content_Type": "application/json"}
    if form == "lines":
        body = b"\n\n".join(json.dumps(row).encode() for row in batch) + b"\n"
        headers["Content_Type"] = "application/x-ndjson; charset=utf-8"
    if "gzip" in form or "two" in form:
        headers["Content_Encoding"] = "gzip"
        parts = (body,) if form == "gzip" else (body[:50], body[50:])
        body = b"".join(map(gzip.compress, parts))
    status, reply = post(client, body, **headers)
    assert status == 200
    assert counts(reply) == (30, 0, 0, 0)
    actual = [row["order"] for row in reply["decisions"] if row["is_change"]]
    assert 25 in actual


def test_same_batch_again_writes_nothing(client: TestClient) -> None:
    batch = steps("insert")
    first, again = sent(client, batch), sent(client, batch)
    assert counts(again) == (0, 30, 0, 0)
    mine = [(row["order"], row["probability"], row["is_change"]) for row in first["decisions"]]
    assert mine == [
        (row["order"], row["probability"], row["is_change"]) for row in again["decisions"]
    ]


def test_another_value_is_a_revision(client: TestClient) -> None:
    sent(client, result(1, 100.0))
    reply = sent(client, result(1, 200.0))
    assert counts(reply) == (0, 0, 1, 0)
    number = reply["decisions"][0]["series"]
    [held] = client.get(f"/api/v1/series/{number}/points").json()["points"]
    assert f"{held['value']:g}" in reply["decisions"][0]["reason"]


def test_invalid_rows_are_rejected_and_the_others_written(client: TestClient) -> None:
    rows = [result(1), {"test": "x", "order": 1}, {**result(2), "value": "slow"}, 7, result(3)]
    reply = sent(client, rows)
    assert counts(reply) == (2, 0, 0, 3)
    assert [row["status"] for row in reply["decisions"]] == [
        *("written", "rejected", "rejected", "rejected", "written")
    ]
    assert reply["decisions"][1]["reason"] == "Object missing required field `value`"
    assert sum(reply["rejection_reasons"].values()) == 3


def test_malformed_line_rejects_only_its_row(client: TestClient) -> None:
    lines = [json.dumps(result(1)), '{"test": "x"', json.dumps(result(2))]
    status, reply = post(client, "\n".join(lines).encode(), Content_Type="application/x-ndjson")
    assert (status, counts(reply)) == (200, (2, 0, 0, 1))


def test_rejection_names_the_field_and_what_is_allowed(client: TestClient) -> None:
    rows = [{**result(1), "value": "slow"}, {**result(2), "test": "x" * 501}]
    reply = client.post(POINTS, json=rows).json()["error"]
    assert [row["message"] for row in reply["details"]] == [
        "value: Expected `float`, got `str`",
        "test: Expected `str` of length <= 500",
    ]


ARGUMENTS = (8, 8.0, "8", True, 1, "true", None, 0.5, [1, "a"], {"b": None, "a": 2})


def test_arguments_are_compared_as_in_load(client: TestClient) -> None:
    rows = [result(k, args={"n": argument, "a": "x"}) for k, argument in enumerate(ARGUMENTS)]
    reply = sent(client, rows)
    listed = client.get("/api/v1/series").json()["series"]
    args = {series["id"]: series["args"] for series in listed}
    assert [args[decision["series"]] for decision in reply["decisions"]] == [
        dict(identity_of({"test": "x", "args": row["args"]}).args) for row in rows
    ]
    numbers = [decision["series"] for decision in reply["decisions"]]
    assert len(set(numbers)) == len(listed) == 7
    assert [decision["series"] for decision in sent(client, rows[::-1])["decisions"]] == numbers[
        ::-1
    ]


DEEP = b"[" * 50_000 + b"]" * 50_000
MALFORMED = {
    "empty": (b"", 400),
    "broken": (b'{"value": ', 400),
    "two values": (b"{} {}", 400),
    "utf-16": ("{}".encode("utf-16"), 400),
    "latin-1": ('{"test": "ä"}'.encode("latin-1"), 400),
    "byte order mark": (b"\xef\xbb\xbf{}", 400),
    "zeros": (b"\0" * 100, 400),
    "NaN": (b'{"test": "x", "order": 1, "value": NaN}', 400),
    "infinity": (b'{"test": "x", "order": 1, "value": -Infinity}', 400),
    "huge exponent": (b'{"test": "x", "order": 1, "value": 1e999}', 422),
    "huge value": (b'{"test": "x", "order": 1, "value": 1e300}', 422),
    "huge integer": (b'{"test": "x", "value": 1, "order": 1' + b"0" * 4000 + b"}", 422),
    "more digits than Python reads": (b'{"value": ' + b"9" * 5000 + b"}", 422),
    "value too large for a float": (b'{"test":"x","order":1,"value":1' + b"0" * 400 + b"}", 422),
    "nested": (DEEP, 400),
    "nested objects": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 400),
    "number": (b"7", 422),
    "null": (b"null", 422),
    "text": (b'"x"', 422),
    "nothing": (b"[]", 422),
    "nothing in points": (b'{"points": []}', 422),
    "points is no list": (b'{"points": {}}', 422),
    "more than points": (b'{"points": [], "x": 1}', 422),
    "unknown field": (b'{"test": "x", "order": 1, "value": 1, "valeu": 2}', 422),
    "value is text": (b'{"test": "x", "order": 1, "value": "1"}', 422),
    "value is true": (b'{"test": "x", "order": 1, "value": true}', 422),
    "value is null": (b'{"test": "x", "order": 1, "value": null}', 422),
    "label is a list": (b'{"test": ["x"], "order": 1, "value": 1}', 422),
    "label is null": (b'{"test": null, "order": 1, "value": 1}', 422),
    "args is a list": (b'{"test": "x", "args": [], "order": 1, "value": 1}', 422),
    "argument is a long list": (
        b'{"test": "x", "args": {"a": [' + b"1," * 999 + b'1]}, "order": 1, "value": 1}',
        422,
    ),
    "half a character in an argument": (
        b'{"test": "x", "args": {"a": "\\ud800"}, "order": 1, "value": 1}',
        400,
    ),
    "order is half": (b'{"test": "x", "order": 1.5, "value": 1}', 422),
    "order is text": (b'{"test": "x", "order": "1", "value": 1}', 422),
    "no order": (b'{"test": "x", "value": 1}', 422),
    "no label": (b'{"order": 1, "value": 1}', 422),
    "zero byte": (b'{"test": "a\\u0000b", "order": 1, "value": 1}', 422),
    "half a character": (b'{"test": "\\ud800", "order": 1, "value": 1}', 400),
    "half a character in a field": (b'{"\\ud800": 1, "order": 1, "value": 1}', 400),
    "long label": (b'{"test": "' + b"x" * 600 + b'", "order": 1, "value": 1}', 422),
    "huge label": (b'{"test": "' + b"x" * 100_000 + b'", "order": 1, "value": 1}', 422),
    "unit": (b'{"test": "x", "order": 1, "value": 1, "unit": 2}', 422),
    "unit 2": (b'{"test": "x", "order": 1, "value": 1, "unit": "m\\u0000"}', 422),
    "direction": (b'{"test": "x", "order": 1, "value": 1, "direction": "up"}', 422),
    "direction 2": (b'{"test": "x", "order": 1, "value": 1, "direction": 2}', 422),
    "time": (b'{"test": "x", "order": 1, "value": 1, "time": "yesterday"}', 422),
    "time beyond": (b'{"test": "x", "order": 1, "value": 1, "time": 1e300}', 422),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_bodies_answer_4xx(client: TestClient, name: str) -> None:
    body, expected = MALFORMED[name]
    status, reply = post(client, body)
    assert status == expected
    assert set(reply) == {"error"}
    assert set(reply["error"]) == {"status", "kind", "message", "details"}
    assert reply["error"]["status"] == status
    assert len(reply["error"]["message"]) < 500
    assert client.get("/api/v1/series").json() == {"series": [], "next": None, "noise": []}


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"Content_Type": "text/plain"}, b"{}", 415),
        ({"Content_Type": ""}, b"{}", 415),
        ({"Content_Encoding": "br"}, b"{}", 415),
        ({"Content_Encoding": "gzip, gzip"}, b"{}", 415),
        ({"Content_Encoding": "gzip"}, b"{}", 400),
        ({"Content_Encoding": "gzip"}, gzip.compress(b"{}" * 99, mtime=0)[:-9], 400),
        ({"Content_Encoding": "gzip"}, zlib.compress(b"{}"), 400),
        ({"Content_Type": "application/x-ndjson"}, b'{"test": "x"\n', 422),
        ({"Content_Type": "application/x-ndjson"}, b"\n\n", 422),
    ],
)
def test_unknown_media_types_and_encodings_are_refused(
    client: TestClient, headers: dict[str, str], body: bytes, expected: int
) -> None:
    assert post(client, body, **headers)[0] == expected


def test_gzip_of_many_tiny_members_takes_linear_time(client: TestClient) -> None:
    members = gzip.compress(b" ", 1, mtime=0) * 200_000  # 4 MB; squared time took half a minute
    began = time.process_time()
    assert post(client, members, Content_Encoding="gzip")[0] == 400
    assert time.process_time() - began < 10


def test_gzip_may_have_members_of_any_size(client: TestClient) -> None:
    body = json.dumps(steps("insert")).encode()
    pieces = [body[start : start + 7] for start in range(0, len(body), 7)] + [b" " * 100_000]
    packed = b"".join(gzip.compress(piece, mtime=0) for piece in pieces)
    assert post(client, packed, Content_Encoding="gzip")[0] == 200


def test_gzip_is_unpacked_in_another_thread(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def unpack(packed: bytes, limit: int) -> bytes:
        names.append(threading.current_thread().name)
        return gzip.decompress(packed)[:limit]

    monkeypatch.setattr("barograph.server.web.context._unpack", unpack)
    assert post(client, gzip.compress(b'"x"'), Content_Encoding="gzip")[0] == 422
    assert [name.startswith("asyncio_") for name in names] == [True]


def test_gzip_bombs_are_refused(start: Start) -> None:
    client = start(Settings(max_unpacked=1 << 20))
    bomb = gzip.compress(b" " * (64 << 20))
    assert post(client, bomb, Content_Encoding="gzip")[0] == 413
    many = gzip.compress(b" " * 1000) * 2000
    assert post(client, many, Content_Encoding="gzip")[0] == 413
    twice = gzip.compress(bomb)
    assert post(client, twice, Content_Encoding="gzip")[0] == 400


def test_request_size_is_limited(start: Start) -> None:
    client = start(Settings(max_body=10_000), Limits(batch=5, runs=3, label=10))
    assert post(client, b" " * 10_001)[0] == 413
    chunked = client.post(POINTS, content=iter([b" " * 6000] * 2), headers=JSON)
    assert chunked.status_code == 413
    assert client.post(POINTS, json=[result(k) for k in range(6)]).status_code == 413
    assert post(client, b"[" + b"1," * 2000 + b"1]")[0] == 413
    reply = sent(client, [result(1, run=str(k)) for k in range(5)])
    assert counts(reply) == (3, 0, 0, 2)
    assert "no more are allowed" in reply["decisions"][-1]["reason"]
    status, refused = post(client, json.dumps(result(1, test="x" * 11)).encode())
    assert status == 422
    assert refused["error"]["details"] == [
        {"row": 0, "message": "test: 11 characters, allowed are 10"}
    ]


def test_second_order_of_a_commit_is_refused(client: TestClient) -> None:
    sent(client, result(order=5, commit="a"))
    answer = client.post(POINTS, json=result(order=9, commit="a"))
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert message.startswith("order: 9, but commit 'a' of project 'db' has order 5;")
