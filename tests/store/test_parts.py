"""A large request is written in parts, with the answers and contents of one transaction."""

import random
from collections.abc import Callable

import pytest

from barograph.results.series import Direction
from barograph.runtime.errors import StoreError
from barograph.server.store import Measurement, Store
from barograph.server.store import store as stores
from barograph.server.store.ingest import Ingest
from tests.store.digest import contents
from tests.store.judges import Rule
from tests.store.samples import history, series


def mixed() -> list[Measurement]:
    """Several runs in any order, one long series, faulty rows, and commits without an order."""
    sent = [*history("abc", 20, runs=2), *history("d", 70)]
    sent.append(Measurement(series("d"), 1.0, 3, "c3", "0", 1, Direction.LOWER_IS_BETTER))
    random.Random(0).shuffle(sent)
    sent.insert(9, sent[30]._replace(value=7.0))
    sent.insert(11, Measurement(series("a"), 1.0, "x", "c"))  # type: ignore[arg-type]
    sent.insert(13, Measurement(series("e"), float("nan"), 3))
    return [*sent, *(Measurement(series(name), 1.0, None, f"new {name}") for name in "dea")]


def test_parts_leave_what_one_transaction_leaves(
    store: Store, new_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = mixed()
    expected = store.ingest(sent, "ci")
    with Store(new_url(), Rule()) as other:
        monkeypatch.setattr(stores, "TOGETHER", 75)
        actual = other.ingest(sent, "ci")
        assert actual.counts == expected.counts
        assert contents(store) == contents(other)


def test_error_in_between_is_repaired_by_sending_the_request_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "TOGETHER", 20)
    sent = history("abc", 20)
    taken = Ingest.take

    def failing(self: Ingest, measurements: list[Measurement]) -> object:
        if (measurements[0].order or 0) > 12:
            raise StoreError("the disk is full")
        return taken(self, measurements)

    with monkeypatch.context() as context:
        context.setattr(Ingest, "take", failing)
        with pytest.raises(
            StoreError, match="only 40 of 60 results were written; send all again: t"
        ):
            store.ingest(sent, "ci")
    counts = store.ingest(sent, "ci").counts
    assert (counts["written"], counts["duplicate"]) == (20, 40)
