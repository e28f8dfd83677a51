"""The speed of the store: commits of all series, single points, and batches, with decisions.

The default is a small store; the design is for `--series 40000 --trees 500`. The model is a forest
with the paper's features; its size determines the speed, not what it was fitted on.
"""

import resource
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from side_by_side import arguments, at_once, fsync, seconds, show
from sklearn.ensemble import RandomForestClassifier

from barograph.detection.online import AlarmLog, BatchDecisions, OnlineJudge, PendingSeries
from barograph.features import FEATURE_SETS
from barograph.models.trees import Forest
from barograph.models.triage import TriageModel
from barograph.results.series import Floats, SeriesId
from barograph.server.store import Measurement, Store
from barograph.server.store.cache import SeriesTail, needed, write_blocks
from barograph.server.store.database import Row
from barograph.server.store.judging import NEW_POINT

FEATURE_SET = "bauer8"
ROWS = 12_000
THRESHOLD = 0.9  # high, so that noise is rarely called a change and Pre stays long


def model(trees: int) -> TriageModel:
    """Fit a forest on noisy labels, so that it is as deep as on a real history."""
    random = np.random.default_rng(0)
    columns = FEATURE_SETS[FEATURE_SET]
    rows = random.normal(size=(ROWS, len(columns)))
    labels = rows[:, :4].sum(axis=1) + random.normal(size=ROWS) > 0
    forest = RandomForestClassifier(trees, min_samples_leaf=2, random_state=0, n_jobs=2)
    served = Forest.of(forest.fit(rows, labels))
    return TriageModel("online", FEATURE_SET, columns, THRESHOLD, served)


class Silent:
    """A judge that decides nothing, to measure the store itself."""

    version, threshold, history = "silent", 1.0, 500

    def judge(self, series: Sequence[PendingSeries]) -> BatchDecisions:
        """Call no point a change."""
        sizes = [np.arange(s.first, s.values.size) - s.start for s in series]
        size = sum(map(len, sizes))
        return BatchDecisions(
            newest=np.zeros(size),
            probability=np.zeros(size),
            answer=np.zeros(size, dtype=np.int8),
            surprise=np.zeros(size),
            known_since=np.full(size, -1),
            baseline_size=np.concatenate(sizes),
            reruns=np.zeros(size, dtype=np.int8),
            settled=np.concatenate([s.values[s.first :] for s in series]),
            logs=[AlarmLog() for _ in series],
        )


class Bench:
    """A store with a history, and commits to come."""

    def __init__(self, url: str, judge: Any, count: int, history: int) -> None:
        self.store = Store(url, judge)
        self.names = [SeriesId("p", "v", "task", f"test{k}", "ops") for k in range(count)]
        self.random = np.random.default_rng(1)
        self.order = history
        self.kept = judge.history
        self.store.judge = Silent()
        self.store.ingest([Measurement(name, 1.0, -1) for name in self.names], "bench")
        self._grow(history)
        self.store.judge = judge

    def _grow(self, history: int) -> None:
        """Write the history directly into the table, which is faster than ingesting it."""
        for first in range(0, len(self.names), 1000):
            numbers = range(first + 1, min(first + 1000, len(self.names)) + 1)
            places = [(n, order) for n in numbers for order in range(history)]
            table = self.random.normal(100.0, 1.0, (len(numbers), history))

            def write(
                connection: sa.Connection,
                places: Any = places,
                table: Floats = table,
                numbers: range = numbers,
            ) -> None:
                values = table.ravel().tolist()
                new: list[Row] = [
                    (n, o, "", f"c{o}", None, v, 0, v, 0, 0.0, 0.0, o + 1, 0, None, 1, None)
                    for (n, o), v in zip(places, values, strict=True)
                ]
                NEW_POINT.into(connection, new)
                # The first point of each series is in the store already.
                every = np.column_stack((np.ones(len(numbers)), table))
                every = every[:, -needed(history + 1, self.kept) :]
                tails = [SeriesTail(row, 0, history - 1, history + 1) for row in every]
                write_blocks(connection, zip(numbers, tails, strict=True))

            self.store.write(write)
        self.store._ingest.forget()  # noqa: SLF001 - its cache does not know the points

    def commit(self) -> list[Measurement]:
        """Return a new point of every series."""
        self.order += 1
        values = self.random.normal(100.0, 1.0, len(self.names)).tolist()
        pairs = zip(self.names, values, strict=True)
        return [Measurement(name, value, self.order, f"c{self.order}") for name, value in pairs]


def single(bench: Bench, count: int) -> float:
    """Return points per second of one client that waits for each result."""
    batch = bench.commit()[:count]
    return len(batch) / seconds(
        lambda: [bench.store.ingest([measurement], "bench") for measurement in batch]
    )


def together(bench: Bench, clients: int, count: int) -> float:
    """Return points per second of several clients that each wait for each result."""
    batch = bench.commit()[: clients * count]

    def client(number: int) -> None:
        for measurement in batch[number::clients]:
            bench.store.ingest([measurement], "bench")

    return len(batch) / seconds(lambda: at_once(client, clients))


def batches(bench: Bench, size: int) -> float:
    """Return points per second in batches of many series."""
    batch = bench.commit()
    parts = [batch[first : first + size] for first in range(0, len(batch), size)]
    return len(batch) / seconds(lambda: [bench.store.ingest(part, "bench") for part in parts])


def measure(url: str, judge: Any, count: int, history: int) -> dict[str, float]:
    """Run all measurements on a new store."""
    bench = Bench(url, judge, count, history)
    cold = seconds(lambda: bench.store.ingest(bench.commit(), "bench"))
    warm = [seconds(lambda: bench.store.ingest(bench.commit(), "bench")) for _ in range(3)]
    figures = {
        "one commit, cold, s": cold,
        "one commit, s": statistics.median(warm),
        "one by one, points/s": single(bench, 500),
        "8 clients, points/s": together(bench, 8, 100),
        "in batches of 5,000, points/s": batches(bench, 5000),
    }
    again = bench.commit()
    bench.store.ingest(again, "bench")
    figures["one commit again, s"] = seconds(lambda: bench.store.ingest(again, "bench"))
    bench.store.close()
    return figures


def main() -> None:
    """Measure the store with and without decisions."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--series", type=int, default=2000)
    parser.add_argument("--history", type=int, default=100)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--url", help="of an empty PostgreSQL database, instead of SQLite")
    options = parser.parse_args()
    forest = OnlineJudge(model(options.trees))
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        flush = fsync(Path(folder))
        judges: dict[str, Any] = {
            "without decisions": Silent(),
            f"{FEATURE_SET}, {options.trees} trees": forest,
        }
        if options.url:
            judges.pop("without decisions")
        for name, judge in judges.items():
            url = options.url or str(Path(folder) / f"{len(rows)}.db")
            figures = measure(url, judge, options.series, options.history)
            rows += [
                {"judge": name, "what": what, "value": value} for what, value in figures.items()
            ]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    facts = {"one fsync, ms": flush * 1e3, "largest memory, MiB": memory}
    title = f"The store: {options.series} series, {options.history} points of history each"
    show(title, rows, options.output, **facts)


if __name__ == "__main__":
    main()
