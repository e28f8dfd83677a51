"""Whatever breaks, what was acknowledged stays, and nothing is half there."""

import json
import os
import random
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from barograph.results.series import Floats
from barograph.runtime.errors import StoreError
from barograph.server.store import Limits, Measurement, Store
from barograph.server.store.schema import points
from tests.shared import PATIENCE
from tests.store.crash import WIDE
from tests.store.digest import contents, digest
from tests.store.judges import Rule
from tests.store.samples import history, point, series

ROOT = Path(__file__).resolve().parents[2]


def test_thirty_kills_lose_nothing_acknowledged(url: str) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", "tests.store.crash", url, "30", "7"]
    done = subprocess.run(  # noqa: S603 - our own program
        command,
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    acknowledged = json.loads(done.stdout)
    assert len(acknowledged) > 30
    with Store(url, Rule()) as store, store.read() as connection:
        count = sa.func.count()
        query = sa.select(points.c.order, count).group_by(points.c.order)
        counts_by_order: dict[int, int] = dict(connection.execute(query).all())
        assert set(acknowledged) <= set(counts_by_order)
        assert set(counts_by_order.values()) == {WIDE}
        if connection.dialect.name == "sqlite":
            assert connection.scalar(sa.text("PRAGMA integrity_check")) == "ok"


@contextmanager
def failing(store: Store, event: str, number: int) -> Iterator[list[int]]:
    """Let the database fail once, at the statement or commit of the writer that has this number."""
    seen = [0]

    def fail(connection: sa.Connection, *_: object) -> None:
        if connection.get_execution_options().get("begin") != "IMMEDIATE":
            return
        seen[0] += 1
        if seen[0] == number + 1:
            cause = OSError("disk I/O error")
            raise sa.exc.OperationalError("INSERT INTO secret", ("token",), cause)

    sa.event.listen(store._engine, event, fail)
    try:
        yield seen
    finally:
        sa.event.remove(store._engine, event, fail)


def test_error_at_any_statement_is_reported_and_rolled_back(store: Store) -> None:
    store.ingest(history("ab", 20), "ci")
    batch = [point(30, 5.0), point(31, 50.0, "new"), point(2, 1.5, run="late"), point(0, 99.0)]
    before = contents(store)
    failures = 0
    for event in ("before_cursor_execute", "commit"):
        number = 0
        while True:
            with failing(store, event, number) as seen:
                try:
                    answer = store.ingest(batch, "ci")
                except StoreError as error:
                    reason = str(error)
                else:
                    assert seen[0] <= number
                    break
            assert reason.endswith(": disk I/O error")
            failures += 1
            assert contents(store) == before
            number += 1
        assert answer.counts["rejected"] == 0
        with store.read() as connection:
            before = digest(connection)
        orders = [(row.order or 0) + 40 for row in batch]
        pairs = zip(batch, orders, strict=True)
        batch = [row._replace(order=order, commit=f"c{order}") for row, order in pairs]
    assert failures > 8


def test_full_database_is_reported_and_recovers(tmp_path: Path) -> None:
    with Store(str(tmp_path / "store.db"), Rule()) as store:
        store.ingest(history("abc", 50), "ci")
        before = contents(store)

        def full(connection: object, *_: object) -> None:
            connection.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]

        def roomy(connection: object, *_: object) -> None:
            connection.execute("PRAGMA max_page_count = 1000000")  # type: ignore[attr-defined]

        big = [point(100 + k, float(k), name) for k in range(2000) for name in "abc"]
        sa.event.listen(store._engine, "checkout", full)
        with pytest.raises(StoreError, match=r"store\.db: no space left on the device$"):
            store.ingest(big, "ci")
        assert contents(store) == before
        sa.event.remove(store._engine, "checkout", full)
        sa.event.listen(store._engine, "checkout", roomy)
        assert store.ingest(big, "ci").counts["written"] == 6000


def test_full_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    with Store(str(tmp_path / "store.db"), Rule()) as store:
        kept = store.ingest(history("abc", 50), "ci").counts["written"]
        before = contents(store)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = (tmp_path / "store.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10_000, hard))
        try:
            with pytest.raises(StoreError, match=r"store\.db: "):
                store.ingest(
                    [point(100 + k, float(k), name) for k in range(3000) for name in "abc"], "ci"
                )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert contents(store) == before
        assert store.ingest([point(99, 3.0)], "ci").counts["written"] == 1
        assert store.ingest(history("abc", 50), "ci").counts["duplicate"] == kept


def test_concurrent_clients_leave_the_same_store_as_a_single_client(
    new_url: Callable[[], str],
) -> None:
    sent = history("ab", 60, runs=2)
    sent += [row._replace(value=row.value + 1) for row in sent[::9]]
    with Store(new_url(), Rule(history=20)) as alone:
        alone.ingest(sent, "ci")
        expected = contents(alone)
    written: list[int] = []

    def client(store: Store, seed: int) -> None:
        mine = list(sent)
        random.Random(seed).shuffle(mine)
        parts = [mine[k : k + 5] for k in range(0, len(mine), 5)]
        written.extend(store.ingest(part, f"client {seed}").counts["written"] for part in parts)

    with Store(new_url(), Rule(history=20)) as store:
        threads = [threading.Thread(target=client, args=(store, seed)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert contents(store) == expected
    assert sum(written) == 240


def test_failing_judge_affects_only_its_request(url: str) -> None:
    class Fragile(Rule):
        def score(self, before: Floats, value: float) -> float:
            if value == 13.0:
                raise ValueError("unlucky")
            return super().score(before, value)

    with Store(url, Fragile(), limits=Limits()) as store:
        store.ingest([point(0, 1.0, name) for name in "abc"], "ci")
        with ThreadPoolExecutor(3) as pool:
            waiting = [
                pool.submit(store.ingest, [point(1, value, name)], "ci") for name, value in PAIRS
            ]
        assert waiting[0].result().counts["written"] == 1
        assert waiting[2].result().counts["written"] == 1
        with pytest.raises(StoreError, match="nothing was written: ValueError: unlucky"):
            waiting[1].result()
        assert store.ingest([point(1, 2.0, "b")], "ci").counts["written"] == 1


PAIRS = (("a", 1.0), ("b", 13.0), ("c", 2.0))


def test_replaced_model_judges_whole_batches(url: str) -> None:
    with Store(url, Rule("old")) as store:
        stop = threading.Event()

        def exchange() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                store.judge = Rule(f"v{number}")

        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            for order in range(40):
                batch = [Measurement(series(name), 1.0, order) for name in "abc"]
                store.ingest(batch, "ci")
        finally:
            stop.set()
            thread.join()
        with store.read() as connection:
            distinct = sa.func.count(sa.distinct(points.c.model))
            query = sa.select(distinct).group_by(points.c.order)
            assert set(connection.scalars(query)) == {1}
