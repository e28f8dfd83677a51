import json
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from barograph.results.sizes import Size
from barograph.runtime.errors import DataError, StoreError
from barograph.server.store import Store, database
from barograph.server.store.candidate_records import get_candidate
from barograph.server.store.schema import VERSION, candidates, metadata, models, points
from tests.store.judges import Rule
from tests.store.samples import point


@pytest.mark.parametrize("create", [database._create, database._upgrade])
def test_new_tables_and_the_migrations_are_exactly_the_schema(
    url: str, create: Callable[[sa.Connection], None]
) -> None:
    engine = database.connect(url)
    with database.writing(engine) as connection:
        create(connection)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        named = set(sa.inspect(connection).get_table_names())
    engine.dispose()
    assert named == {*metadata.tables, "alembic_version"}


def test_schema_version_is_the_head_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [VERSION]


def test_migrate_leaves_current_tables_unchanged(url: str) -> None:
    engine = database.connect(url)
    database.migrate(engine)
    with database.writing(engine) as connection:
        connection.execute(sa.text("UPDATE state SET writer = 'kept'"))
    database.migrate(engine)
    with database.reading(engine) as connection:
        assert connection.scalar(sa.text("SELECT writer FROM state")) == "kept"
    engine.dispose()


def test_runs_sort_by_their_bytes_on_every_database(url: str) -> None:
    engine = database.connect(url)
    database.migrate(engine)
    names = ["a", "B", "é", "_", "10", "9"]
    with database.writing(engine) as connection:
        connection.execute(
            sa.insert(metadata.tables["series"]),
            {
                **dict.fromkeys(("project", "variant", "task", "test", "measurement", "unit"), "x"),
                "id": 1,
                "digest": b"d",
                "args": "[]",
                "direction": 0,
            },
        )
        connection.execute(sa.insert(models), {"id": 1, "version": "", "threshold": 0.5})
        row = {"series": 1, "order": 0, "commit": "", "value": 1.0, "received": 0}
        row |= {"answer": 0, "probability": 0.0, "surprise": 0.0, "reruns": 0}
        row |= {"baseline_size": 0, "model": 1}
        rows = [{**row, "run": name} for name in names]
        connection.execute(sa.insert(points), rows)
        actual = connection.scalars(sa.select(points.c.run).order_by(points.c.run)).all()
    engine.dispose()
    assert actual == sorted(names)


def test_store_of_a_newer_version_is_refused(url: str) -> None:
    with Store(url, Rule()):
        pass
    engine = database.connect(url)
    with database.writing(engine) as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'far_ahead'"))
    with pytest.raises(StoreError, match=r"far_ahead.*newer"):
        Store(url, Rule())
    engine.dispose()


def test_several_processes_can_create_a_store_at_once(new_url: Callable[[], str]) -> None:
    for _ in range(3):
        url, together = new_url(), threading.Barrier(4)

        def opened(url: str = url, together: threading.Barrier = together) -> None:
            together.wait()
            Store(url, Rule()).close()

        with ThreadPoolExecutor(4) as pool:
            for future in [pool.submit(opened) for _ in range(4)]:
                future.result()


def test_queries_of_one_read_see_the_same_state(store: Store) -> None:
    count = sa.select(sa.func.count()).select_from(points)
    store.ingest([point(0)], "ci")
    with store.read() as connection:
        before = connection.scalar(count)
        store.ingest([point(1)], "ci")
        assert connection.scalar(count) == before
    with store.read() as connection:
        assert connection.scalar(count) == 2


def test_number_of_a_model_is_rolled_back_with_its_transaction(store: Store) -> None:
    def failing(connection: sa.Connection) -> None:
        store.model(connection, "another", 0.5)
        raise DataError("no")

    with pytest.raises(DataError):
        store.write(failing)
    number = store.write(lambda connection: store.model(connection, "another", 0.5))
    with store.read() as connection:
        assert connection.scalar(sa.select(models.c.id)) == number


def test_candidates_of_an_older_store_are_measured_again_once(url: str) -> None:
    values = [10.0] * 40 + [90.0, 10.0] * 5 + [12.0] * 50
    with Store(url, Rule()) as store:
        store.ingest([point(order, value) for order, value in enumerate(values)], "ci")
    region = {"min": 1.0, "max": 1.0, "median": 11.0, "mean": 18.0, "variance": 0.0}
    regions = [json.dumps({"count": 50, **region}) for _ in range(2)]
    engine = database.connect(url)
    with database.writing(engine) as connection:
        row = {"series": 1, "order": 50, "commit": "c50", "verdict": "not_triaged", "hazard": -0.4}
        rows = [
            {**row, "present": present, "before": before, "after": after}
            for present, before, after in ((True, *regions), (False, *regions), (True, None, None))
        ]
        connection.execute(sa.insert(candidates), rows)
        connection.execute(sa.text("ALTER TABLE candidates DROP COLUMN trend"))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'initial'"))
    for hazard in (math.log(1.2), 7.0):  # of the first opening; nothing happens at the second
        with Store(url, Rule()) as store, store.read() as connection:
            found, withdrawn, bare = (get_candidate(connection, number) for number in (1, 2, 3))
        assert found.size == withdrawn.size == Size(10.0, 12.0)
        assert found.hazard == pytest.approx(hazard)
        assert bare.hazard == -0.4
        assert found.before is not None
        assert found.before.mean == 18.0
        with database.writing(engine) as connection:
            connection.execute(sa.update(candidates).values(hazard=7.0).where(candidates.c.id == 1))
    engine.dispose()
