"""What a sender gets back for the measurements of one request."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from barograph.detection.online import ANSWERS, Answer

CHANGE = ANSWERS.index(Answer.CHANGE)


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
        decision: The decision on the commit; None if the measurement was rejected.
        steps: What the second look did when the commit arrived.
    """

    status: PointStatus
    reason: str = ""
    series: int = 0
    order: int | None = None
    decision: CommitDecision | None = None
    steps: tuple[StepRecord, ...] = ()

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

    @property
    def counts(self) -> dict[str, int]:
        """Number of measurements by status."""
        every = [point.status for point in self.points]
        return {status.value: every.count(status) for status in PointStatus}

    @property
    def reasons(self) -> dict[str, int]:
        """Number of rejected measurements by reason."""
        rejected = PointStatus.REJECTED
        return dict(Counter(point.reason for point in self.points if point.status is rejected))
