"""Property tests draw the same cases every time; stores are tested on every database.

Several workers of pytest-xdist share the files so that all of them end at about the same time.
"""

import gc
import math
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from barograph.runtime.compiled import choose
from tests.postgres import running

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
choose(math.inf)  # kernels are compiled, or results would differ after 12 digits
NUMBERS = count()
TESTS = Path(__file__).parent
# Each file runs on one worker, so the longest start first: no worker waits for one of them at the
# end. All tests in a browser run on the same worker, because several Chromium at once are slow.
BROWSER = "browser/"
LONGEST = (
    "pipeline/test_dvc.py",
    "test_notebooks.py",
    BROWSER,
    "service/test_reliability.py",
    "service/test_fuzz.py",
    "store/test_reliability.py",
    "service/test_learning_loop.py",
    "service/test_background.py",
    "service/test_second_look.py",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep modules and tests out of the garbage collector: they live until the end."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Return the place of a test in the order of `LONGEST`; all others come after it."""
    path = item.path.relative_to(TESTS).as_posix()
    return next((k for k, name in enumerate(LONGEST) if path.startswith(name)), len(LONGEST))


@pytest.hookimpl(optionalhook=True)  # unknown without pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    scheduler = LoadFileScheduling(config, log)
    file_of, folder = scheduler._split_scope, f"{TESTS.name}/{BROWSER}"
    scheduler._split_scope = lambda name: folder if name.startswith(folder) else file_of(name)
    return scheduler


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
