"""Every test of the store runs on SQLite and, where it is installed, on PostgreSQL."""

from collections.abc import Iterator

import pytest

from barograph.server.store import Store
from tests.store.judges import Rule


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store(url, Rule()) as store:
        yield store
