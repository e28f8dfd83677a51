"""The real server is killed and its disk fills up: nothing that was acknowledged is lost."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import sqlalchemy as sa
from fastapi.testclient import TestClient

from tests.service.conftest import store_of
from tests.service.samples import POINTS, result, steps
from tests.shared import PATIENCE, wait_for

KILLS, WIDE, FAR = 3, 20, 100_000
SOURCE = Path(__file__).resolve().parents[2] / "src"


@contextmanager
def server(store: Path, model: Path) -> Iterator[tuple[httpx2.Client, subprocess.Popen[bytes]]]:
    """The service as a process of its own, ready."""
    log = store.with_suffix(".log")
    command = ["-m", "barograph", "serve", "--port", "0", "--log-level", "error"]
    places = ["--store", str(store), "--model", str(model)]
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, *command, *places],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            cwd=store.parent,
            stderr=file,
        )

    def urls() -> list[str]:
        assert process.poll() is None, log.read_text()
        return re.findall(r"serving (http://127\.0\.0\.1:[1-9]\d*) from \S+; ", log.read_text())

    try:
        wait_for(urls)
        with httpx2.Client(base_url=urls()[0], trust_env=False, timeout=PATIENCE) as client:
            wait_for(lambda: client.get("/ready").status_code == 200)
            yield client, process
    finally:
        process.kill()
        process.wait()


def test_serve_reports_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-m", "barograph", "serve", "--port", port, "--store", "s.db"],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "serving" not in done.stderr
    assert f"barograph: cannot listen on http://127.0.0.1:{port}" in done.stderr


def test_serve_names_its_store_and_the_port_that_it_got(tmp_path: Path, artifact: Path) -> None:
    with server(tmp_path / "s.db", artifact) as (client, _):
        assert client.base_url.port
        expected = f"serving http://127.0.0.1:{client.base_url.port} from {tmp_path / 's.db'}; "
        assert expected in (tmp_path / "s.log").read_text()


def ingest(client: httpx2.Client, first: int, kept: list[int]) -> None:
    """Send batch after batch until the service is gone; remember each that was acknowledged."""
    for order in range(first, first + FAR):
        batch = [result(order, float(order * k % 17), test=f"t{k}") for k in range(WIDE)]
        try:
            answer = client.post(POINTS, json=batch)
        except httpx2.TransportError:
            return
        assert answer.json()["written"] == WIDE
        kept.append(order)


def stored(client: httpx2.Client) -> dict[str, dict[int, Any]]:
    by_test = {}
    for series in client.get("/api/v1/series").json()["series"]:
        reply = client.get(f"/api/v1/series/{series['id']}/points", params={"limit": 10_000})
        by_test[series["test"]] = {
            point["order"]: point["value"] for point in reply.json()["points"]
        }
    return by_test


def test_kill_during_ingest_loses_no_acknowledged_point(tmp_path: Path, artifact: Path) -> None:
    store, kept, rng = tmp_path / "killed.db", list[int](), random.Random(7)
    for number in range(KILLS):
        with server(store, artifact) as (client, process):
            sender = threading.Thread(target=ingest, args=(client, number * FAR, kept))
            before = len(kept)
            sender.start()
            wait_for(lambda before=before: len(kept) >= before + 2)  # type: ignore[misc]
            time.sleep(rng.uniform(0.0, 0.5))
            process.send_signal(signal.SIGKILL)
            sender.join()
    assert len(kept) > KILLS
    with server(store, artifact) as (client, process):
        points = stored(client)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0
    assert not store.with_name("killed.db-wal").exists()  # written back and closed
    orders = {frozenset(values) for values in points.values()}
    assert len(orders) == 1, "a batch was written in part"
    assert set(kept) <= orders.pop()
    assert all(
        points[f"t{k}"][order] == float(order * k % 17) for order in kept for k in range(WIDE)
    )


def test_full_disk_answers_503_and_the_service_recovers(client: TestClient) -> None:
    client.post(POINTS, json=steps("insert"))
    store = store_of(client)

    def pages(count: int) -> Any:
        def limited(connection: Any, *_: object) -> None:
            connection.execute(f"PRAGMA max_page_count = {count}")

        return limited

    big = [result(k, float(k), test=f"t{j}") for k in range(500) for j in range(6)]
    full = pages(1)
    sa.event.listen(store._engine, "checkout", full)
    answer = client.post(POINTS, json=big)
    assert answer.status_code == 503
    assert answer.json()["error"]["kind"] == "unavailable"
    assert "full" in answer.json()["error"]["message"]
    assert answer.headers["retry-after"] == "1"
    # A thread that reads all series after the start may be waiting for its turn to use the store.
    wait_for(lambda: client.get("/ready").status_code == 200)
    sa.event.remove(store._engine, "checkout", full)
    sa.event.listen(store._engine, "checkout", pages(1_000_000))
    assert client.post(POINTS, json=big).json()["written"] == 3000
    assert client.post(POINTS, json=steps("insert")).json()["duplicate"] == 30


def test_deleted_database_answers_503_until_it_is_back(client: TestClient, store_url: str) -> None:
    assert client.post(POINTS, json=steps("insert")).json()["written"] == 30
    path = Path(store_url)
    path.rename(path.with_suffix(".gone"))
    for answer in (client.post(POINTS, json=steps("query")), client.get("/ready")):
        assert answer.status_code == 503
        assert "was deleted while it was open" in answer.json()["error"]["message"]
    page = client.get("/")
    assert (page.status_code, "<h1>Not available</h1>" in page.text) == (503, True)
    assert client.get("/health").status_code == 200
    path.with_suffix(".gone").rename(path)
    assert client.get("/ready").status_code == 200
    assert client.post(POINTS, json=steps("query")).json()["written"] == 30


def test_concurrent_clients_leave_the_same_points_as_one_client(client: TestClient) -> None:
    rows = steps("insert", length=60, change=40)
    answers: list[Any] = []

    def send(number: int) -> None:
        mine = rows[number::4] + rows[::9]
        answers.extend([client.post(POINTS, json=row).json() for row in mine])

    threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(answer["written"] for answer in answers) == 60
    points = client.get("/api/v1/series/1/points").json()["points"]
    assert [point["value"] for point in points] == [row["value"] for row in rows]
    for again in rows:
        again["test"] = "again"
    client.post(POINTS, json=rows)
    alone = client.get("/api/v1/series/2/points").json()["points"]
    assert alone == points
