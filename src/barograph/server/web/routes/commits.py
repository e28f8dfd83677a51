"""Commits with changes, and everything that one commit changed."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from pydantic import Field

from barograph.results.wording import EffectWord
from barograph.server.store import commit_details
from barograph.server.store.commit_details import LONGEST, CommitDetails
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import commits
from barograph.server.triage.commit_text import commit_text
from barograph.server.triage.commits import CommitChanges
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.responses import Schema, field, nested
from barograph.server.web.routes.change_points import ChangePointResponse
from barograph.server.web.routes.points import EXAMPLE as RESULT
from barograph.server.web.routes.series import SeriesResponse, Text
from barograph.server.web.routes.tickets import TicketResponse

ProjectName = Annotated[Text, Query(max_length=2000, examples=[RESULT["project"]])]
CommitOrder = Annotated[
    int, Query(ge=-INTEGER, le=INTEGER, description="Order of the commit.", examples=[1024])
]
BeforeOrder = Annotated[
    int | None,
    Query(ge=-INTEGER, le=INTEGER, description="Lower orders; from `next`.", examples=[1024]),
]
PageLimit = Annotated[int, Query(ge=1, le=1000, description="Commits of the page.", examples=[50])]
MOST_DESCRIBED = 1000  # commits in one request


class CommitDetailsRequest(Schema):
    """What people know a commit by."""

    project: str = field(RESULT["project"], default="", max_length=LONGEST["project"])
    commit: str = field(
        "3f9a1c7", "Its name, as in its results.", min_length=1, max_length=LONGEST["commit"]
    )
    subject: str = field(
        "Take locks eagerly in retryable writes",
        "The first line of its message.",
        default="",
        max_length=LONGEST["subject"],
    )
    author: str = field("Ada Byron", default="", max_length=LONGEST["author"])
    url: str = field(
        "https://git.example/commit/3f9a1c7",
        "Where it can be read; begins with `https://` or `http://`.",
        default="",
        max_length=LONGEST["url"],
    )
    parent: str = field(
        "a81b3f0",
        "Name of the commit before it; of a merge, the last commit that it merged.",
        default="",
        max_length=LONGEST["parent"],
    )


class CommitsRequest(Schema):
    """Details of commits."""

    commits: list[CommitDetailsRequest] = Field(min_length=1, max_length=MOST_DESCRIBED)


class CommitsSavedResponse(Schema):
    """How many commits were saved."""

    saved: int = field(1)


class CommitSummaryResponse(Schema):
    """A commit at which change points are."""

    project: str = field(RESULT["project"])
    order: int = field(1024)
    commit: str = field("3f9a1c7")
    subject: str = field("Take locks eagerly in retryable writes")
    author: str = field("Ada Byron")
    worse: int = field(11, "Changes for the worse.")
    better: int = field(5, "Changes for the better.")
    unknown: int = field(0, "Trends, and changes in series without a direction.")
    undecided: int = field(14, "Changes without a final verdict.")
    hazard: float | None = field(0.23, "The largest, in magnitude.")


class CommitsPage(Schema):
    """Commits, latest first; request the next page with `before` set to `next`."""

    commits: list[CommitSummaryResponse]
    next: int | None = field(1024)


class ChangedSeriesResponse(Schema):
    """A change point at a commit, with its series."""

    series: SeriesResponse
    change_point: ChangePointResponse = Field(validation_alias="change")
    effect: EffectWord = nested("word", "worse")
    before: float | None = nested("effect.before", 18230.0, "The level before.")
    after: float | None = nested("effect.after", 16100.0, "The level after.")
    percent: float | None = nested("effect.percent", -11.7)


class EffectResponse(Schema):
    """How far a series without a change point at the commit moved."""

    series: int = field(8)
    percent: float = field(0.4)


class SilentResponse(Schema):
    """The series of a variant without a result since."""

    variant: str = field(RESULT["variant"])
    count: int = field(4)
    last_order: int = field(1021, "Order of their newest result.")


class CommitResponse(Schema):
    """Everything that is known about the effect of a commit."""

    project: str = field(RESULT["project"])
    order: int = field(1024)
    commits: list[str] = field(["3f9a1c7"])
    details: list[CommitDetailsRequest] = Field(description="Of the commits, as far as known.")
    time: int | None = field(1706220908000, "When it was first measured.")
    changed: list[ChangedSeriesResponse] = Field(description="The largest first.")
    quiet: list[EffectResponse] = Field(description="Series that did not change.")
    too_few: int = field(1, "Series with too few results before it.")
    silent: list[SilentResponse]
    total: int = field(204, "Series of the project.")
    compared: int = field(204, "Series that were looked at, at most 2,000.")
    suspects: int = field(1, "Known commits that may be the cause.")
    is_complete: bool = field(True, "Whether no other commit can be the cause.")
    previous: int | None = field(99, "The last commit before with a change.")
    next: int | None = field(1100, "The first commit after with a change.")
    tickets: list[TicketResponse]
    text: str = field("182 series did not move.", "Plain text to paste into a ticket.")


routes = guarded_router(Scope.READ, "commits")
sending = guarded_router(Scope.INGEST, "commits")


@routes.get("/api/v1/commits", response_model=CommitsPage, summary="Commits with changes")
def get_commits(
    context: Context, project: ProjectName, before: BeforeOrder = None, limit: PageLimit = 50
) -> dict[str, Any]:
    """Return the commits of a project at which change points are."""
    with context.store.read() as connection:
        rows = commits.commits_with_changes(connection, project, before=before, limit=limit)
    return {"commits": rows, "next": rows[-1].order if len(rows) == limit else None}


@sending.post("/api/v1/commits", response_model=CommitsSavedResponse, summary="Describe commits")
def post_commits(context: Context, body: CommitsRequest) -> dict[str, int]:
    """Save subjects, authors, addresses and parents of commits, before or after their results.

    A commit that is sent again is replaced; it keeps its parent if none is sent.
    """
    details = [CommitDetails(**commit.model_dump()) for commit in body.commits]
    return {"saved": context.store.write(lambda c: commit_details.save(c, details))}


@routes.get("/api/v1/commit", response_model=CommitResponse, summary="What a commit changed")
def get_commit(
    context: Context, request: Request, project: ProjectName, order: CommitOrder
) -> dict[str, Any]:
    """Return what a commit changed, improvements too, and which series did not move."""
    with context.store.read() as connection:
        changes = commits.commit_changes(connection, project, order)
    return commit_fields(changes, str(request.base_url))


def commit_fields(changes: CommitChanges, base: str) -> dict[str, Any]:
    """Return the fields of a `CommitResponse`.

    Args:
        changes: What a commit changed.
        base: The address of the service.
    """
    same = CommitResponse.model_fields.keys() - {"quiet", "text"}
    return {
        **{name: getattr(changes, name) for name in same},
        "quiet": [
            {"series": series.id, "percent": series.effect.percent}
            for series in changes.quiet
            if series.effect.percent is not None
        ],
        "text": commit_text(changes, commit_url(changes, base)),
    }


def commit_url(changes: CommitChanges, base: str) -> str:
    """Return the address of the page of a commit."""
    query = urlencode({"project": changes.project, "order": changes.order})
    return f"{base.rstrip('/')}/commit?{query}"
