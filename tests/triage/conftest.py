"""Every test of the store runs on SQLite and, where it is installed, on PostgreSQL."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

from barograph.triage import Store
from tests.triage.judges import Rule
from tests.triage.postgres import server

NUMBERS = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes an empty database, and returns its URL."""
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"store{next(NUMBERS)}.db")
    template = request.getfixturevalue("postgres")
    return lambda: _create(template)


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """The URL of an empty database."""
    return new_url()


def _create(template: str) -> str:
    name = f"test{next(NUMBERS)}"
    address = sa.make_url(template.format(database="postgres")).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return template.format(database=name)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url, Rule()) as store:
        yield store
