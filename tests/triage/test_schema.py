from pathlib import Path

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from barograph.triage import database
from barograph.triage.schema import VERSION, metadata


def test_migrations_from_empty_make_exactly_the_tables_of_the_schema(url: str) -> None:
    engine = database.connect(url)
    database.migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        named = set(sa.inspect(connection).get_table_names())
    engine.dispose()
    assert named == {*metadata.tables, "alembic_version"}


def test_the_version_of_the_schema_is_the_last_migration() -> None:
    folder = Path(database.__file__).parent / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder))
    assert ScriptDirectory.from_config(config).get_heads() == [VERSION]


def test_migrating_twice_changes_nothing(url: str) -> None:
    engine = database.connect(url)
    database.migrate(engine)
    with database.writing(engine) as connection:
        connection.execute(sa.text("UPDATE state SET writer = 'kept'"))
    database.migrate(engine)
    with database.reading(engine) as connection:
        assert connection.scalar(sa.text("SELECT writer FROM state")) == "kept"
    engine.dispose()


def test_downgrade_leaves_nothing_behind(url: str) -> None:
    engine = database.connect(url)
    database.migrate(engine)
    database.migrate(engine, to="base")
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == ["alembic_version"]
    engine.dispose()


def test_runs_sort_by_their_bytes_on_every_database(url: str) -> None:
    engine = database.connect(url)
    database.migrate(engine)
    names = ["a", "B", "é", "_", "10", "9"]
    with database.writing(engine) as connection:
        connection.execute(
            sa.insert(metadata.tables["series"]),
            {
                **dict.fromkeys(("project", "variant", "task", "test", "measurement"), "x"),
                "id": 1,
                "digest": b"d",
                "args": "[]",
                "direction": 0,
            },
        )
        points = metadata.tables["points"]
        row = {"series": 1, "order": 0, "commit": "", "value": 1.0, "received": 0}
        connection.execute(sa.insert(points), [{**row, "run": name} for name in names])
        found = connection.scalars(sa.select(points.c.run).order_by(points.c.run)).all()
    engine.dispose()
    assert found == sorted(names)
