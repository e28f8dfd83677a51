"""The tests of triage work on the same stores as those of the store itself."""

from tests.store.conftest import store

__all__ = ["store"]
