"""Decisions after a late result are made again in several transactions, with others in between."""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from barograph.detection.online import BatchDecisions, PendingSeries
from barograph.runtime.errors import StoreError
from barograph.server.store import Measurement, Store, database, decide, life, reading, retention
from tests.shared import PATIENCE, wait_for
from tests.store.digest import contents
from tests.store.judges import Rule
from tests.store.samples import history, point, series

LENGTH = 120
TOGETHER = 20


class Recorder(Rule):
    """The rule, with the number of points of each call; it fails once `left` calls were made."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.left = 10**9

    def judge(self, stretches: Sequence[PendingSeries]) -> BatchDecisions:
        if not self.left:
            raise StoreError("the disk is full")
        self.left -= 1
        self.sizes.append(sum(pending.values.size - pending.first for pending in stretches))
        return super().judge(stretches)


@pytest.fixture(autouse=True)
def _in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "SLICE", TOGETHER)
    monkeypatch.setattr(decide, "SLICES", 1)


def unjudged(store: Store) -> dict[int, int]:
    with store.read() as connection:
        return decide.undecided(connection, range(1, 10))


def leave_decisions(store: Store, sent: Sequence[Measurement]) -> Recorder:
    """Send results, the second as the last, and fail before all decisions are made again."""
    store.judge = judge = Recorder()
    store.ingest([*sent[:1], *sent[2:]], "ci")
    judge.left = 1
    store.ingest([sent[1]], "ci")
    store.write(lambda _: None)  # waits for the slice that fails
    return judge


def expected(url: str, sent: Sequence[Measurement]) -> str:
    with Store(url, Rule()) as store:
        store.ingest(sent, "ci")
        return contents(store)


def test_decisions_are_made_again_in_slices(new_url: Callable[[], str]) -> None:
    sent, judge = history("ab", LENGTH), Recorder()
    with Store(new_url(), judge) as store:
        store.ingest([row for row in sent if row.order != 1], "ci")
        judge.sizes.clear()
        answer = store.ingest([row for row in sent if row.order == 1], "ci")
        assert all(result.decision is not None for result in answer.points)
        content = contents(store)
    assert max(judge.sizes) <= TOGETHER + 2
    assert sum(judge.sizes) == 2 * (LENGTH - 1)
    assert content == expected(new_url(), sent)


class Sender(Recorder):
    """Sends a new result of another series, and late ones, while decisions are made.

    Attributes:
        store: Where to send them.
        pool: Threads that send them.
        late: The late results, of which one is sent with each new result.
        waits: For each new result, the number of calls until it was judged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.store: Store | None = None
        self.pool = ThreadPoolExecutor(100)
        self.late: list[Measurement] = []
        self.waits: list[int] = []
        self._sent: dict[float, int] = {}
        self._calls = 0

    def judge(self, stretches: Sequence[PendingSeries]) -> BatchDecisions:
        self._calls += 1
        judged = {value for part in stretches for value in part.values[part.first :].tolist()}
        for value in judged & self._sent.keys():
            self.waits.append(self._calls - self._sent.pop(value))
        if self.store and self.late and not self._sent:
            new = point(self._calls, 1e6 + self._calls, "new")
            self._sent[new.value] = self._calls
            queue = self.store._writer._thread._work_queue
            length = queue.qsize() + 2
            self.pool.submit(self.store.ingest, [self.late.pop()], "ci")
            self.pool.submit(self.store.ingest, [new], "other")
            wait_for(lambda: queue.qsize() >= length)
        return super().judge(stretches)


def test_new_result_waits_for_one_slice_however_many_late_results_come(
    new_url: Callable[[], str],
) -> None:
    sent, judge = history("a", LENGTH), Sender()
    with Store(new_url(), judge) as store:
        store.ingest(sent[:1] + sent[2:-40] + sent[-10:], "ci")
        judge.sizes.clear()
        judge.store, judge.late = store, sent[-40:-10]
        store.ingest(sent[1:2], "ci")
        wait_for(lambda: not judge.late)
        judge.pool.shutdown()
        store.finish()
    assert len(judge.waits) == 30
    assert max(judge.waits) <= 3  # the rest of a transaction, a slice, and its own transaction
    assert max(judge.sizes) <= TOGETHER + 4  # a slice, and what two calls have sent


def test_answer_on_a_decision_that_waits_is_pending(new_url: Callable[[], str]) -> None:
    sent = history("a", LENGTH)
    corrected = sent[70]._replace(value=-90.0, time=1)
    with Store(new_url(), Rule()) as store:
        store.ingest([row for row in sent if row.order not in (1, 110)], "ci")
        decided, waits, revised = store.ingest([sent[1], sent[110], corrected], "ci").points
        assert decided.decision is not None
        assert (waits.status, waits.decision, waits.order) == ("written", None, 110)
        assert waits.reason.startswith("pending: ")
        assert (revised.decision, revised.reason) == (None, "the value -90.0 holds")
        store.finish()
        [again] = store.ingest([sent[110]], "ci").points
        assert (again.status, again.decision is None) == ("duplicate", False)
        assert contents(store) == expected(new_url(), [*sent, corrected])


def test_next_request_makes_the_decisions_that_an_error_left(new_url: Callable[[], str]) -> None:
    sent = [*history("a", LENGTH), *history("b", 5)]
    with Store(new_url(), Rule()) as store:
        judge = leave_decisions(store, sent[:LENGTH])
        assert list(unjudged(store).values()) == [22]
        with pytest.raises(StoreError, match="the disk is full"):
            store.finish()
        judge.left = 10**9
        store.ingest(sent[-5:], "ci")  # another series
        assert contents(store) == expected(new_url(), sent)


def test_next_process_makes_the_decisions_that_were_left(
    url: str, new_url: Callable[[], str]
) -> None:
    sent = history("a", LENGTH)
    with Store(url, Rule()) as store:
        leave_decisions(store, sent)
    with Store(url) as store:
        assert list(unjudged(store).values()) == [22]
        store.judge = Rule()
        wait_for(lambda: not unjudged(store))
        assert contents(store) == expected(new_url(), sent)


@pytest.mark.parametrize("seed", range(3))
def test_contents_do_not_depend_on_the_order_of_arrival(
    new_url: Callable[[], str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers send results of two series in any order, in small batches, without waiting."""
    monkeypatch.setattr(database, "BUSY_MS", 120_000)  # on a busy machine a turn may take long
    rng = random.Random(seed)
    sent = history("ab", LENGTH // 2, seed, runs=2)
    sent += [row._replace(value=row.value + 5, time=1) for row in rng.sample(sent, 20)]
    shuffled = rng.sample(sent, len(sent)) + rng.sample(sent, 40)
    url = new_url()
    with (
        Store(url, Rule(history=15)) as first,
        Store(url, Rule(history=15)) as other,
        ThreadPoolExecutor(8) as pool,
    ):
        waiting = []
        while shuffled:
            size = rng.randint(1, 12)
            store = rng.choice((first, other))
            waiting.append(pool.submit(store.ingest, shuffled[:size], "ci"))
            del shuffled[:size]
        for future in waiting:
            future.result(PATIENCE)
        content = contents(first)
    with Store(new_url(), Rule(history=15)) as whole:
        whole.ingest(sent, "ci")
        assert contents(whole) == content


def test_next_order_of_a_series_with_decisions_left_is_after_all_its_results(store: Store) -> None:
    leave_decisions(store, history("a", LENGTH)).left = 10**9
    new = Measurement(series("a"), 20.0, None, "new")
    assert store.ingest([new], "ci").points[0].order == LENGTH


def test_series_with_decisions_left_can_be_merged_and_deleted(store: Store) -> None:
    leave_decisions(store, [*history("a", LENGTH), point(500, name="b")]).left = 10**9
    with store.read() as connection:
        numbers = {row.name.test: row.id for row in reading.find_series(connection)}
    store.merge(numbers["b"], numbers["a"], "me")
    store.finish()
    assert not unjudged(store)
    store.write(lambda connection: life.delete(connection, numbers["a"], "me"))


def test_decisions_left_on_deleted_results_are_dropped(store: Store) -> None:
    judge = leave_decisions(store, history("a", LENGTH))
    [number] = unjudged(store)
    store.write(lambda connection: life.retire(connection, number, "me"))
    assert retention.prune(store, 1, "me", timestamp=2**45).points
    judge.left = 10**9
    store.ingest([point(500, name="b")], "ci")
    store.finish()
    assert not unjudged(store)
