"""What a sender gets back for the measurements of one request."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class StepRecord(NamedTuple):
    """One step of the second look.

    Attributes:
        kind: called, confirmed, moved or withdrawn.
        order: Order of the change point; after `moved`, the new one.
        probability: Probability of the change at that moment.
        from_order: Order of the change point before it was moved.
    """

    kind: str
    order: int
    probability: float
    from_order: int | None = None


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
        reason: Why it was rejected, or which value of a revised point holds.
        series: Number of the series; 0 if it was rejected.
        order: Order of the point.
        probability: Probability of a change at this commit.
        is_change: Whether an alarm is raised.
        baseline_size: Number of commits in Pre.
        steps: What the second look did when the commit arrived.
    """

    status: PointStatus
    reason: str = ""
    series: int = 0
    order: int | None = None
    probability: float | None = None
    is_change: bool | None = None
    baseline_size: int | None = None
    steps: tuple[StepRecord, ...] = ()


@dataclass(frozen=True)
class IngestResult:
    """The results of one request, which is committed.

    Args:
        points: One result for each measurement, in the same order.
        model: Version of the model that decided.
    """

    points: list[PointResult]
    model: str

    def count(self, status: PointStatus) -> int:
        """Return how many measurements have a status."""
        return sum(point.status is status for point in self.points)

    @property
    def counts(self) -> dict[str, int]:
        """Number of measurements by status."""
        counts = Counter(point.status for point in self.points)
        return {status.value: counts[status] for status in PointStatus}

    @property
    def reasons(self) -> dict[str, int]:
        """Number of rejected measurements by reason."""
        rejected = PointStatus.REJECTED
        return dict(Counter(point.reason for point in self.points if point.status is rejected))
