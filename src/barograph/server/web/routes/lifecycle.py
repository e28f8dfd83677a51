"""The life of series: rename, merge, retire and delete them, and delete old results."""

from dataclasses import asdict
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Body, Query
from pydantic import Field

from barograph.results.series import LABELS, SeriesId, normalize_args
from barograph.server.store import life, reading, retention
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.routes.series import SERIES, SeriesNumber, Text
from barograph.server.web.schemas import answer, schema_of

NewLabel = Annotated[Annotated[Text, Field(max_length=2000)] | None, Body()]
Args = Annotated[dict[Text, Text | float] | None, Body()]

routes = guarded_router(Scope.ADMIN, "administration")


@routes.post("/api/v1/series/{number}/rename", response_model=SERIES, summary="Rename a series")
def post_rename(
    context: Context,
    number: SeriesNumber,
    caller: CallerName,
    project: NewLabel = None,
    variant: NewLabel = None,
    task: NewLabel = None,
    test: NewLabel = None,
    measurement: NewLabel = None,
    args: Args = None,
) -> Any:
    """Give a series other labels; those that are left out stay.

    Results that arrive under its former name go to it, too.
    """
    texts = zip(LABELS, (project, variant, task, test, measurement), strict=True)
    labels = {name: text for name, text in texts if text is not None}
    new_args = None if args is None else normalize_args(args)

    def work(connection: sa.Connection) -> reading.StoredSeries:
        old = reading.get_series(connection, number).name
        name = SeriesId(**old.labels | labels, args=old.args if new_args is None else new_args)
        return life.rename(connection, number, name, caller, context.store.limits)

    return context.store.change(work)


@routes.post(
    "/api/v1/series/{number}/merge",
    response_model=answer("MergedSeries", into=int, points=int),
    summary="Merge two series",
)
def post_merge(
    context: Context,
    number: SeriesNumber,
    caller: CallerName,
    into: Annotated[
        int, Body(embed=True, ge=1, le=INTEGER, description="Id of the series that stays.")
    ],
) -> dict[str, Any]:
    """Move the results, candidates and verdicts of a series to another one, and delete it."""
    return {"into": into, "points": context.store.merge(number, into, caller)}


@routes.post("/api/v1/series/{number}/retire", response_model=SERIES, summary="Retire a series")
def post_retire(
    context: Context,
    number: SeriesNumber,
    caller: CallerName,
    retired: Annotated[bool, Body(embed=True)] = True,
) -> Any:
    """Retire a series that is no longer measured, or bring it back; its results are kept."""
    return context.store.change(
        lambda connection: life.retire(connection, number, caller, retired=retired)
    )


@routes.delete(
    "/api/v1/series/{number}",
    response_model=schema_of(life.DeletedSeries),
    summary="Delete a series",
)
def delete_series(
    context: Context,
    number: SeriesNumber,
    caller: CallerName,
    with_verdicts: Annotated[bool, Query(description="Delete its verdicts, too.")] = False,
) -> Any:
    """Delete a series with its results and candidates; one with verdicts only on request."""
    return context.store.change(
        lambda connection: life.delete(connection, number, caller, with_verdicts=with_verdicts)
    )


@routes.post(
    "/api/v1/prune",
    response_model=schema_of(retention.PruneResult, dry_run=bool),
    summary="Delete old results",
)
def post_prune(
    context: Context,
    caller: CallerName,
    older_than_days: Annotated[float, Body(gt=0, lt=retention.LONGEST)],
    dry_run: Annotated[bool, Body(description="Only count.")] = True,
) -> dict[str, Any]:
    """Delete results by age; never verdicts, nor results of a series that has some."""
    result = retention.prune(context.store, older_than_days, caller, dry_run=dry_run)
    return {**asdict(result), "dry_run": dry_run}
