"""One result as it arrives, and what is allowed in it."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from barograph.series import Direction, SeriesId

INTEGER = 2**62  # well within 64 bits, so that the next order always is
CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # what no label holds, and no database likes


class Measurement(NamedTuple):
    """One result of one series.

    Its identity is the series, the order (or the commit, where no order is given) and the run.

    Attributes:
        series: what was measured.
        value: the result.
        order: the place of the commit in the history.
        commit: the commit that was measured; by itself, it takes the order that it has in its
            project, or the next one.
        run: tells results of one commit apart.
        time: when it was measured, in milliseconds since 1970; of several values for one identity
            the one measured last holds.
        direction: which way is better, where the sender knows.
    """

    series: SeriesId
    value: float
    order: int | None = None
    commit: str = ""
    run: str = ""
    time: int | None = None
    direction: Direction = Direction.UNKNOWN


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sender may ask of the store.

    Args:
        batch: measurements in one request.
        series_length: points of one series.
        label: characters of a label, a commit or a run.
        args: arguments of one series.
        largest: magnitude of a value; squares of values must stay finite.
    """

    batch: int = 100_000
    series_length: int = 100_000
    label: int = 500
    args: int = 32
    largest: float = 1e100


def fault(one: Measurement, limits: Limits) -> str:
    """Say why a measurement cannot be taken; nothing if it can. The series is judged apart."""
    value, order, time = one.value, one.order, one.time
    if not _is_number(value):
        return f"value: {type(value).__name__} is not a number"
    if not abs(value) <= limits.largest:  # nor is NaN
        return f"value: {_shown(value)} is not allowed; finite, at most {limits.largest:g} large"
    if order is None and not one.commit:
        return "order: missing, and no commit; one of them is needed"
    if order is not None and not (_is_whole(order) and abs(order) < INTEGER):
        return f"order: {_shown(order)} is not a whole number of 62 bits"
    if time is not None and not (_is_whole(time) and abs(time) < INTEGER):
        return f"time: {_shown(time)} is not milliseconds since 1970"
    return _label("commit", one.commit, limits) or _label("run", one.run, limits)


def series_fault(series: SeriesId, limits: Limits) -> str:
    """Say why a series cannot be made; nothing if it can."""
    if len(series.args) > limits.args:
        return f"args: {len(series.args)} of them, allowed are {limits.args}"
    fields = {
        "project": series.project,
        "variant": series.variant,
        "task": series.task,
        "test": series.test,
        "measurement": series.measurement,
    }
    if not any(fields.values()):
        return "series: every label is empty"
    labels = [*fields.items(), *(("args", text) for pair in series.args for text in pair)]
    return next(filter(None, (_label(name, text, limits) for name, text in labels)), "")


def _label(name: str, text: object, limits: Limits) -> str:
    if text == "":
        return ""
    if not isinstance(text, str):
        return f"{name}: {type(text).__name__} is not text"
    if len(text) > limits.label:
        return f"{name}: {len(text)} characters, allowed are {limits.label}"
    return f"{name}: holds a control character" if CONTROL.search(text) else ""


def _shown(value: object) -> str:
    """Write a value shortly; Python itself refuses to write out a whole number that is huge."""
    if isinstance(value, int) and abs(value) > INTEGER:
        return f"a whole number of {value.bit_length()} bits"
    return f"{value!r:.40}"


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
