"""Measure the service over HTTP: single points, batches, a whole commit, start and memory.

The default is a small store. `--full` has 40,000 series of 500 points and a forest of 500 trees,
and prints the limits that the service has to meet. The server is a separate process, started as
`barograph serve`; the store is filled first. The clients share the machine with it, so they encode
their results in advance and read only the counts of the answers.
"""

import gc
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import numpy as np
import store as stores
from side_by_side import arguments, at_once, fsync, pace, seconds, show

SOURCE = Path(__file__).resolve().parent.parent / "src"
PATH = "/api/v1/points"
CLIENTS, RATE = 8, 100
BATCH = 5000
SMALL = {"series": 2000, "history": 100, "trees": 50, "seconds": 5}
FULL = {"series": 40_000, "history": 500, "trees": 500, "seconds": 20}
MEMORY = "largest memory of its processes together, MiB"
LIMITS = {
    "first point after it, s": "< 2",
    "one commit of every series, s": "< 25",
    "open loop, p50 beyond one fsync, ms": "<= 10",
    "open loop, p99 beyond one fsync, ms": "<= 40",
    f"in batches of {BATCH}, 1 client(s), points/s": ">= 2000",
    f"in batches of {BATCH}, 4 client(s), points/s": ">= 2000",
    MEMORY: "< 1024",
}


@contextmanager
def serving(
    folder: Path, url: str
) -> Iterator[tuple[int, subprocess.Popen[bytes], dict[str, float]]]:
    """Start the service; yield its port, its process, and the times of its start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    (folder / "service.toml").write_text("[serve]\nrate = 100000\n", encoding="utf-8")
    config = ["--config", str(folder / "service.toml")]
    command = [sys.executable, "-m", "barograph", *config, "serve", "--log-level", "warning"]
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
                pass  # it does not listen yet
            time.sleep(0.02)
        ready = time.perf_counter() - begun
        connection = HTTPConnection("127.0.0.1", port)
        first = seconds(lambda: post(connection, [result(0, 10**6)]))
        yield port, process, {"start until ready, s": ready, "first point after it, s": first}
    finally:
        process.terminate()
        process.wait()


class Counts(msgspec.Struct):
    """What a client reads of an answer."""

    written: int


def ask(
    connection: HTTPConnection, method: str, path: str, body: bytes | None = None
) -> tuple[int, bytes]:
    """Send one request and return its answer."""
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def post(connection: HTTPConnection, rows: Sequence[bytes]) -> None:
    """Send results and check that all were written."""
    status, answer = ask(connection, "POST", PATH, b"[%s]" % b",".join(rows))
    if status != 200 or msgspec.json.decode(answer, type=Counts).written != len(rows):
        raise RuntimeError(f"{status}: {answer[:300]!r}")


def result(number: int, order: int, value: float = 100.0) -> bytes:
    """Return one result of a series of the store that `store.filled` fills, as JSON."""
    labels = {"project": "p", "variant": "v", "task": "task", "measurement": "ops"}
    return msgspec.json.encode({**labels, "test": f"test{number}", "order": order, "value": value})


class Load:
    """New results for a running service; each order is used once."""

    def __init__(self, port: int, count: int) -> None:
        self.port = port
        self.count = count
        self.order = 2 * 10**6
        self.random = np.random.default_rng(2)

    def commit(self) -> list[bytes]:
        """Return one new result of every series."""
        self.order += 1
        values = self.random.normal(100.0, 1.0, self.count).tolist()
        return [result(k, self.order, value) for k, value in enumerate(values)]

    def connect(self) -> HTTPConnection:
        """Return the connection of a client."""
        return HTTPConnection("127.0.0.1", self.port)


def open_loop(load: Load, length: float) -> list[float]:
    """Return the milliseconds from the due time of each request to its answer, sorted."""
    rows = load.commit()
    total = min(int(length * RATE), len(rows))
    times: list[list[float]] = [[] for _ in range(CLIENTS)]
    begun = time.perf_counter() + 0.2

    def client(number: int) -> None:
        connection = load.connect()
        for k in range(number, total, CLIENTS):
            due = begun + k / RATE
            time.sleep(max(0.0, due - time.perf_counter()))
            post(connection, [rows[k]])
            times[number].append(1e3 * (time.perf_counter() - due))

    at_once(client, CLIENTS)
    return sorted(took for client_times in times for took in client_times)


def one_by_one(load: Load, count: int, clients: int) -> float:
    """Return the points per second of clients that wait for each answer."""
    rows = load.commit()[:count]

    def client(number: int) -> None:
        connection = load.connect()
        for row in rows[number::clients]:
            post(connection, [row])

    return len(rows) / seconds(lambda: at_once(client, clients))


def in_batches(load: Load, size: int, clients: int) -> float:
    """Return the points per second of clients that send batches and wait for each answer."""
    rows = load.commit() + load.commit()
    batches = [rows[first : first + size] for first in range(0, len(rows), size)]

    def client(number: int) -> None:
        connection = load.connect()
        for batch in batches[number::clients]:
            post(connection, batch)

    return len(rows) / seconds(lambda: at_once(client, clients))


def memory_of(process: int) -> float:
    """Return the memory that a process and its children use now, in MiB."""
    folder, total = Path(f"/proc/{process}"), 0.0
    # A thread or a child may end while it is looked at; what is gone needs no memory.
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in (folder / "status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS"):
                total = int(line.split()[1]) / 1024
        for thread in (folder / "task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                children = (thread / "children").read_text(encoding="utf-8").split()
                total += sum(memory_of(int(child)) for child in children)
    return total


@contextmanager
def memory_watched(process: int, figures: dict[str, float]) -> Iterator[None]:
    """Add to the figures the most memory that a process and its children used at a time."""
    most, stop = 0.0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not stop.wait(0.1):
            most = max(most, memory_of(process))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        figures[MEMORY] = most


def _send(load: Load, rows: Sequence[bytes]) -> None:
    post(load.connect(), rows)


def measured(load: Load, length: float, flush: float) -> dict[str, float]:
    """Measure whole commits, single points and batches.

    Args:
        load: Where to send them.
        length: Seconds of the open loop.
        flush: Milliseconds of one fsync.
    """
    figures = {}
    for what in ("one commit of every series, cold, s", "one commit of every series, s"):
        figures[what] = seconds(partial(_send, load, load.commit()))
    time.sleep(length)  # lets the background process catch up
    took = open_loop(load, length)
    for name, latency in (("p50", statistics.median(took)), ("p99", took[int(0.99 * len(took))])):
        figures[f"open loop, {name}, ms"] = latency
        figures[f"open loop, {name} beyond one fsync, ms"] = latency - flush
    figures["one by one, 1 client, points/s"] = one_by_one(load, 1500, 1)
    figures["one by one, 8 clients, points/s"] = one_by_one(load, 2000, CLIENTS)
    for clients in (1, 4):
        what = f"in batches of {BATCH}, {clients} client(s), points/s"
        figures[what] = in_batches(load, BATCH, clients)
        figures[f"pace then, {clients} client(s), million additions/s"] = pace()
    return figures


def main() -> None:
    """Fill a store, start the service, and measure it."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--full", action="store_true", help="40,000 series, 500 trees")
    parser.add_argument("--history", type=int, help="points of each series before the measurement")
    parser.add_argument("--url", help="of an empty PostgreSQL database, instead of SQLite")
    options = parser.parse_args()
    size = dict(FULL if options.full else SMALL)
    size["history"] = options.history or size["history"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = stores.model(size["trees"])
        trees.save(folder / "online.baro")
        url = options.url or str(folder / "store.db")
        stores.filled(url, trees, size["series"], size["history"]).close()
        gc.collect()
        gc.freeze()  # the memory of the client is not measured
        with serving(folder, url) as (port, process, figures):
            flush = 1e3 * fsync(folder)
            with memory_watched(process.pid, figures):
                figures.update(measured(Load(port, size["series"]), size["seconds"], flush))
    limits = LIMITS if options.full else {}
    rows = [
        {"what": what, "value": value, "limit": limits.get(what, "")}
        for what, value in figures.items()
    ]
    title = (
        f"The service on {'PostgreSQL' if options.url else 'SQLite'}: {size['series']} series, "
        f"{size['history']} points each, a pair of {size['trees']} trees; "
        f"{RATE} requests/s of {CLIENTS} clients"
    )
    show(title, rows, options.output, **{"one fsync, ms": flush})


if __name__ == "__main__":
    main()
