"""Commits with changes, and everything that one commit changed."""

from typing import Annotated, Any
from urllib.parse import urlencode

import sqlalchemy as sa
from fastapi import Body, Query, Request
from pydantic import Field

from barograph.server.store import commit_details
from barograph.server.store.commit_details import LONGEST, CommitDetails
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import commits
from barograph.server.triage.commits import (
    CommitChanges,
    CommitSummary,
    ComparedSeries,
    commit_text,
)
from barograph.server.web.context import guarded_router
from barograph.server.web.routes.change_points import CHANGE_POINT, SIZE
from barograph.server.web.routes.series import SERIES, Text
from barograph.server.web.routes.verdicts import TICKET
from barograph.server.web.schemas import Schema, answer, many, page_of, schema_of

ProjectName = Annotated[Text, Query(max_length=2000)]
CommitOrder = Annotated[int, Query(ge=-INTEGER, le=INTEGER, description="Order of the commit.")]
BeforeOrder = Annotated[
    int | None, Query(ge=-INTEGER, le=INTEGER, description="Lower orders; from `next`.")
]
PageLimit = Annotated[int, Query(ge=1, le=1000, description="Commits of the page.")]
MOST_DESCRIBED = 1000  # commits in one request
CHANGED = schema_of(
    ComparedSeries,
    "ChangedSeries",
    without=("change", "last_before"),
    series=SERIES,
    change_point=("change", CHANGE_POINT),
    effect="word",
    **SIZE,
)
COMMIT = schema_of(
    CommitChanges,
    changed=many(CHANGED),
    quiet=many(answer("UnmovedSeries", series=int, percent=float)),
    tickets=many(TICKET),
    text=str,
)


class DescribedCommit(Schema):
    """The details by which people know a commit."""

    project: str = Field("", max_length=LONGEST["project"])
    commit: str = Field(
        min_length=1, max_length=LONGEST["commit"], description="Its name, as in its results."
    )
    subject: str = Field(
        "", max_length=LONGEST["subject"], description="First line of its message."
    )
    author: str = Field("", max_length=LONGEST["author"])
    url: str = Field(
        "",
        max_length=LONGEST["url"],
        description="Where it can be read; begins with `https://` or `http://`.",
    )
    parent: str = Field(
        "",
        max_length=LONGEST["parent"],
        description="Name of the commit before it; of a merge, the last commit that it merged.",
    )


Described = Annotated[
    list[DescribedCommit],
    Body(embed=True, alias="commits", min_length=1, max_length=MOST_DESCRIBED),
]
routes = guarded_router(Scope.READ, "commits")
sending = guarded_router(Scope.INGEST, "commits")


@routes.get("/api/v1/commits", response_model=page_of("commits", schema_of(CommitSummary)))
def get_commits(
    connection: sa.Connection,
    project: ProjectName,
    before: BeforeOrder = None,
    limit: PageLimit = 50,
) -> dict[str, Any]:
    """Return the commits of a project at which change points are."""
    rows = commits.commits_with_changes(connection, project, before=before, limit=limit)
    return {"commits": rows, "next": rows[-1].order if len(rows) == limit else None}


@sending.post("/api/v1/commits", response_model=answer("SavedCommits", saved=int))
def post_commits(connection: sa.Connection, described: Described) -> dict[str, int]:
    """Save subjects, authors, addresses and parents of commits, before or after their results.

    A commit that is sent again is replaced; it keeps its parent if none is sent.
    """
    details = [CommitDetails(**commit.model_dump()) for commit in described]
    return {"saved": commit_details.save(connection, details)}


@routes.get("/api/v1/commit", response_model=COMMIT)
def get_commit(
    connection: sa.Connection, request: Request, project: ProjectName, order: CommitOrder
) -> dict[str, Any]:
    """Return what a commit changed, improvements too, and which series did not move."""
    changes = commits.commit_changes(connection, project, order)
    return {name: getattr(changes, name) for name in COMMIT.model_fields if name != "text"} | {
        "quiet": [
            {"series": quiet.series.id, "percent": quiet.effect.percent}
            for quiet in changes.quiet
            if quiet.effect.percent is not None
        ],
        "text": text_of(changes, request),
    }


def text_of(changes: CommitChanges, request: Request) -> str:
    """Return what a commit changed as text, with the address of its page."""
    query = urlencode({"project": changes.project, "order": changes.order})
    return commit_text(changes, f"{request.base_url}commit?{query}")
