"""How the model did, retraining, release and rollback, and lists of candidates to look at."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from barograph.learning.registry import ReleaseFolders
from barograph.runtime.errors import ConfigError, DataError
from barograph.server.store import retrainings
from barograph.server.store.retrainings import RetrainingRecord
from barograph.server.store.tokens import Scope
from barograph.server.web.comparison import compared_files
from barograph.server.web.context import AppContext, CallerName, Context, guarded_router
from barograph.server.web.model_report import model_report
from barograph.server.web.responses import ApiError, ErrorResponse, as_json, field
from barograph.server.web.retraining import PHASES, Retraining
from barograph.server.web.schemas import Schema
from barograph.server.web.work_lists import work_lists

CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": ErrorResponse, "description": "Not possible in the present state."}
}
NO_FOLDER = "this service was started without a folder for models, so it cannot retrain"
SHARE = {"hits": 46, "of": 50, "low": 0.81, "high": 0.97}
RECORD = {
    "verdicts": 50,
    "agreement": SHARE,
    "useful": SHARE,
    "missed": SHARE,
    "alarmed": SHARE,
    "delay": {"value": 3.0, "low": 2.0, "high": 4.0, "of": 12},
}


class RecordResponse(Schema):
    """How the model that scores the queue did on verdicts before it knew them."""

    files: list[dict[str, Any]] = field(
        [{"name": "label_free", "number": 0, "digest": ""}],
        "The released files; number 0 is the built-in one.",
    )
    weeks: list[dict[str, Any]] = field(
        [{"start": "2026-03-09", "record": RECORD}],
        "The last weeks, the oldest first; shares with 95 % intervals.",
    )
    recent: dict[str, Any] = field(RECORD, "The last four weeks.")
    calibration: list[dict[str, Any]] = field(
        [{"stated": 0.75, "share": 0.71, "low": 0.5, "high": 0.86, "rows": 21}],
        "How often people said real, by the probability stated before.",
    )
    due: dict[str, Any] = field(
        {"due": False, "new": 12, "needed": 50, "why": "12 verdicts are new."},
        "Whether retraining is due, and the rule.",
    )


class ProgressResponse(Schema):
    """How far a running retraining has come."""

    id: int = field(3)
    phases: list[str] = field(list(PHASES))
    phase: int = field(3, "Index of the present phase.")
    done: int = field(1, "Steps of this phase that are done.")
    of: int = field(4, "Steps of this phase.")
    seconds: list[float] = field([4.1, 72.0, 9.5], "How long each phase before took.")
    elapsed: float = field(91.2, "Seconds since the start.")
    share: float = field(0.54)


class RetrainingResponse(Schema):
    """The running retraining, and the latest one that ended."""

    possible: bool = field(True)
    why_not: str = field("", "Why none can be started.")
    running: ProgressResponse | None
    latest: dict[str, Any] | None = field(
        {"id": 2, "who": "ada", "state": "done", "verdicts": 640},
        "The latest one: who, when, its state, and its result.",
    )
    compared: dict[str, Any] | None = field(
        {"id": 2, "who": "ada", "state": "done", "verdicts": 640, "released": None},
        "The latest one that is done.",
    )
    comparison: list[dict[str, Any]] = field(
        [{"name": "label_free", "may_release": True, "why": "better"}],
        "Its models, beside those that were released or built in.",
    )


class RetrainingRequest(Schema):
    """A retraining by its id."""

    id: int = field(2, ge=1)


class RollbackRequest(Schema):
    """A file of models."""

    name: str = field("label_free", max_length=40)


class ReleasedResponse(Schema):
    """The files that were put in service."""

    files: list[str] = field(["label_free"])


class WorkListResponse(Schema):
    """Candidates that are worth a person's time."""

    name: str = field("informative")
    title: str = field("Most informative to decide")
    why: str = field("Open, uncertain, and different from each other and from recent decisions.")
    candidates: list[int] = field([7, 3], "Ids of change points.")


class WorkListsResponse(Schema):
    """All work lists."""

    lists: list[WorkListResponse]


routes = guarded_router(Scope.READ, "model")
administration = guarded_router(Scope.ADMIN, "model")


@routes.get("/api/v1/model/record", response_model=RecordResponse, summary="How the model did")
def get_record(context: Context) -> dict[str, Any]:
    """Return how the model did, by week; verdicts are compared with what it had said before."""
    with context.store.read() as connection:
        report = model_report(connection, folders_of(context))
    fields = as_json(report)
    return {"files": fields["files"], "due": fields["due"], **fields["past"]}


@routes.get("/api/v1/work-lists", response_model=WorkListsResponse, summary="Work lists")
def get_work_lists(context: Context) -> dict[str, Any]:
    """Return doubted labels, and the open change points whose verdicts would teach most."""
    with context.store.read() as connection:
        return {"lists": as_json(work_lists(connection))}


@routes.get("/api/v1/retraining", response_model=RetrainingResponse, summary="Retraining")
def get_retraining(context: Context) -> dict[str, Any]:
    """Return how far the running retraining has come, and what the latest one found."""
    return retraining_state(context)


@administration.post(
    "/api/v1/retraining",
    response_model=RetrainingResponse,
    responses=CONFLICT,
    status_code=202,
    summary="Start a retraining",
)
def post_retraining(context: Context, caller: CallerName) -> dict[str, Any]:
    """Retrain in the background; nothing is released until that is requested."""
    with or_409():
        _of(context).start(caller)
    return retraining_state(context)


@administration.post(
    "/api/v1/retraining/cancel",
    response_model=RetrainingResponse,
    responses=CONFLICT,
    summary="Cancel the running retraining",
)
def post_cancel(context: Context) -> dict[str, Any]:
    """End the running retraining; nothing of it is kept."""
    if not _of(context).cancel():
        raise ApiError(409, "no retraining is running")
    return retraining_state(context)


@administration.post(
    "/api/v1/retraining/release",
    response_model=ReleasedResponse,
    responses=CONFLICT,
    summary="Release the models of a retraining",
)
def post_release(context: Context, caller: CallerName, chosen: RetrainingRequest) -> dict[str, Any]:
    """Put every model in service that was found not to be worse; it decides from now on."""
    with or_409():
        return {"files": _of(context).release(chosen.id, caller)}


@administration.post(
    "/api/v1/model/rollback",
    response_model=ReleasedResponse,
    responses=CONFLICT,
    summary="Put the former or the built-in model back in service",
)
def post_rollback(context: Context, caller: CallerName, chosen: RollbackRequest) -> dict[str, Any]:
    """Take the released file of a name out of service for good.

    The file before it decides again; before the first one, that is the built-in one.
    """
    with or_409():
        return {"files": [_of(context).roll_back(chosen.name, caller)]}


def retraining_state(context: AppContext) -> dict[str, Any]:
    """Return the running retraining, the latest one, and the comparison of the latest done one."""
    with context.store.read() as connection:
        latest = retrainings.latest(connection)
        done = retrainings.latest(connection, retrainings.DONE)
    retraining = context.retraining
    progress = None if retraining is None else retraining.progress
    why_not = NO_FOLDER if retraining is None else retraining.missing
    compared = [] if done is None else compared_files(done.result or {})
    return {
        "possible": not why_not,
        "why_not": why_not,
        "running": None if progress is None else progress.to_json(),
        "latest": None if latest is None else summary(latest),
        "compared": None if done is None else summary(done),
        "comparison": as_json(compared),
    }


def summary(record: RetrainingRecord) -> dict[str, Any]:
    """Return a retraining without its long result."""
    result = record.result or {}
    shown: dict[str, Any] = as_json(record) | {"why": result.get("why", "")}
    return {name: value for name, value in shown.items() if name != "result"}


def folders_of(context: AppContext) -> ReleaseFolders | None:
    """Return where models are released; None if this service releases none."""
    return None if context.retraining is None else context.retraining.folders


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
