"""How the model did, retraining, release and rollback, and lists of candidates to look at."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body

from barograph.runtime.errors import ConfigError, DataError
from barograph.server.store import retrainings
from barograph.server.store.retrainings import RetrainingRecord
from barograph.server.store.tokens import Scope
from barograph.server.web.context import AppContext, CallerName, Connection, Context, guarded_router
from barograph.server.web.model_report import (
    ComparedFile,
    ModelReport,
    WorkList,
    compared_files,
    model_report,
    work_lists,
)
from barograph.server.web.responses import CONFLICT, ApiError
from barograph.server.web.retraining import Retraining, RetrainingProgress
from barograph.server.web.schemas import answer, many, optional, schema_of

NO_FOLDER = "this service was started without a folder for models, so it cannot retrain"
PAST = schema_of(ModelReport, "ModelRecord", without=("release", "has_alarms"))
PROGRESS = schema_of(
    RetrainingProgress, without=("began",), phases="phases", elapsed="elapsed", share="share"
)
SUMMARY = schema_of(RetrainingRecord, without=("result",), why="why")
RETRAINING = answer(
    "Retraining",
    "The running retraining, the latest one that ended, and the latest one that is done.",
    possible=bool,
    why_not=str,
    running=optional(PROGRESS),
    latest=optional(SUMMARY),
    compared=optional(SUMMARY),
    comparison=many(schema_of(ComparedFile)),
)
WORK_LISTS = answer("WorkLists", lists=many(schema_of(WorkList)))
RELEASED = answer("ReleasedFiles", files=list[str])

routes = guarded_router(Scope.READ, "model")
administration = guarded_router(Scope.ADMIN, "model")


@routes.get("/api/v1/model/record", response_model=PAST)
def get_record(connection: Connection, context: Context) -> Any:
    """Return how the model did, by week; verdicts are compared with what it had said before."""
    return model_report(connection, served_folder(context), context.candidate_model)


@routes.get("/api/v1/work-lists", response_model=WORK_LISTS)
def get_work_lists(connection: Connection) -> dict[str, Any]:
    """Return doubted labels, and the open change points whose verdicts would teach most."""
    return {"lists": work_lists(connection)}


@routes.get("/api/v1/retraining", response_model=RETRAINING)
def get_retraining(context: Context) -> dict[str, Any]:
    """Return how far the running retraining has come, and what the latest one found."""
    return retraining_state(context)


@administration.post(
    "/api/v1/retraining", response_model=RETRAINING, responses=CONFLICT, status_code=202
)
def post_retraining(context: Context, caller: CallerName) -> dict[str, Any]:
    """Retrain in the background; nothing is released until that is requested."""
    with or_409():
        _of(context).start(caller)
    return retraining_state(context)


@administration.post("/api/v1/retraining/cancel", response_model=RETRAINING, responses=CONFLICT)
def post_cancel(context: Context) -> dict[str, Any]:
    """End the running retraining; nothing of it is kept."""
    if not _of(context).cancel():
        raise ApiError(409, "no retraining is running")
    return retraining_state(context)


@administration.post("/api/v1/retraining/release", response_model=RELEASED, responses=CONFLICT)
def post_release(
    context: Context, caller: CallerName, number: Annotated[int, Body(embed=True, alias="id", ge=1)]
) -> dict[str, Any]:
    """Put every model in service that was found not to be worse; it decides from now on."""
    with or_409():
        return {"files": _of(context).release(number, caller)}


@administration.post("/api/v1/model/rollback", response_model=RELEASED, responses=CONFLICT)
def post_rollback(
    context: Context, caller: CallerName, name: Annotated[str, Body(embed=True, max_length=40)]
) -> dict[str, Any]:
    """Take the released file of a name out of service for good.

    The file before it decides again; before the first one, that is the built-in one.
    """
    with or_409():
        return {"files": [_of(context).roll_back(name, caller)]}


def retraining_state(context: AppContext) -> dict[str, Any]:
    """Return the running retraining, the latest one, and the comparison of the latest done one."""
    with context.store.read() as connection:
        latest = retrainings.latest(connection)
        done = retrainings.latest(connection, retrainings.DONE)
    retraining = context.retraining
    progress = None if retraining is None else retraining.progress
    why_not = NO_FOLDER if retraining is None else retraining.missing
    return {
        "possible": not why_not,
        "why_not": why_not,
        "running": None if progress is None else _as_json(progress),
        "latest": latest,
        "compared": done,
        "comparison": [] if done is None else compared_files(done.result or {}),
    }


def _as_json(progress: RetrainingProgress) -> dict[str, Any]:
    result: dict[str, Any] = PROGRESS.model_validate(progress, from_attributes=True).model_dump()
    return result


def served_folder(context: AppContext) -> Path | None:
    """Return the folder that models are released to; None if this service releases none."""
    return None if context.retraining is None else context.retraining.served


@contextmanager
def or_409() -> Iterator[None]:
    """Answer 409 when something is not possible in the present state."""
    try:
        yield
    except (ConfigError, DataError) as error:
        raise ApiError(409, str(error)) from error
    except OSError as error:  # the folder of the models is read-only, or its disk is full
        raise ApiError(503, f"{error.filename}: {error.strerror}") from error


def _of(context: AppContext) -> Retraining:
    if context.retraining is None:
        raise ApiError(409, NO_FOLDER)
    return context.retraining
