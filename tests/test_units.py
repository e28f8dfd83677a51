"""Units: which direction is better, and which can be converted into each other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.results.units import (
    NAMED_RATES,
    SIZES,
    TIMES,
    conversion,
    direction_of_measurement,
    direction_of_name,
    unit_of,
)

DIRECTIONS = {
    -1: ("ms", "s", "Seconds", "ns/op", "ns / iter", "(us)", "[ms]", "\N{MICRO SIGN}s", "B/op",
         "\N{GREEK SMALL LETTER MU}s", "KiB", "bytes", "cycles", "allocs/op", "s per query"),
    1: ("ops/s", "op/sec", "ops per second", "req/s", "MB/s", "GiB/sec", "Mops/s", "k rows/s",
        "rps", "QPS", "fps", "Gbps", "MFLOPS", "score", "frames/s"),
    0: ("", "%", "kittens", "x/y", "/", "1/s", "ms/", "/s", "count"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "expected"), [(unit, way) for way, units in DIRECTIONS.items() for unit in units]
)
def test_direction_of_unit(unit: str, expected: int) -> None:
    assert int(direction_of_measurement("", unit)) == expected


@pytest.mark.parametrize(
    ("unit", "into", "factor"),
    [
        ("s", "ms", 1000.0),
        ("ns", "s", 1e-9),
        ("min", "s", 60.0),
        ("us", "\N{MICRO SIGN}s", 1.0),
        ("MiB", "KiB", 1024.0),
        ("KB", "B", 1000.0),
        ("kB", "KiB", 0.9765625),
        ("ops/ms", "ops/s", 1000.0),
        ("Mops/s", "op/s", 1e6),
        ("MB/s", "kB/ms", 1.0),
        ("ns/op", "us/ops", 0.001),
        ("MHz", "kHz", 1000.0),
        ("Gbps", "Mbps", 1000.0),
        ("GFLOPS", "MFLOPS", 1000.0),
    ],
)
def test_factor_between_units(unit: str, into: str, factor: float) -> None:
    assert conversion(unit, into) == factor


@pytest.mark.parametrize(
    ("unit", "into"),
    [
        ("ms", "MB"),
        ("ms", "ops/s"),
        ("req/s", "rows/s"),
        ("MB/s", "Mbps"),
        ("ns/op", "B/op"),
        ("rps", "fps"),
        ("iops", "flops"),
        ("MHz", "MIPS"),
        ("%", "ms"),
        ("kittens", "puppies"),
        ("", "ms"),
    ],
)
def test_units_of_different_dimensions_are_not_converted(unit: str, into: str) -> None:
    assert conversion(unit, into) is None
    assert conversion(into, unit) is None


@pytest.mark.parametrize("unit", ["", "%", "kittens"])
def test_unknown_unit_equals_itself(unit: str) -> None:
    assert conversion(unit, unit) == 1.0
    assert unit_of(unit) is None


@settings(max_examples=40)
@given(st.sampled_from([*TIMES, *SIZES, *NAMED_RATES]), st.sampled_from([*TIMES, *SIZES]))
def test_conversion_there_and_back_changes_nothing(unit: str, into: str) -> None:
    there, back = conversion(unit, into), conversion(into, unit)
    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert there * back == pytest.approx(1)


@settings(max_examples=40)
@given(st.text("msopKB/() per", max_size=9))
def test_any_text_is_a_unit_or_none(text: str) -> None:
    unit = unit_of(text)
    assert unit is None or unit.factor > 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("throughput_rps", 1),
        ("bandwidth_mbps", 1),
        ("failed_rps", 0),
        ("throughput_ms", 0),
        ("Durchsatz (1/s)", 0),
        ("Latency (s)", -1),
    ],
)
def test_name_of_a_measurement_contradicts_its_unit_or_does_not(name: str, expected: int) -> None:
    assert int(direction_of_name(name)) == expected


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("Errors", "req/s", -1),
        ("Cache misses", "ops/s", -1),
        ("timeoutRate", "req/s", -1),
        ("Failed requests", "req/s", 0),
        ("default", "req/s", 1),
        ("drop table", "ops/s", 1),
        ("Requests", "req/s", 1),
        ("", "req/s", 1),
        ("rate", "req/s", 1),
        ("Errors", "kittens", 0),
    ],
)
def test_high_rate_of_failures_is_worse(name: str, unit: str, expected: int) -> None:
    assert int(direction_of_measurement(name, unit)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Failures/s", -1), ("errors_per_sec", -1), ("error_rate", -1), ("page faults (1/s)", -1),
     ("failed_per_sec", 0), ("default_per_sec", 0)],
)  # fmt: skip
def test_name_of_a_number_of_failures_has_a_direction(name: str, expected: int) -> None:
    assert int(direction_of_name(name)) == expected
