"""The service over HTTP: clients that do not wait, clients that do, batches, and a whole commit.

Small by default; `--full` is the size that it is made for: 40,000 series, 500 trees. The server is
a process of its own, started as `barograph serve`; the store is filled beforehand.
"""

import gc
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import store as stores
from side_by_side import arguments, at_once, pace, seconds, show

SOURCE = Path(__file__).resolve().parent.parent / "src"
PATH = "/api/v1/points"
CLIENTS, RATE = 8, 100
BATCH = 5000
SMALL = {"series": 2000, "history": 100, "trees": 50, "seconds": 5}
FULL = {"series": 40_000, "history": 500, "trees": 500, "seconds": 20}


@contextmanager
def serving(
    folder: Path, url: str
) -> Iterator[tuple[int, subprocess.Popen[bytes], dict[str, float]]]:
    """The service as a process of its own; how long it took until ready, and the first answer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "barograph", "serve", "--log-level", "warning"]
    options = ["--port", str(port), "--store", url]
    model = ["--model", str(folder / "online.baro")]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, *options, *model],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        cwd=folder,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                if ask(HTTPConnection("127.0.0.1", port), "GET", "/ready")[0] == 200:
                    break
            except OSError:
                time.sleep(0.02)
        ready = time.perf_counter() - begun
        connection = HTTPConnection("127.0.0.1", port)
        first = seconds(lambda: post(connection, [one(0, 10**6)]))
        yield port, process, {"start until ready, s": ready, "first point after it, s": first}
    finally:
        process.terminate()
        process.wait()


def ask(connection: HTTPConnection, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request and its answer."""
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def post(connection: HTTPConnection, rows: list[dict[str, Any]]) -> None:
    """Send results; they must all be written."""
    status, told = ask(connection, "POST", PATH, rows)
    if status != 200 or told["written"] != len(rows):
        raise RuntimeError(f"{status}: {str(told)[:300]}")


def one(number: int, order: int, value: float = 100.0) -> dict[str, Any]:
    """One result of the store that `benchmarks/store.py` fills."""
    labels = {"project": "p", "variant": "v", "task": "task", "measurement": "ops"}
    return {**labels, "test": f"test{number}", "order": order, "value": value}


class Load:
    """Results for one running service: each order is used once."""

    def __init__(self, port: int, count: int) -> None:
        self.port = port
        self.count = count
        self.order = 2 * 10**6
        self.random = np.random.default_rng(2)

    def commit(self) -> list[dict[str, Any]]:
        """One new result of every series."""
        self.order += 1
        values = self.random.normal(100.0, 1.0, self.count).tolist()
        return [one(k, self.order, value) for k, value in enumerate(values)]

    def connect(self) -> HTTPConnection:
        """One client's connection."""
        return HTTPConnection("127.0.0.1", self.port)


def open_loop(load: Load, length: float) -> list[float]:
    """Milliseconds from when a request was due to its answer, however late it could be sent."""
    rows = load.commit()
    total = min(int(length * RATE), len(rows))
    found: list[list[float]] = [[] for _ in range(CLIENTS)]
    begun = time.perf_counter() + 0.2

    def client(number: int) -> None:
        connection = load.connect()
        for k in range(number, total, CLIENTS):
            due = begun + k / RATE
            time.sleep(max(0.0, due - time.perf_counter()))
            post(connection, [rows[k]])
            found[number].append(1e3 * (time.perf_counter() - due))

    at_once(client, CLIENTS)
    return sorted(took for mine in found for took in mine)


def one_by_one(load: Load, count: int, clients: int) -> float:
    """Points a second of clients that wait for each answer."""
    rows = load.commit()[:count]

    def client(number: int) -> None:
        connection = load.connect()
        for row in rows[number::clients]:
            post(connection, [row])

    return len(rows) / seconds(lambda: at_once(client, clients))


def in_batches(load: Load, size: int, clients: int) -> float:
    """Points a second of clients that send commits in batches, each waiting for each answer."""
    rows = load.commit() + load.commit()
    batches = [rows[first : first + size] for first in range(0, len(rows), size)]

    def client(number: int) -> None:
        connection = load.connect()
        for batch in batches[number::clients]:
            post(connection, batch)

    return len(rows) / seconds(lambda: at_once(client, clients))


def largest_memory(process: int) -> float:
    """MiB that a process and those that it started ever held, each by itself."""
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith("VmHWM")]
    started = {
        int(child)
        for thread in Path(f"/proc/{process}/task").iterdir()
        for child in (thread / "children").read_text(encoding="utf-8").split()
    }
    return int(line.split()[1]) / 1024 + sum(map(largest_memory, started))


def main() -> None:
    """Fill a store, start the service, and measure it."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--full", action="store_true", help="40,000 series, 500 trees")
    parser.add_argument("--history", type=int, help="points of each series beforehand")
    parser.add_argument("--url", help="of an empty PostgreSQL database, instead of SQLite")
    options = parser.parse_args()
    size = dict(FULL if options.full else SMALL)
    size["history"] = options.history or size["history"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores.model(size["trees"]).save(folder / "online.baro")
        url = options.url or str(folder / "store.db")
        filled = stores.Bench(url, stores.Silent(), size["series"], size["history"])
        filled.store.close()
        gc.collect()
        gc.freeze()  # the client's own memory is not what is measured
        with serving(folder, url) as (port, process, found):
            load = Load(port, size["series"])
            whole = load.commit()
            found["one commit of every series, cold, s"] = seconds(
                lambda: post(load.connect(), whole)
            )
            whole = load.commit()
            found["one commit of every series, s"] = seconds(lambda: post(load.connect(), whole))
            time.sleep(size["seconds"])  # what looks again behind the requests has its time
            flush = 1e3 * stores.fsync(folder)
            took = open_loop(load, size["seconds"])
            found["open loop, p50, ms"] = statistics.median(took)
            found["open loop, p99, ms"] = took[int(0.99 * len(took))]
            found["open loop, p50 beyond one fsync, ms"] = found["open loop, p50, ms"] - flush
            found["open loop, p99 beyond one fsync, ms"] = found["open loop, p99, ms"] - flush
            found["one by one, 1 client, points/s"] = one_by_one(load, 1500, 1)
            found["one by one, 8 clients, points/s"] = one_by_one(load, 2000, CLIENTS)
            for clients in (1, 4):
                what = f"in batches of {BATCH}, {clients} client(s), points/s"
                found[what] = in_batches(load, BATCH, clients)
                found[f"pace then, {clients} client(s), million additions/s"] = pace()
            found["largest memory of its processes, MiB"] = largest_memory(process.pid)
    rows = [{"what": what, "value": value} for what, value in found.items()]
    title = (
        f"The service on {'PostgreSQL' if options.url else 'SQLite'}: {size['series']} series, "
        f"{size['history']} points each, {stores.FEATURE_SET}, {size['trees']} trees; "
        f"{RATE} requests/s of {CLIENTS} clients"
    )
    show(title, rows, options.output, **{"one fsync, ms": flush})


if __name__ == "__main__":
    main()
