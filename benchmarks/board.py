"""Measure the board: the time that the server takes for the queue, a verdict, and a series.

The default is a small store. `--full` has 40,000 series of 50 results and 5,000 open candidates,
and prints the limits that the board has to meet. Clients are in the same process, so that what is
measured is the server and not the network.
"""

import gzip
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from fastapi.testclient import TestClient
from side_by_side import arguments, fsync, show
from store import filled, model

from barograph.results.series import Direction, Region
from barograph.results.sizes import size_of
from barograph.server.store import Store
from barograph.server.store.audit import now
from barograph.server.store.database import Insertion, Row
from barograph.server.store.schema import candidates, commits
from barograph.server.web.app import create_app
from barograph.server.web.model_watch import ModelWatch

SMALL = {"size": 2000, "history": 50, "candidates": 500, "runs": 20}
FULL = {"size": 40_000, "history": 50, "candidates": 5000, "runs": 40}
LIMITS = {"limit of the queue": "<= 150 ms", "limit of a verdict beyond one fsync": "<= 50 ms"}
CAUSE = 25  # candidates of one commit
COMMIT = Insertion(commits, ("project", "commit", "order"))
CANDIDATE = Insertion(
    candidates,
    (
        *("series", "order", "commit", "last_before", "detector", "before", "after", "hazard"),
        *("probability", "model", "verdict", "present", "detected_on", "calculated_on"),
    ),
)


def add_candidates(history: int, changes: int, connection: sa.Connection) -> None:
    """Add the commits of the project, and open candidates that share some causes."""
    random = np.random.default_rng(0)
    COMMIT.into(connection, [("p", f"c{order}", order) for order in range(history)])
    causes = random.integers(history // 2, history - 2, max(changes // CAUSE, 1))
    rows: list[Row] = []
    for number, factor in enumerate(np.exp(random.normal(0.0, 0.15, changes)).tolist()):
        cause = int(random.choice(causes))
        before, after = random.normal(100.0, 1.0, cause), random.normal(100.0, 1.0, history - cause)
        size = size_of(before, factor * after)
        regions = (Region.of(before, size.before), Region.of(factor * after, size.after))
        sides = (json.dumps(asdict(region)) for region in regions)
        place = (number + 1, cause, f"c{cause}", cause - 1, "hunter")
        hazard, probability = size.hazard(Direction.LOWER_IS_BETTER), float(random.uniform())
        rows.append((*place, *sides, hazard, probability, 1, "not_triaged", True, now(), now()))
    CANDIDATE.into(connection, rows)


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
    options = parser.parse_args()
    sizes = FULL if options.full else SMALL
    with tempfile.TemporaryDirectory() as folder:
        figures, more = measured(Path(folder), sizes)
    rows = [{"p95, ms": name, **figures[name].p95} for name in figures]
    show("the board", rows, options.output, **sizes, **more, **(LIMITS if options.full else {}))


def measured(folder: Path, sizes: dict[str, int]) -> tuple[dict[str, Times], dict[str, float]]:
    """Return the times in a store of some size, and other figures."""
    artifact, trees = folder / "online.baro", model(10)
    trees.save(artifact)
    with filled(str(folder / "store.db"), trees, sizes["size"], sizes["history"]) as store:
        store.write(partial(add_candidates, sizes["history"], sizes["candidates"]))
    watch = ModelWatch(artifact)
    with (
        Store(str(folder / "store.db"), watch.start().judge) as store,
        TestClient(
            create_app(store, watch), "http://127.0.0.1", client=("127.0.0.1", 50000)
        ) as client,
    ):
        return _figures(client, folder, sizes["runs"])


def _figures(
    client: TestClient, folder: Path, runs: int
) -> tuple[dict[str, Times], dict[str, float]]:
    queue = timed(lambda: client.get("/").raise_for_status(), runs)
    filtered = timed(lambda: client.get("/?test=test1*&sort=name").raise_for_status(), runs)
    answer = client.get("/")
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
        "page of the queue, compressed, kB": len(gzip.compress(answer.content, 5)) / 1000,
        "fsync, median, ms": 1e3 * fsync(folder),
    }
    return times, more


if __name__ == "__main__":
    main()
