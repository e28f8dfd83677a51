"""Units of measured values, and which direction is better: by the unit, or by a name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from barograph.results.series import Direction

LOWER, HIGHER, NEITHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER, Direction.UNKNOWN


class Unit(NamedTuple):
    """What is known about a unit.

    Attributes:
        dimension: Units of one dimension can be converted into each other.
        factor: The size of the unit, in the first unit of its dimension.
        direction: Which way is better.
    """

    dimension: str
    factor: float
    direction: Direction


TIMES = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0,
    "ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "us": 1e-6, "usec": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
    "ns": 1e-9, "nsec": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9, "ps": 1e-12,
    "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "day": 86_400.0, "days": 86_400.0, "week": 604_800.0, "weeks": 604_800.0,
}  # fmt: skip
SIZES = {
    "b": 1.0, "byte": 1.0, "bytes": 1.0,
    "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
    "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40,
}  # fmt: skip
MULTIPLES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
# What a rate counts: more of it in the same time is better.
COUNTED = (
    "op", "ops", "operation", "operations", "req", "reqs", "request", "requests", "query",
    "queries", "txn", "txns", "tx", "transaction", "transactions", "row", "rows", "record",
    "records", "item", "items", "elem", "elems", "element", "elements", "event", "events", "iter",
    "iters", "iteration", "iterations", "message", "messages", "msg", "msgs", "call", "calls",
    "doc", "docs", "document", "documents", "key", "keys", "frame", "frames", "token", "tokens",
    "flop", "flops", "run", "runs", "packet", "packets", "sample", "samples", "hit", "hits",
)  # fmt: skip
NAMED_RATES = {
    "rps": 1.0, "qps": 1.0, "tps": 1.0, "fps": 1.0, "hz": 1.0, "iops": 1.0,
    "khz": 1e3, "mhz": 1e6, "ghz": 1e9,
    "flops": 1.0, "mflops": 1e6, "gflops": 1e9, "tflops": 1e12,
    "mips": 1e6, "bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9,
}  # fmt: skip
LOWER_NAMES = ("cycles", "cycle", "instructions", "allocs", "allocations", "misses", "faults")
HIGHER_NAMES = ("score", "points")
# In the names of measurements these words mean something else more often: a minimum, variant B,
# how long something is kept.
DATES = ("day", "days", "week", "weeks")
NO_ENDINGS = frozenset(("b", "h", "min", "mins", "ps", *DATES, *HIGHER_NAMES))
# Words of a name that turn the direction of its unit around: errors per second, free bytes.
COUNTER_WORDS = re.compile(
    r"err|fail|fault|miss|drop|lost|loss|timeout|retr|alloc|stall|pause|conflict|evict|abort|reject"
    r"|cycle|instruction|free|avail|uptime|saved|processed|hits?$"
)
# A name that ends with one of these counts failures, whatever they are counted per; one that begins
# with a participle may count them, or measure how fast the system deals with them.
FAILURES = frozenset((
    "errors", "failures", "timeouts", "misses", "faults", "drops", "aborts", "rejections",
    "retries",
))  # fmt: skip
FAILED = frozenset(("failed", "rejected", "dropped", "lost", "aborted", "missed"))
RATE_ENDINGS = frozenset(("rate", "count", "total", "per", "1", *TIMES))
RATE_WORDS = re.compile(r"throughput|bandwidth|rate$")  # these contradict only a cost
WORDS = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
MULTIPLE = re.compile(r"^[kmgt](?=hz|flops|bps)")
SPLIT = re.compile(r"\s*(?:/|\bper\b|\bp/)\s*")


@lru_cache(256)  # a file has few units, and many series
def unit_of(name: str) -> Unit | None:
    """Return what is known about a unit, None if nothing is.

    Example:
        >>> unit_of("ms").dimension, unit_of("ns/iter").direction.name, unit_of("kittens")
        ('time', 'LOWER_IS_BETTER', None)
        >>> unit_of("MB/s").factor, unit_of("ops/ms").factor
        (1000000.0, 1000.0)
    """
    text = name.strip().strip("()[]").replace("\N{MICRO SIGN}", "u")
    text = text.replace("\N{GREEK SMALL LETTER MU}", "u").lower()
    above, *below = SPLIT.split(text, maxsplit=1)
    if below:
        return _ratio(above.strip(), below[0].strip())
    if text in TIMES:
        return Unit("time", TIMES[text], LOWER)
    if text in SIZES:
        return Unit("size", SIZES[text], LOWER)
    if text in NAMED_RATES:
        return Unit(MULTIPLE.sub("", text), NAMED_RATES[text], HIGHER)
    if text in LOWER_NAMES:
        return Unit(text.removesuffix("s"), 1.0, LOWER)
    return Unit(text, 1.0, HIGHER) if text in HIGHER_NAMES else None


def _ratio(above: str, below: str) -> Unit | None:
    """Return a rate such as `MB/s`, or a cost such as `ns/iter`."""
    if not below:
        return None
    if below in TIMES:
        time = TIMES[below]
        if above in SIZES:
            return Unit("size/time", SIZES[above] / time, HIGHER)
        multiple, counted = _counted(above)
        return Unit(f"{counted}/time", multiple / time, HIGHER) if counted else None
    _, counted = _counted(below)
    cost = TIMES.get(above) or SIZES.get(above)
    if cost is not None:
        return Unit(f"{'time' if above in TIMES else 'size'}/{counted or below}", cost, LOWER)
    if above in LOWER_NAMES:
        return Unit(f"{above.removesuffix('s')}/{counted or below}", 1.0, LOWER)
    return None


def _counted(text: str) -> tuple[float, str]:
    """Return the multiple and the name of what is counted, such as 1e6 and `op` for `Mops`."""
    for name in (text, text[1:], text[1:].lstrip()):
        prefix = text[: len(text) - len(name)].strip()
        if name in COUNTED and prefix in MULTIPLES:
            return MULTIPLES[prefix], name.removesuffix("s")
    return 1.0, ""


def _direction_of_unit(name: str) -> Direction:
    unit = unit_of(name)
    return NEITHER if unit is None else unit.direction


def direction_of_name(name: str) -> Direction:
    """Return which way is better for a measurement whose name ends with a unit.

    A name that may mean something else has no direction: a wrong one would hide a regression.

    Example:
        >>> direction_of_name("real_time_ns").name, direction_of_name("ops_per_sec").name
        ('LOWER_IS_BETTER', 'HIGHER_IS_BETTER')
        >>> direction_of_name("errors_per_sec").name, direction_of_name("latency_min").name
        ('LOWER_IS_BETTER', 'UNKNOWN')
    """
    words = _words(name)
    if not words:
        return NEITHER
    if _counts_failures(words):
        return LOWER
    *before, last = words
    if before[-1:] == ["per"]:
        above, counter = " ".join(before[-2:-1]), before[:-1]
        direction = _direction_of_unit(f"{above}/{last}")
        is_rate = last in TIMES and bool(above)
        way = HIGHER if direction == NEITHER and is_rate else direction
        return NEITHER if any(map(COUNTER_WORDS.search, counter)) else way
    # `ops_s`, `mb_s` and `1/s` may be rates, or seconds.
    may_be_rate = last in ("s", "sec") and not {*before[-1:]}.isdisjoint((*SIZES, *COUNTED, "1"))
    if last in NO_ENDINGS or may_be_rate or any(map(COUNTER_WORDS.search, before)):
        return NEITHER
    direction = _direction_of_unit(last)
    return NEITHER if direction == LOWER and any(map(RATE_WORDS.search, before)) else direction


def direction_of_measurement(name: str, unit: str) -> Direction:
    """Return which way is better for a measurement in a unit: a high rate of failures is worse.

    Example:
        >>> direction_of_measurement("Requests", "req/s").name
        'HIGHER_IS_BETTER'
        >>> direction_of_measurement("Errors", "req/s").name
        'LOWER_IS_BETTER'
        >>> direction_of_measurement("Failed requests", "req/s").name
        'UNKNOWN'
    """
    direction = _direction_of_unit(unit)
    if direction != HIGHER:
        return direction
    words = _words(name)
    if _counts_failures(words):
        return LOWER
    return NEITHER if words and words[0] in FAILED else HIGHER


def _words(name: str) -> list[str]:
    return [word.lower() for word in WORDS.findall(CAMEL.sub("_", name))]


def _counts_failures(words: list[str]) -> bool:
    """Return whether a name is that of a number or rate of failures."""
    kept = [*words]
    while kept and kept[-1] in RATE_ENDINGS:
        kept.pop()
    if not kept:
        return False
    is_rate = len(kept) < len(words) and words[len(kept)] in ("rate", "count")
    return kept[-1] in FAILURES or (is_rate and f"{kept[-1]}s" in FAILURES)


def conversion(unit: str, into: str) -> float | None:
    """Return the factor that converts values of one unit into another, None if there is none.

    Example:
        >>> conversion("ms", "us"), conversion("ms", "MB"), conversion("x", "x")
        (1000.0, None, 1.0)
    """
    if unit == into:
        return 1.0
    first, second = unit_of(unit), unit_of(into)
    if first is None or second is None or first.dimension != second.dimension:
        return None
    return float(f"{first.factor / second.factor:.15g}")
