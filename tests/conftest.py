"""Property tests draw the same cases every time; stores are tested on every database."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgres import running

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
NUMBERS = count()
# Each file runs on one worker, so these start first: no worker waits at the end for one of them.
LONGEST = ("test_dvc.py", "test_reliability.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with running() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes an empty database, and returns its URL."""
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"store{next(NUMBERS)}.db")
    server = request.getfixturevalue("postgres")
    return lambda: _create(server)


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """The URL of an empty database."""
    return new_url()


def _create(server: str) -> str:
    """Make a schema of its own in the one database: far quicker than another database."""
    name = f"test{next(NUMBERS)}"
    import sqlalchemy as sa

    engine = sa.create_engine(sa.make_url(server).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(sa.text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return f"{server}&options=-csearch_path%3D{name}"
