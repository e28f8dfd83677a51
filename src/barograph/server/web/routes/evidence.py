"""What helps to decide on a change point: suspects, siblings, reasons, decided cases, history."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from barograph.results.series import Verdict
from barograph.results.wording import EffectWord
from barograph.server.store.tokens import Scope
from barograph.server.triage.explanations import explanation
from barograph.server.triage.siblings import SiblingState, siblings
from barograph.server.triage.suspects import suspects
from barograph.server.triage.timeline import EventKind, timeline
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.responses import Schema, field, nested
from barograph.server.web.routes.change_points import Number
from barograph.server.web.routes.series import SeriesLabels, SeriesResponse

EDGE = {"order": 1020, "commit": "a81b3f0", "time": 1706220908000, "value": 18234.5}


class EdgeResponse(Schema):
    """The result at one end of a suspect range."""

    order: int = field(1020)
    commit: str = field("a81b3f0")
    time: int | None = field(1706220908000)
    value: float = field(18234.5)


class SuspectResponse(Schema):
    """A commit that may have caused a change."""

    order: int | None = field(1022, "Null if it has no result.")
    commit: str = field("c90d2e1")
    old: int = field(0, "Siblings that were still at their old level.")
    new: int = field(4, "Siblings that had reached their new level.")
    subject: str = field("Take locks eagerly in retryable writes")
    author: str = field("Ada Byron")
    url: str = field("https://git.example/commit/c90d2e1")
    is_likely: bool = field(True, "Whether it is among those that siblings leave.")


class SuspectsResponse(Schema):
    """The commits between the last result before a change and the first one after it."""

    last_before: EdgeResponse | None = field(EDGE)
    first_after: EdgeResponse | None = field(EDGE)
    count: int = field(4, "Number of known suspect commits.")
    is_complete: bool = field(True, "Whether no other commit lies between the two results.")
    commits: list[SuspectResponse] = Field(description="At most 200, oldest first.")
    next: str | None = field(
        "c90d2e1", "Name of the commit to run next; null if fewer than two are known."
    )
    siblings: int = field(4, "Number of siblings that moved.")


class SiblingResponse(Schema):
    """The same test in another variant or with other arguments."""

    series: SeriesResponse
    state: SiblingState = field("moved")
    before: float | None = nested("effect.before", 18230.0, "The level before the change.")
    after: float | None = nested("effect.after", 16100.0, "The level after the change.")
    percent: float | None = nested("effect.percent", -11.7)
    effect: EffectWord = nested("word", "worse")
    count_after: int = nested("effect.count_after", 5, "Results that `after` is made of.")
    change_point: int | None = nested("candidate", 4, "Its own change point in the suspect range.")
    verdict: Verdict | None = field("not_triaged")
    orders: list[int] = field([1020], "Orders of the results to plot.")
    values: list[float] = field([18230.0], "Results to plot.")


class SiblingsResponse(Schema):
    """What the siblings of a series did at one of its changes, those that moved first."""

    last_before: int = field(1020, "Last order of the old level.")
    first_after: int = field(1024, "First order of the new level.")
    rose: int = field(0)
    fell: int = field(4)
    steady: int = field(1)
    waiting: int = field(1, "Without a result yet, or with too few.")
    siblings: list[SiblingResponse] = Field(description="At most 200.")


class ReasonTextResponse(Schema):
    """A reason in words."""

    text: str = field("The level fell by 5.1 noise units and stayed for 12 points.")
    part: float | None = field(
        1.2, "What it adds to the score of a real change; negative speaks against one."
    )


class CandidateReasonsResponse(Schema):
    """Why a change point has its probability."""

    probability: float | None = field(0.93)
    model: str | None = field("label_free-90aa31b7c2d4")
    reasons: list[ReasonTextResponse] = Field(description="The most decisive first.")
    facts: list[str] = field(
        ["11 of 14 sibling series fell at the same commit."], "What the model does not know."
    )
    against: list[str] = field([], "Such facts that speak against a real change.")


class CaseResponse(SeriesLabels):
    """A decided change point that is like another one."""

    change_point: int = nested("candidate", 9)
    series: int = field(12)
    order: int = field(980)
    commit: str = field("77c01ab")
    before: float | None = field(18230.0)
    after: float | None = field(16100.0)
    verdict: Verdict = field("true_positive")
    who: str = field("ada")
    time: int | None = field(1706307399000)
    distance: float = field(0.3, "Mean over the features, in interquartile ranges.")
    values: list[float] = field([18230.0, 16100.0], "Results around it.")
    split: int = field(1, "Index of the first result after it.")


class AlikeResponse(Schema):
    """The decided change points that are most like one, the nearest first."""

    cases: list[CaseResponse]


class EventResponse(Schema):
    """Something that happened to a change point."""

    kind: EventKind = field("moved")
    time: int | None = field(1706220999000)
    who: str = field("ada")
    verdict: Verdict | None = field("true_positive")
    from_order: int | None = field(1020)
    to_order: int | None = field(1024)
    probability: float | None = field(0.93)
    text: str = field("fixed by SERVER-12345")


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
    with context.store.read() as connection:
        return suspects(connection, number)


@routes.get(
    "/api/v1/change-points/{number}/siblings",
    response_model=SiblingsResponse,
    summary="The same test in other variants",
)
def get_siblings(context: Context, number: Number) -> Any:
    """Return what the other variants of the test did at the same commit."""
    with context.store.read() as connection:
        return siblings(connection, number)


@routes.get(
    "/api/v1/change-points/{number}/reasons",
    response_model=CandidateReasonsResponse,
    summary="Reasons for a probability",
)
def get_reasons(context: Context, number: Number) -> Any:
    """Return why the model gives a change point its probability, in sentences."""
    with context.store.read() as connection:
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
    with context.store.read() as connection:
        return {"cases": context.decided_cases.nearest(connection, number, model, limit)}


@routes.get(
    "/api/v1/change-points/{number}/history",
    response_model=HistoryResponse,
    summary="History of a change point",
)
def get_history(context: Context, number: Number) -> dict[str, Any]:
    """Return what happened to a change point, in the order of time."""
    with context.store.read() as connection:
        return {"events": timeline(connection, number)}
