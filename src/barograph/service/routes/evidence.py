"""What helps to decide on a change point: suspects, siblings, reasons, decided cases, history."""

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field

from barograph.series import Verdict
from barograph.service.context import Context, guarded_router
from barograph.service.responses import Schema, nested, or_404
from barograph.service.routes.change_points import Number
from barograph.service.routes.series import SeriesLabels, SeriesResponse
from barograph.store.tokens import Scope
from barograph.triage.explanations import explanation
from barograph.triage.siblings import SiblingState, siblings
from barograph.triage.suspects import suspects
from barograph.triage.timeline import EventKind, timeline

EDGE = {"order": 1020, "commit": "a81b3f0", "time": 1706220908000, "value": 18234.5}


class EdgeResponse(Schema):
    """The result at one end of a suspect range."""

    order: int = Field(examples=[1020])
    commit: str = Field(examples=["a81b3f0"])
    time: int | None = Field(examples=[1706220908000])
    value: float = Field(examples=[18234.5])


class SuspectResponse(Schema):
    """A commit that may have caused a change."""

    order: int = Field(examples=[1022])
    commit: str = Field(examples=["c90d2e1"])
    old: int = Field(description="Siblings that were still at their old level.", examples=[0])
    new: int = Field(description="Siblings that had reached their new level.", examples=[4])
    subject: str = Field(examples=["Take locks eagerly in retryable writes"])
    author: str = Field(examples=["Ada Byron"])
    url: str = Field(examples=["https://git.example/commit/c90d2e1"])


class SuspectsResponse(Schema):
    """The commits between the last result before a change and the first one after it."""

    last_before: EdgeResponse | None = Field(examples=[EDGE])
    first_after: EdgeResponse | None = Field(examples=[EDGE])
    count: int = Field(description="Number of suspect commits.", examples=[4])
    commits: list[SuspectResponse] = Field(description="At most 200, oldest first.")
    likely: tuple[int, int] | None = Field(
        description="First and last order that siblings leave.", examples=[[1021, 1022]]
    )
    next: int | None = Field(
        description="Order of the commit to run next; null if nothing is left to halve.",
        examples=[1021],
    )
    siblings: int = Field(description="Number of siblings that moved.", examples=[4])


class SiblingResponse(Schema):
    """The same test in another variant or with other arguments."""

    series: SeriesResponse
    state: SiblingState = Field(examples=["moved"])
    before: float | None = nested("effect.before", 18230.0, "Median before the change.")
    after: float | None = nested("effect.after", 16100.0, "Median after the change.")
    percent: float | None = nested("effect.percent", -11.7)
    effect: Literal["worse", "better", "changed"] = Field(
        validation_alias="word", examples=["worse"]
    )
    count_after: int = nested("effect.count_after", 5, "Results after the change, at most 12.")
    change_point: int | None = Field(
        validation_alias="candidate",
        description="Its own change point in the suspect range.",
        examples=[4],
    )
    verdict: Verdict | None = Field(examples=["not_triaged"])
    orders: list[int] = Field(description="Orders of the results to plot.", examples=[[1020]])
    values: list[float] = Field(description="Results to plot.", examples=[[18230.0]])


class SiblingsResponse(Schema):
    """What the siblings of a series did at one of its changes, those that moved first."""

    last_before: int = Field(description="Last order of the old level.", examples=[1020])
    first_after: int = Field(description="First order of the new level.", examples=[1024])
    rose: int = Field(examples=[0])
    fell: int = Field(examples=[4])
    steady: int = Field(examples=[1])
    waiting: int = Field(description="Without a result yet, or with too few.", examples=[1])
    siblings: list[SiblingResponse] = Field(description="At most 200.")


class ReasonTextResponse(Schema):
    """A reason in words."""

    text: str = Field(examples=["The level fell by 5.1 noise units and stayed for 12 points."])
    part: float | None = Field(
        description="What it adds to the score of a real change; negative speaks against one.",
        examples=[1.2],
    )


class CandidateReasonsResponse(Schema):
    """Why a change point has its probability."""

    probability: float | None = Field(examples=[0.93])
    model: str | None = Field(examples=["label_free-90aa31b7c2d4"])
    reasons: list[ReasonTextResponse] = Field(description="The most decisive first.")
    facts: list[str] = Field(
        description="What the model does not know.",
        examples=[["11 of 14 sibling series fell at the same commit."]],
    )


class CaseResponse(SeriesLabels):
    """A decided change point that is like another one."""

    change_point: int = Field(validation_alias="candidate", examples=[9])
    series: int = Field(examples=[12])
    order: int = Field(examples=[980])
    commit: str = Field(examples=["77c01ab"])
    before: float | None = Field(examples=[18230.0])
    after: float | None = Field(examples=[16100.0])
    verdict: Verdict = Field(examples=["true_positive"])
    who: str = Field(examples=["ada"])
    time: int | None = Field(examples=[1706307399000])
    distance: float = Field(
        description="Mean over the features, in interquartile ranges.", examples=[0.3]
    )
    values: list[float] = Field(description="Results around it.", examples=[[18230.0, 16100.0]])
    split: int = Field(description="Index of the first result after it.", examples=[1])


class AlikeResponse(Schema):
    """The decided change points that are most like one, the nearest first."""

    cases: list[CaseResponse]


class EventResponse(Schema):
    """Something that happened to a change point."""

    kind: EventKind = Field(examples=["moved"])
    time: int | None = Field(examples=[1706220999000])
    who: str = Field(examples=["ada"])
    verdict: Verdict | None = Field(examples=["true_positive"])
    from_order: int | None = Field(examples=[1020])
    to_order: int | None = Field(examples=[1024])
    probability: float | None = Field(examples=[0.93])
    text: str = Field(examples=["fixed by SERVER-12345"])


class HistoryResponse(Schema):
    """The history of a change point, oldest first."""

    events: list[EventResponse]


routes = guarded_router(Scope.READ, "change points")


@routes.get(
    "/api/v1/change-points/{number}/suspects",
    response_model=SuspectsResponse,
    summary="Commits that may have caused a change",
)
def get_suspects(context: Context, number: Number) -> Any:
    """Return the suspect commits, what siblings say about them, and which to run next."""
    with context.store.read() as connection, or_404():
        return suspects(connection, number)


@routes.get(
    "/api/v1/change-points/{number}/siblings",
    response_model=SiblingsResponse,
    summary="The same test in other variants",
)
def get_siblings(context: Context, number: Number) -> Any:
    """Return what the other variants of the test did at the same commit."""
    with context.store.read() as connection, or_404():
        return siblings(connection, number)


@routes.get(
    "/api/v1/change-points/{number}/reasons",
    response_model=CandidateReasonsResponse,
    summary="Reasons for a probability",
)
def get_reasons(context: Context, number: Number) -> Any:
    """Return why the model gives a change point its probability, in sentences."""
    with context.store.read() as connection, or_404():
        return explanation(
            connection, number, context.candidate_model.newest(), siblings(connection, number)
        )


@routes.get(
    "/api/v1/change-points/{number}/alike",
    response_model=AlikeResponse,
    summary="Decided change points that are alike",
)
def get_alike(
    context: Context,
    number: Number,
    limit: Annotated[int, Query(ge=1, le=20, description="Number of cases.", examples=[3])] = 3,
) -> dict[str, Any]:
    """Return the nearest change points that people have called real or noise in this store."""
    model = context.candidate_model.newest()
    if model is None:
        return {"cases": []}
    with context.store.read() as connection, or_404():
        return {"cases": context.decided_cases.nearest(connection, number, model, limit)}


@routes.get(
    "/api/v1/change-points/{number}/history",
    response_model=HistoryResponse,
    summary="History of a change point",
)
def get_history(context: Context, number: Number) -> dict[str, Any]:
    """Return what happened to a change point, in the order of time."""
    with context.store.read() as connection, or_404():
        return {"events": timeline(connection, number)}
