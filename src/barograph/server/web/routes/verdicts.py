"""Verdicts on many change points at once, undoing them, and their history."""

from typing import Annotated, Any

from fastapi import Header, Path, Query
from pydantic import Field

from barograph.results.series import Verdict
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import verdicts as judgements
from barograph.server.triage.verdicts import ITEMS, NOTE, REASON, REQUEST, VerdictEntry, Why
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import Schema, field, nested, next_cursor
from barograph.server.web.routes.series import Limit
from barograph.server.web.routes.tokens import Before

BatchNumber = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the batch.", examples=[12])]
RequestKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=REQUEST,
        description="Made up by the sender. A request that is sent again with the same key is "
        "answered as the first time, and nothing is written.",
        examples=["6f1c9a52-4f0e-4a57-9f8e-0c6f8f3c7b1d"],
    ),
]
OfBatch = Annotated[
    int | None, Query(ge=1, le=INTEGER, description="Only this batch.", examples=[12])
]
OfChangePoint = Annotated[
    int | None, Query(ge=1, le=INTEGER, description="Only this change point.", examples=[3])
]
OfPerson = Annotated[
    str | None, Query(max_length=200, description="Only verdicts by this token.", examples=["ada"])
]
OfVerdict = Annotated[
    Verdict | None, Query(description="Only this verdict.", examples=["true_positive"])
]


class SeenChangePoint(Schema):
    """A change point, and the version that the person saw."""

    id: int = field(3, ge=1, le=INTEGER)
    version: int | None = field(
        0,
        "Refused if there was a verdict since; null replaces any verdict.",
        default=None,
        ge=0,
        le=INTEGER,
    )


class VerdictsRequest(Schema):
    """One verdict on some change points."""

    verdict: Verdict = field(
        "true_positive",
        "`unsure` and `under_investigation` never train a model; `not_triaged` reopens.",
    )
    note: str = field("fixed by SERVER-12345", default="", max_length=NOTE)
    reason: str = field(
        "known host problem",
        "In a word or two, such as `known host problem`.",
        default="",
        max_length=REASON,
    )
    change_points: list[SeenChangePoint] = Field(min_length=1, max_length=ITEMS)


class SavedResponse(Schema):
    """A change point with its new version."""

    id: int = field(3)
    version: int = field(1)


class RefusedResponse(Schema):
    """A change point that was left as it is, with its latest verdict."""

    id: int = field(4)
    why: Why = field(
        "decided",
        "`gone`: it does not exist. `withdrawn`: the latest refresh did not find it. "
        "`decided`: somebody gave a verdict meanwhile. `undone`: it was undone already.",
    )
    version: int | None = field(2)
    verdict: Verdict | None = field("false_positive")
    who: str | None = field("wen")
    time: int | None = field(1706307399000)


class BatchResponse(Schema):
    """What was saved, and what was refused."""

    batch: int = field(12, "Undo takes it.")
    saved: list[SavedResponse]
    refused: list[RefusedResponse]


class VerdictEntryResponse(Schema):
    """One entry of the history of verdicts."""

    id: int = field(40)
    change_point: int = nested("candidate", 3)
    verdict: Verdict = field("true_positive")
    who: str = field("ada")
    time: int = field(1706307399000)
    note: str = field("fixed by SERVER-12345")
    reason: str = field("known host problem")
    batch: int | None = field(12, "Null if it was imported.")
    undoes: int | None = field(39, "The entry that this one undoes.")
    probability: float | None = field(0.93, "At that time.")
    model: str | None = field("label_free-90aa31b7c2d4", "The model that the probability is from.")


class VerdictsPage(Schema):
    """A page of the history, the newest first; for more, send `next` as `before`."""

    verdicts: list[VerdictEntryResponse]
    next: int | None = field(40)


routes = guarded_router(Scope.READ, "verdicts")
giving = guarded_router(Scope.TRIAGE, "verdicts")


@routes.get("/api/v1/verdicts", response_model=VerdictsPage, summary="History of verdicts")
def get_verdicts(
    context: Context,
    change_point: OfChangePoint = None,
    batch: OfBatch = None,
    who: OfPerson = None,
    verdict: OfVerdict = None,
    before: Before = None,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return who gave which verdict, when and why, the newest first."""
    with context.store.read() as connection:
        entries: list[VerdictEntry] = judgements.history(
            connection,
            candidate=change_point,
            batch=batch,
            who=who,
            verdict=verdict,
            before=before,
            limit=limit,
        )
    return {"verdicts": entries, "next": next_cursor(entries, limit)}


@giving.post("/api/v1/verdicts", response_model=BatchResponse, summary="Give a verdict on many")
def post_verdicts(
    context: Context, caller: CallerName, body: VerdictsRequest, key: RequestKey = None
) -> Any:
    """Record one verdict on some change points, except those that were decided meanwhile."""
    items = [(seen.id, seen.version) for seen in body.change_points]
    return context.store.write(
        lambda connection: judgements.record_batch(
            connection, items, body.verdict, caller, body.note, body.reason, request=key
        )
    )


@giving.post("/api/v1/verdicts/{batch}/undo", response_model=BatchResponse, summary="Undo verdicts")
def post_undo(
    context: Context, batch: BatchNumber, caller: CallerName, key: RequestKey = None
) -> Any:
    """Restore the verdicts before a batch, except where somebody decided meanwhile."""
    return context.store.write(
        lambda connection: judgements.undo(connection, batch, caller, request=key)
    )
