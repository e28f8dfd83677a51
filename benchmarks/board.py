"""Measure the board: the time that the server takes for the queue, a verdict, and a series.

The default is a small store. `--full` has 40,000 series of 50 results and 5,000 open candidates,
and prints the limits that the board has to meet. Clients are in the same process, so that what is
measured is the server and not the network. `--browser` also measures in a headless Chromium how
long a series of 5,000 results takes until it is drawn, and each frame of a pan.
"""

import hashlib
import json
import math
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import board_browser
import numpy as np
import sqlalchemy as sa
from fastapi.testclient import TestClient
from side_by_side import arguments, fsync, show
from store import model

from barograph.results.series import Direction, Region, SeriesId
from barograph.results.sizes import size_of
from barograph.server.store import Store
from barograph.server.store.audit import now
from barograph.server.store.database import Insertion, Row
from barograph.server.store.schema import candidates, commits, models, points, series
from barograph.server.web.app import create_app
from barograph.server.web.model_watch import ModelWatch

PROJECTS = ("sys-perf", "sys-perf-8.0", "storage", "drivers", "search")
VARIANTS = (
    "linux-standalone",
    "linux-wt-repl",
    "linux-3-node-replSet",
    "linux-3-shard",
    "atlas-M60",
)
TASKS = (
    "crud_workloads",
    "change_streams_throughput",
    "mixed_writes_replica",
    "ycsb_60GB",
    "canaries",
)
TESTS = (
    *(
        "Inserts.MultiVector",
        "Queries.WildcardIndex",
        "Update.DocValidation",
        "MixedWrites.FindOne",
    ),
    *(
        "Aggregation.SortByArrayOfScalars",
        "15_lookup_1c_update",
        "ycsb_50read50update",
        "canary_ping",
    ),
)
MEASUREMENTS = ("ops_per_sec", "latency_p95")
THREADS = (1, 4, 8, 16, 32, 64)
SMALL = {"size": 2000, "history": 50, "candidates": 500, "runs": 20}
FULL = {"size": 40_000, "history": 50, "candidates": 5000, "runs": 40}
LIMITS = {"limit of the queue": "<= 150 ms", "limit of a verdict beyond one fsync": "<= 50 ms"}
LONG = 5000  # results of the series that a browser draws
CHUNK = 500  # series in one transaction
SERIES = Insertion(series, ("id", "digest", *SeriesId.__dataclass_fields__, "direction", "unit"))
POINT = Insertion(
    points,
    (
        *("series", "order", "run", "commit", "time", "value", "received", "settled", "answer"),
        *("probability", "surprise", "baseline_size", "reruns", "known_since", "model"),
    ),
)
COMMIT = Insertion(commits, ("project", "commit", "order"))
CANDIDATE = Insertion(
    candidates,
    (
        *("series", "order", "commit", "last_before", "detector", "before", "after", "hazard"),
        *("probability", "model", "verdict", "present", "detected_on", "calculated_on"),
    ),
)


def identity(number: int) -> SeriesId:
    """Return the identity of the series of a number: all combinations of labels in turn."""
    labels: list[str] = []
    for values in (PROJECTS, VARIANTS, TASKS, MEASUREMENTS, THREADS, TESTS):
        number, place = divmod(number, len(values))
        labels.append(str(values[place]))
    project, variant, task, measurement, threads, test = labels
    test = f"{test}.{number}" if number else test
    return SeriesId(project, variant, task, test, measurement, (("thread_level", threads),))


def fill(store: Store, *, size: int, history: int, changes: int, seed: int = 0) -> None:
    """Fill an empty store with series, and with open candidates that share some causes.

    Args:
        store: The store.
        size: The number of series.
        history: The number of results of each.
        changes: The number of candidates.
        seed: Seed of the random numbers.
    """
    random = np.random.default_rng(seed)
    end = now()
    hashes = [hashlib.sha256(f"{seed} {k}".encode()).hexdigest()[:40] for k in range(history)]
    model = {"id": 1, "version": "simulated", "threshold": 0.5}

    def head(connection: sa.Connection) -> None:
        connection.execute(sa.insert(models), model)
        rows: list[Row] = [
            (project, name, k) for project in PROJECTS for k, name in enumerate(hashes)
        ]
        COMMIT.into(connection, rows)

    store.write(head)
    changed = set(random.permutation(size)[:changes].tolist())
    causes = random.integers(history // 2, history - 2, max(changes // 25, 1))
    for first in range(0, size, CHUNK):
        rows: tuple[list[Row], ...] = ([], [], [])
        for number in range(first, min(first + CHUNK, size)):
            cause = int(random.choice(causes)) if number in changed else 0
            add_series(rows, random, number, hashes, cause, end)

        def write(connection: sa.Connection, rows: tuple[list[Row], ...] = rows) -> None:
            SERIES.into(connection, rows[0])
            POINT.into(connection, rows[1])
            CANDIDATE.into(connection, rows[2])

        store.write(write)


def add_series(
    rows: tuple[list[Row], ...],
    random: np.random.Generator,
    number: int,
    hashes: list[str],
    cause: int,
    end: int,
) -> None:
    """Add the rows of one series: itself, its results, and its candidate where it has one."""
    name, length = identity(number), len(hashes)
    direction = -1 if name.measurement.startswith("latency") else 1
    args = name.args_json
    labels = (getattr(name, label) for label in SeriesId.__dataclass_fields__ if label != "args")
    rows[0].append((number + 1, name.digest, *labels, args, direction, "ms"))
    level = math.exp(random.normal(8.0, 2.0))
    noise = 0.03 * math.exp(random.normal(0.0, 0.7))
    step = float(random.normal(0.0, 0.15)) if cause else 0.0
    values = level * np.exp(random.normal(0.0, noise, length) + step * (np.arange(length) >= cause))
    hour = 3_600_000
    for order, value in enumerate(values.tolist()):
        measured = end - (length - order) * 6 * hour
        fixed = (value, 0, 0.01, 0.0, order, 0, None, 1)
        rows[1].append((number + 1, order, "", hashes[order], measured, value, measured, *fixed))
    if not cause:
        return
    size = size_of(values[:cause], values[cause:])
    hazard = size.hazard(Direction(direction))
    before, after = Region.of(values[:cause], size.before), Region.of(values[cause:], size.after)
    regions = (
        json.dumps({field: getattr(region, field) for field in Region.__dataclass_fields__})
        for region in (before, after)
    )
    probability = float(1.0 / (1.0 + math.exp(3.0 - 1.2 * abs(step) / noise)))
    found_on = end - (length - cause) * 6 * hour
    rows[2].append(
        (
            *(number + 1, cause, hashes[cause], cause - int(random.integers(1, 4)), "hunter"),
            *regions,
            *(hazard, probability, 1, "not_triaged", True, found_on, found_on),
        )
    )


class Times(NamedTuple):
    """The time of calls on the clock, and of the processor, in milliseconds."""

    clock: list[float]
    processor: list[float]

    @property
    def p95(self) -> dict[str, float]:
        """The 95th percentiles; with other work on the machine only the processor's is of use."""
        pairs = (("clock", self.clock), ("processor", self.processor))
        return {
            name: statistics.quantiles(times, n=20, method="inclusive")[-1] for name, times in pairs
        }


def timed(function: Callable[[], Any], runs: int) -> Times:
    """Time calls after a first one that fills the caches."""
    function()
    times = Times([], [])
    for _ in range(runs):
        clock, processor = time.perf_counter(), time.process_time()
        function()
        times.clock.append(1e3 * (time.perf_counter() - clock))
        times.processor.append(1e3 * (time.process_time() - processor))
    return times


def main() -> None:
    """Fill a store, and measure pages and verdicts."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--full", action="store_true", help="the size that the limits are for")
    parser.add_argument("--browser", action="store_true", help="measure in a browser, too")
    options = parser.parse_args()
    sizes = FULL if options.full else SMALL
    with tempfile.TemporaryDirectory() as folder:
        figures, more = measured(Path(folder), sizes)
        if options.browser:
            more |= in_browser(Path(folder))
    rows = [{"p95, ms": name, **figures[name].p95} for name in figures]
    show("the board", rows, options.output, **sizes, **more, **(LIMITS if options.full else {}))


def in_browser(folder: Path) -> dict[str, Any]:
    """Return the figures of a long series in a browser, or why there are none."""
    if missing := board_browser.missing():
        return {"not measured in a browser": missing}

    def few(store: Store) -> None:
        fill(store, size=2, history=LONG, changes=2)

    url = str(folder / "long.db")
    return board_browser.measured(folder / "online.baro", url, LONG, few)


def measured(folder: Path, sizes: dict[str, int]) -> tuple[dict[str, Times], dict[str, float]]:
    """Return the times in a store of some size, and other figures."""
    artifact = folder / "online.baro"
    model(10).save(artifact)
    watch = ModelWatch(artifact)
    with Store(str(folder / "store.db"), watch.start().judge) as store:
        fill(
            store,
            size=sizes["size"],
            history=sizes["history"],
            changes=sizes["candidates"],
        )
        with TestClient(
            create_app(store, watch), "http://127.0.0.1", client=("127.0.0.1", 50000)
        ) as client:
            wait_for_preload()
            return _figures(client, folder, sizes["runs"])


def wait_for_preload() -> None:
    """Wait until the service has read its series into memory, which takes seconds at its start."""
    time.sleep(1.0)  # the model starts it
    for thread in threading.enumerate():
        if thread.name == "barograph-preload":
            thread.join()


def _figures(
    client: TestClient, folder: Path, runs: int
) -> tuple[dict[str, Times], dict[str, float]]:
    page = {"Accept-Encoding": "gzip"}
    queue = timed(lambda: client.get("/", headers=page).raise_for_status(), runs)
    filtered = timed(lambda: client.get("/?variant=*shard&sort=name").raise_for_status(), runs)
    answer = client.get("/", headers=page)
    open_queue = client.get("/api/v1/queue").json()
    members = [m for group in open_queue["groups"] for m in group["members"]][: runs + 1]
    waiting, numbers = iter(members), iter([member["series"] for member in members])

    def give() -> None:
        member = next(waiting)
        points = [{"id": member["id"], "version": member["version"]}]
        body = {"verdict": "true_positive", "change_points": points}
        client.post("/api/v1/verdicts", json=body).raise_for_status()

    def chart() -> None:
        client.get(f"/api/v1/series/{next(numbers)}/chart").raise_for_status()

    times = {
        "queue": queue,
        "queue, filtered and sorted": filtered,
        "verdict": timed(give, runs),
        "data of a series": timed(chart, runs),
    }
    more = {
        "groups": open_queue["total"],
        "page of the queue, compressed, kB": answer.num_bytes_downloaded / 1000,
        "fsync, median, ms": 1e3 * fsync(folder),
    }
    return times, more


if __name__ == "__main__":
    main()
