"""The life of series: rename, merge, retire and delete them, and delete old results."""

from dataclasses import asdict
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query
from pydantic import Field

from barograph.results.series import SeriesId, normalize_args
from barograph.server.store import life, reading, retention
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import Schema, field
from barograph.server.web.routes.series import SeriesNumber, SeriesResponse, Text

WithVerdicts = Annotated[bool, Query(description="Delete its verdicts, too.", examples=[False])]
Label = Annotated[Text | None, Field(max_length=2000)]


class RenameRequest(Schema):
    """The new labels of a series; those that are left out stay."""

    project: Label = field("sys-perf", default=None)
    variant: Label = field("linux-3-node", default=None)
    task: Label = field("mixed_workloads", default=None)
    test: Label = field("insert_vector_v2", default=None)
    measurement: Label = field("ops_per_sec", default=None)
    args: dict[Text, Text | float] | None = field({"thread_level": 8}, default=None)


class MergeRequest(Schema):
    """The series that another one becomes part of."""

    into: int = field(8, "Id of the series that stays.", ge=1, le=INTEGER)


class MergeResponse(Schema):
    """What a merge moved."""

    into: int = field(8)
    points: int = field(1200, "Number of results that were moved.")


class RetireRequest(Schema):
    """Whether a series is no longer measured."""

    retired: bool = field(True, default=True)


RETIRED = RetireRequest()


class DeletedSeriesResponse(Schema):
    """What was deleted with a series."""

    points: int = field(1200)
    candidates: int = field(9)
    verdicts: int = field(0)


class PruneRequest(Schema):
    """Which results to delete."""

    older_than_days: float = field(400, gt=0, lt=retention.LONGEST)
    dry_run: bool = field(True, "Only count.", default=True)


class PruneResponse(Schema):
    """What was deleted, or would be in a dry run."""

    series: int = field(310, "Series that lose results.")
    points: int = field(48_000)
    candidates: int = field(95, "None of them has a verdict.")
    kept: int = field(12, "Series that keep old results because they have verdicts or tickets.")
    dry_run: bool = field(True)


routes = guarded_router(Scope.ADMIN, "administration")


@routes.post(
    "/api/v1/series/{number}/rename", response_model=SeriesResponse, summary="Rename a series"
)
def post_rename(
    context: Context, number: SeriesNumber, caller: CallerName, body: RenameRequest
) -> reading.StoredSeries:
    """Give a series other labels; results that arrive under its former name go to it, too."""
    labels = {name: text for name, text in body.model_dump().items() if text is not None}
    new_args = None if body.args is None else normalize_args(labels.pop("args"))

    def work(connection: sa.Connection) -> reading.StoredSeries:
        old = reading.get_series(connection, number).name
        args = old.args if new_args is None else new_args
        name = SeriesId(**{**old.labels, **labels}, args=args)
        return life.rename(connection, number, name, caller, context.store.limits)

    return context.store.change(work)


@routes.post(
    "/api/v1/series/{number}/merge", response_model=MergeResponse, summary="Merge two series"
)
def post_merge(
    context: Context, number: SeriesNumber, caller: CallerName, body: MergeRequest
) -> dict[str, Any]:
    """Move the results, candidates and verdicts of a series to another one, and delete it."""
    moved = context.store.merge(number, body.into, caller)
    return {"into": body.into, "points": moved}


@routes.post(
    "/api/v1/series/{number}/retire", response_model=SeriesResponse, summary="Retire a series"
)
def post_retire(
    context: Context, number: SeriesNumber, caller: CallerName, body: RetireRequest = RETIRED
) -> reading.StoredSeries:
    """Retire a series that is no longer measured, or bring it back; its results are kept."""
    return context.store.change(
        lambda connection: life.retire(connection, number, caller, retired=body.retired)
    )


@routes.delete(
    "/api/v1/series/{number}", response_model=DeletedSeriesResponse, summary="Delete a series"
)
def delete_series(
    context: Context, number: SeriesNumber, caller: CallerName, with_verdicts: WithVerdicts = False
) -> life.DeletedSeries:
    """Delete a series with its results and candidates; one with verdicts only on request."""
    return context.store.change(
        lambda connection: life.delete(connection, number, caller, with_verdicts=with_verdicts)
    )


@routes.post("/api/v1/prune", response_model=PruneResponse, summary="Delete old results")
def post_prune(context: Context, caller: CallerName, body: PruneRequest) -> dict[str, Any]:
    """Delete results by age; never verdicts, nor results of a series that has some."""
    result = retention.prune(context.store, body.older_than_days, caller, dry_run=body.dry_run)
    return {**asdict(result), "dry_run": body.dry_run}
