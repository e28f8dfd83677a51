"""Measure the service on PostgreSQL with many series: batches, single results, size, memory.

Every commit has a result of each series, and one client sends it in batches. A second client sends
single results of a few other series meanwhile. Models and settings are those of `barograph serve`.
Start it on an empty database of this machine: `python benchmarks/scale.py --url postgresql://...`.
"""

import argparse
import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
import sqlalchemy as sa
import store as stores
from service import BATCH, Load, memory_of, post, result, serving
from side_by_side import pace, seconds, show

from barograph.models import OnlineModels
from barograph.server.store.database import connect

SINGLES = 200  # series that get single results
FILL = """
INSERT INTO points
SELECT id, o, '', 'c' || o, NULL, v, 0, v, o + 1, 0, 0, 0, o + 1, 0, NULL, 1, NULL
FROM (SELECT id, o, 100 + random() + random() + random() AS v
      FROM series, generate_series(0, :last) AS o) AS x ORDER BY o, id"""
SIZES = """
SELECT relname AS table, n_live_tup AS rows, n_dead_tup AS dead,
       pg_table_size(relid) / 1048576.0 AS table_mib, pg_indexes_size(relid) / 1048576.0 AS indexes
FROM pg_stat_user_tables WHERE n_live_tup > 100 ORDER BY pg_total_relation_size(relid) DESC"""
PARENT, USER, SYSTEM = 4, 14, 15  # fields of /proc/PID/stat


def stat(process: int | str, *fields: int) -> int:
    """Return the sum of some fields of what the system knows of a process."""
    known = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return sum(int(known[field - 3]) for field in fields)


def cost(process: int) -> tuple[float, float]:
    """Return the CPU seconds and the MiB, shared ones once, of a process and its children."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    ticks = kibibytes = 0
    for each in (str(process), *children):
        ticks += stat(each, USER, SYSTEM)
        rollup = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="utf-8")
        kibibytes += int(rollup.partition("\nPss:")[2].split()[0])
    return ticks / os.sysconf("SC_CLK_TCK"), kibibytes / 1024


def single_results(load: Load, numbers: Iterator[int], stop: threading.Event) -> list[float]:
    """Send single results, 0.1 s apart; return the seconds to each answer."""
    connection, took = load.connect(), []
    while not stop.wait(0.1):
        number = next(numbers)
        row = result(number % SINGLES, 3 * 10**6 + number // SINGLES)
        took.append(seconds(partial(post, connection, [row])))
    return took


def commits(load: Load, total: int, service: int, server: int) -> Iterator[dict[str, float]]:
    """Send commits; yield what was measured of each."""
    client, numbers = load.connect(), count()
    for _ in range(total):
        rows = load.commit()[SINGLES:]
        batches = [rows[first : first + BATCH] for first in range(0, len(rows), BATCH)]
        stop, before = threading.Event(), (stat(service, USER, SYSTEM), cost(server)[0])
        with ThreadPoolExecutor(1) as pool:
            single = pool.submit(single_results, load, numbers, stop)
            try:
                took = [seconds(partial(post, client, part)) for part in batches]
            finally:
                stop.set()
        ticks, (used, memory) = stat(service, USER, SYSTEM) - before[0], cost(server)
        figures = {
            "results/s": len(rows) / sum(took),
            "CPU s of the service": ticks / os.sysconf("SC_CLK_TCK"),
            "CPU s of PostgreSQL": used - before[1],
            "MiB of the service": memory_of(service),
            "MiB of PostgreSQL": memory,
            "pace, million additions/s": pace(),
        }
        for name, times in (("batch", took), ("single result", single.result())):
            p50, p99 = np.percentile(times, (50, 99)).tolist()
            figures |= {f"{name}, p50, s": p50, f"{name}, p99, s": p99}
        yield figures


def main() -> None:
    """Start the service on the database, send the commits, and print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="of an empty PostgreSQL database")
    parser.add_argument("--series", type=int, default=100_000)
    parser.add_argument("--history", type=int, default=46, help="commits written directly before")
    parser.add_argument("--commits", type=int, default=4)
    options = parser.parse_args()
    models = OnlineModels.default()
    with tempfile.TemporaryDirectory() as name, connect(options.url).connect() as connection:
        models.save(Path(name) / "online.baro")
        stores.filled(options.url, models, options.series, 0).close()
        connection.execute(sa.text(FILL), {"last": options.history - 1})
        connection.commit()
        server = stat(connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one(), PARENT)
        connection.rollback()
        with serving(Path(name), options.url) as (port, process, _):
            load = Load(port, options.series)
            for figures in commits(load, options.commits, process.pid, server):
                print(figures, flush=True)
            tables = [dict(row) for row in connection.execute(sa.text(SIZES)).mappings()]
    show(f"{options.series} series on PostgreSQL", tables, "text")


if __name__ == "__main__":
    main()
