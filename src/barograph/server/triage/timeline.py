"""The history of a candidate: detected, scored, moved, decided, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.server.store.candidate_records import CandidateRecord, get_candidate, moves_of
from barograph.server.triage import tickets, verdicts


class EventKind(StrEnum):
    """What happened to a candidate."""

    DETECTED = "detected"
    SCORED = "scored"
    MOVED = "moved"
    WITHDRAWN = "withdrawn"  # the latest detection did not find it
    RETURNED = "returned"  # it was found again
    VERDICT = "verdict"
    TICKET = "ticket"


@dataclass(frozen=True, slots=True)
class CandidateEvent:
    """Something that happened to a candidate.

    Attributes:
        kind: What happened.
        time: When, in milliseconds since 1970; None if unknown.
        who: Who did it; empty if it was the service.
        verdict: The verdict that was given.
        from_order: Where the candidate was before it moved.
        to_order: Where it was after.
        probability: The probability that it was scored with.
        text: The reason and the note of a verdict, the detector with what it measured last, the
            model of a score, or the key of a ticket.
    """

    kind: EventKind
    time: int | None
    who: str = ""
    verdict: Verdict | None = None
    from_order: int | None = None
    to_order: int | None = None
    probability: float | None = None
    text: str = ""


def timeline(connection: sa.Connection, candidate: int) -> list[CandidateEvent]:
    """Return what happened to a candidate, the oldest first.

    Args:
        connection: From `Store.read`.
        candidate: Number of the candidate.

    Raises:
        NotFoundError: There is no such candidate.
    """
    change = get_candidate(connection, candidate)
    events = [
        CandidateEvent(
            EventKind(move.kind), move.time, from_order=move.from_order, to_order=move.to_order
        )
        for move in moves_of(connection, candidate)
    ]
    for entry in reversed(verdicts.history(connection, candidate=candidate, limit=None)):
        text = ": ".join(filter(None, (entry.reason, entry.note)))
        events.append(
            CandidateEvent(EventKind.VERDICT, entry.time, entry.who, entry.verdict, text=text)
        )
    events += [
        CandidateEvent(EventKind.TICKET, ticket.opened, text=ticket.key)
        for ticket in tickets.find(connection, about=[candidate], limit=None)
    ]
    if change.detected_on is not None:
        events.append(
            CandidateEvent(EventKind.DETECTED, change.detected_on, text=_detection(change))
        )
    if change.probability is not None:
        events.append(
            CandidateEvent(
                *(EventKind.SCORED, change.calculated_on),
                probability=change.probability,
                text=change.model or "",
            )
        )
    return sorted(events, key=lambda event: (event.time is not None, event.time or 0))


def _detection(change: CandidateRecord) -> str:
    """Return the detector, with Q and the order of discovery (Daly et al. 2020, 3)."""
    facts = [] if change.q is None else [f"energy statistic {change.q:.4g}"]
    if change.discovery is not None:
        facts.append(f"number {change.discovery + 1} in the order of discovery")
    return (change.detector or "") + (f" ({', '.join(facts)})" if facts else "")
