"""What a sender is told of the measurements that it sent."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class StepRecord(NamedTuple):
    """One step of a second look; places are those of points in their series.

    Attributes:
        kind: called, confirmed, moved or withdrawn.
        order: of the change point; after `moved`, where it is now.
        run: of the change point.
        probability: what the model said then.
        from_order: where it was before it was moved.
        from_run: the same.
    """

    kind: str
    order: int
    run: str
    probability: float
    from_order: int | None = None
    from_run: str | None = None


class Status(StrEnum):
    """What became of a measurement."""

    WRITTEN = "written"
    DUPLICATE = "duplicate"  # the store had it: nothing was written
    REVISED = "revised"  # another value for the same identity: both are kept
    REJECTED = "rejected"


@dataclass(slots=True)
class PointResult:
    """What became of one measurement, and what the detector says of its point.

    Attributes:
        status: see `Status`.
        reason: why it was rejected, or which value of a revised point holds.
        series: the number of its series, 0 where it was rejected.
        order: its place in the history.
        probability: of a change at this point.
        is_change: whether it is called one.
        baseline_size: how many points it was held against.
        steps: what a second look made certain as it landed.
    """

    status: Status
    reason: str = ""
    series: int = 0
    order: int | None = None
    probability: float | None = None
    is_change: bool | None = None
    baseline_size: int | None = None
    steps: tuple[StepRecord, ...] = ()


@dataclass(frozen=True)
class IngestResult:
    """What became of one request: acknowledged means committed."""

    outcomes: list[PointResult]
    model: str

    def count(self, status: Status) -> int:
        """How many measurements it happened to."""
        return sum(one.status is status for one in self.outcomes)

    @property
    def counts(self) -> dict[str, int]:
        """How many were written, duplicate, revised and rejected."""
        found = Counter(one.status for one in self.outcomes)
        return {status.value: found[status] for status in Status}

    @property
    def reasons(self) -> dict[str, int]:
        """Why measurements were rejected, and how many for each reason."""
        return dict(Counter(one.reason for one in self.outcomes if one.status is Status.REJECTED))
