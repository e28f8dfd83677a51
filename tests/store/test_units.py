"""Results in another unit than that of their series are converted, or rejected."""

from collections.abc import Callable
from itertools import permutations

import pytest

from barograph.results.series import Direction
from barograph.server.store import Measurement, PointStatus, Store, reading
from barograph.server.store.schema import points
from tests.store.digest import contents, table
from tests.store.judges import Rule
from tests.store.samples import point


def in_unit(unit: str, order: int, value: float = 1.0) -> Measurement:
    return point(order, value)._replace(unit=unit)


def test_series_has_the_first_unit_and_others_are_converted_to_it(store: Store, url: str) -> None:
    sent = [point(0, 4.0), in_unit("ms", 1, 4.5), in_unit("s", 2, 0.25), in_unit("msec", 3, 5.0)]
    answer = store.ingest(sent, "ci")
    assert answer.counts["written"] == 4
    again = store.ingest([in_unit("s", 2, 0.25), in_unit("us", 1, 4500.0)], "ci")
    assert again.counts["duplicate"] == 2
    with Store(url, Rule()) as other:  # which has nothing cached
        [late] = other.ingest([in_unit("s", 2, 0.5)._replace(time=1)], "ci").points
    assert (late.status, late.reason) == (PointStatus.REVISED, "the value 500.0 holds")
    with store.read() as connection:
        assert reading.get_series(connection, 1).unit == "ms"
        assert reading.read_series(connection, [1])[1].unit == "ms"
    assert table(store, points, "value") == [(4.0,), (4.5,), (500.0,), (5.0,)]


@pytest.mark.parametrize(
    ("unit", "value", "reason"),
    [
        ("MB", 1.0, "unit: 'MB' cannot be converted to 'ms', the unit of the series"),
        ("kittens", 1.0, "unit: 'kittens' cannot be converted to 'ms', the unit of the series"),
        ("s", 1e99, "value: 1e+99 in 's' is too large in 'ms', the unit of the series; at most"),
        ("m" * 501, 1.0, "unit: 501 characters, allowed are 500"),
        ("m" * 500, 1.0, f"unit: '{'m' * 500}' cannot be converted to 'ms'"),
        ("m\n", 1.0, "unit: holds a control character"),
    ],
)
def test_result_in_a_unit_that_does_not_fit_is_rejected(
    store: Store, unit: str, value: float, reason: str
) -> None:
    sent = [in_unit("ms", 0), in_unit(unit, 1, value), in_unit("ms", 2)]
    answer = store.ingest(sent, "ci")
    assert [outcome.status.value for outcome in answer.points] == ["written", "rejected", "written"]
    assert answer.points[1].reason.startswith(reason)
    assert table(store, points, "order") == [(0,), (2,)]


def test_rejected_result_gives_its_series_no_unit(store: Store) -> None:
    up = point(0)._replace(direction=Direction.HIGHER_IS_BETTER)
    store.ingest([up], "ci")
    store.ingest([in_unit("ms", 1)._replace(direction=Direction.LOWER_IS_BETTER)], "ci")
    with store.read() as connection:
        assert reading.get_series(connection, 1).unit == ""


def test_contents_do_not_depend_on_which_results_state_the_unit_first(
    new_url: Callable[[], str],
) -> None:
    made = [point(0, 4.0), in_unit("ms", 1, 4.5), in_unit("ms", 1, 9.0), in_unit("ms", 2, 9.5)]
    left = set()
    for order in permutations(made):
        for size in (1, 4):
            with Store(new_url(), Rule()) as store:
                for first in range(0, 4, size):
                    store.ingest(order[first : first + size], "ci")
                left.add(contents(store))
    assert len(left) == 1


@pytest.mark.parametrize(
    ("units", "expected"), [("ms s", [4.5, 5000.0, 2.0]), ("s ms", [0.0045, 5.0, 0.002])]
)
def test_values_are_in_the_unit_that_arrives_first(
    store: Store, units: str, expected: list[float]
) -> None:
    made = {"ms": [in_unit("ms", 0, 4.5), in_unit("ms", 2, 2.0)], "s": [in_unit("s", 1, 5.0)]}
    for unit in units.split():
        store.ingest(made[unit], "ci")
    assert [value for (value,) in table(store, points, "value")] == pytest.approx(expected)
