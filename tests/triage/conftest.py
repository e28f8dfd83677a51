"""Fixtures of the store tests, used here too."""

from tests.store.conftest import store

__all__ = ["store"]
