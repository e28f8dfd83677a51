import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from barograph.store.tail import NOWHERE, Memory, Recent, needed


@given(st.lists(st.integers(1, 40), max_size=12), st.integers(2, 30))
def test_a_series_remembers_its_newest_values_and_its_start(added: list[int], history: int) -> None:
    recent = Recent(np.empty(0), 0, NOWHERE, 0)
    every: list[float] = []
    for number, count in enumerate(added):
        new = [float(len(every) + k) for k in range(count)]
        every += new
        values = recent.extended(new)
        assert values.tolist() == every[-values.size :]
        # The first of the new values is the last change point.
        recent.accept(count, values.size - count, (number, ""), history)
        assert recent.values.tolist() == every[-recent.values.size :]
        assert recent.values.size == needed(len(every), history) == len(every) - recent.base
        assert recent.values[recent.start] == max(new[0], recent.values[0])
        assert recent.count == len(every)


def test_what_was_not_accepted_leaves_no_trace() -> None:
    recent = Recent(np.array([1.0, 2.0]), 0, (1, ""), 2)
    recent.extended([9.0])
    assert recent.values.tolist() == [1.0, 2.0]
    assert recent.extended([3.0]).tolist() == [1.0, 2.0, 3.0]


def test_memory_is_bounded_and_the_least_used_give_way() -> None:
    memory = Memory(room=10)
    for number in range(3):
        memory.put(number, Recent(np.zeros(4), 0, (3, ""), 4))
    assert memory.used == 12
    assert memory.use(0)
    memory.trim()
    assert [number in memory for number in range(3)] == [True, False, True]
    assert memory.used == 8
    memory.put(0, Recent(np.zeros(2), 0, (3, ""), 2))
    assert memory.used == 6
    memory.clear()
    assert (len(memory), memory.used, memory.use(0)) == (0, 0, False)
