"""One result as it arrives, what is allowed in it, and what its sender gets back."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, Self

from barograph.detection.online import ANSWERS, AlarmStep, Answer
from barograph.results.series import Direction, SeriesId
from barograph.results.texts import CONTROL
from barograph.results.units import conversion, direction_of_measurement
from barograph.runtime.errors import DataError

CHANGE = ANSWERS.index(Answer.CHANGE)
HIGHEST = 2**52  # order that a result may state; those that follow without an order fit into JSON
INTEGER = 2**62  # leaves room within 64 bits for the next order


class Measurement(NamedTuple):
    """One result of one series.

    Its identity is the series, the order (or the commit, where no order is given) and the run.

    Attributes:
        series: Identity of the series.
        value: The result.
        order: Position of the commit in the history.
        commit: The commit; without an order, it gets the one that it has in its project, or the
            next one.
        run: Distinguishes several results of one commit. The lowest, compared by its bytes, is
            the first run; the others are its reruns.
        time: When it was measured, in milliseconds since 1970 (UTC). Of several values for one
            series, order and run the one measured last holds.
        direction: Which way is better, if the sender knows; the first that a series gets holds.
        unit: The unit of the value, if the sender knows. The values of a series have one unit, the
            first that arrives; those in other units are converted to it. It gives the direction if
            neither the sender nor the series has any.
        made_up: Whether a reader made up the order. Then a result without a run that was measured
            at another time is a further run, not a correction.
    """

    series: SeriesId
    value: float
    order: int | None = None
    commit: str = ""
    run: str = ""
    time: int | None = None
    direction: Direction = Direction.UNKNOWN
    unit: str = ""
    made_up: bool = False


def direction_of(measurement: Measurement) -> Direction:
    """Return the direction that a measurement states, or else that of its unit."""
    name, unit = measurement.series.measurement, measurement.unit
    return measurement.direction or direction_of_measurement(name, unit)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may contain.

    Args:
        batch: Maximum number of measurements in a request.
        runs: Maximum number of runs of a commit.
        label: Maximum number of characters in a label, a commit, a run or a unit.
        args: Maximum number of arguments of a series.
        largest: Maximum magnitude of a value; squares of values must stay finite.
    """

    batch: int = 100_000
    runs: int = 1000
    label: int = 500
    args: int = 32
    largest: float = 1e100


# Answer, probability, surprise, length of Pre, reruns, and order since when a change is known.
StoredDecision = tuple[int, float, float, int, int, int | None]
DECISION = ("answer", "probability", "surprise", "baseline_size", "reruns", "known_since")


class KnownChange(NamedTuple):
    """Where a change begins whose alarm was raised at an earlier commit."""

    order: int
    commit: str


class CommitDecision(NamedTuple):
    """The decision on a commit, as of its arrival; all its runs share it.

    Attributes:
        answer: Whether an alarm is raised, or a rerun has to tell a spike from a change.
        probability: Probability of the change that the decision is about: the one that is raised
            or known, else a change at this commit.
        surprise: How far the settled value departs from what was usual, in nats; 0 if it does not.
        reruns: Number of further runs that are advised.
        known_since: The standing change near the commit, if its alarm was raised earlier.
        baseline_size: Number of commits in Pre.
    """

    answer: Answer
    probability: float
    surprise: float
    reruns: int
    known_since: KnownChange | None
    baseline_size: int

    @property
    def is_change(self) -> bool:
        """Whether an alarm is raised."""
        return self.answer is Answer.CHANGE

    @classmethod
    def of(cls, stored: StoredDecision, commit: str = "") -> Self:
        """Return a stored decision, given the commit since when a change is known."""
        answer, probability, surprise, baseline_size, reruns, since = stored
        known = None if since is None else KnownChange(since, commit)
        return cls(ANSWERS[answer], probability, surprise, reruns, known, baseline_size)


class PointStatus(StrEnum):
    """What happened to a measurement."""

    WRITTEN = "written"
    DUPLICATE = "duplicate"  # the store had it: nothing was written
    REVISED = "revised"  # another value for the same point: both are kept
    REJECTED = "rejected"


@dataclass(slots=True)
class PointResult:
    """What happened to one measurement, and the decision on its commit.

    Attributes:
        status: See `PointStatus`.
        reason: Why it was rejected or is pending, or which value of a revised point holds.
        series: Number of the series; 0 if it was rejected.
        order: Order of the point.
        decision: The decision on the commit; None if it was rejected or is pending.
        steps: What the second look did when the commit arrived, by orders.
    """

    status: PointStatus
    reason: str = ""
    series: int = 0
    order: int | None = None
    decision: CommitDecision | None = None
    steps: tuple[AlarmStep, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether an alarm is raised at the commit."""
        return self.decision is not None and self.decision.is_change


@dataclass(frozen=True)
class IngestResult:
    """The results of one request, which is committed.

    Args:
        points: One result for each measurement, in the same order.
        model: Version of the model that decided.
    """

    points: list[PointResult]
    model: str

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of measurements by status."""
        every = [point.status for point in self.points]
        return {status.value: every.count(status) for status in PointStatus}

    @cached_property
    def reasons(self) -> dict[str, int]:
        """Number of rejected measurements by reason."""
        rejected = PointStatus.REJECTED
        return dict(Counter(point.reason for point in self.points if point.status is rejected))


def fault(measurement: Measurement, limits: Limits) -> str:
    """Return why a measurement is invalid, or an empty text; its series is checked separately."""
    value, order, time = measurement.value, measurement.order, measurement.time
    if isinstance(value, bool) or not isinstance(value, float | int):
        return f"value: {type(value).__name__} is not a number"
    if not abs(value) <= limits.largest:  # nor is NaN
        return f"value: {_shown(value)} is not allowed; finite, at most {limits.largest:g} large"
    if order is None and not measurement.commit:
        return "order: missing, and no commit; one of them is needed"
    if order is not None and not (_is_whole(order) and abs(order) <= HIGHEST):
        return (
            f"order: {_shown(order)} is not allowed; whole numbers of at most 2^52 are; number "
            "the commits, or give times in milliseconds"
        )
    if time is not None and not (_is_whole(time) and abs(time) < INTEGER):
        return f"time: {_shown(time)} is not milliseconds since 1970"
    texts = ((name, getattr(measurement, name)) for name in ("commit", "run", "unit"))
    return _labels_fault(texts, limits)


def in_unit(measurement: Measurement, unit: str, limits: Limits) -> Measurement:
    """Return a measurement in the unit of its series.

    Raises:
        DataError: Its unit cannot be converted, or its value is too large in the other.
    """
    factor = conversion(measurement.unit, unit)
    if factor is None:
        raise DataError(
            f"unit: {measurement.unit!r} cannot be converted to {unit!r}, the unit of the series"
        )
    value = measurement.value * factor
    if abs(value) > limits.largest:
        raise DataError(
            f"value: {measurement.value!r} in {measurement.unit!r} is too large in {unit!r}, the "
            f"unit of the series; at most {limits.largest:g}"
        )
    return measurement._replace(value=value, unit=unit)


def series_fault(series: SeriesId, limits: Limits) -> str:
    """Return why a series cannot be created, or an empty text."""
    if len(series.args) > limits.args:
        return f"args: {len(series.args)} of them, allowed are {limits.args}"
    if not any(series.labels.values()):
        return "series: every label is empty"
    labels = [*series.labels.items(), *(("args", text) for pair in series.args for text in pair)]
    return _labels_fault(labels, limits)


def _labels_fault(labels: Iterable[tuple[str, object]], limits: Limits) -> str:
    for name, text in labels:
        if not isinstance(text, str):
            return f"{name}: {type(text).__name__} is not text"
        if len(text) > limits.label:
            return f"{name}: {len(text)} characters, allowed are {limits.label}"
        if text and CONTROL.search(text):
            return f"{name}: holds a control character"
    return ""


def _shown(value: object) -> str:
    """Return a short text for a value; Python refuses to print huge integers."""
    if isinstance(value, int) and abs(value) > INTEGER:
        return f"a whole number of {value.bit_length()} bits"
    return f"{value!r:.40}"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
