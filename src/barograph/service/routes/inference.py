"""The triage model itself: `/invocations` as MLflow's scoring server has it, and what it is."""

from collections import Counter

import numpy as np
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from barograph.detection.online import ConfirmingJudge
from barograph.series import Floats
from barograph.service.access import Administering, Reading, router
from barograph.service.answers import Json
from barograph.service.errors import RETRY, Refused
from barograph.service.forms import json_body, validated
from barograph.service.models import Loaded
from barograph.service.parts import Parts, parts_of
from barograph.service.schemas.inference import Frame, Invocation, ModelAnswer, Predictions
from barograph.service.schemas.shared import ERRORS

routes = router(Reading, "model")
administration = router(Administering, "model")
FORMS = ("dataframe_split", "dataframe_records", "inputs", "instances")
SCHEMA = Invocation.model_json_schema(ref_template="#/components/schemas/{model}")
FRAME = SCHEMA.pop("$defs")["Frame"]
SCHEMA["properties"]["dataframe_split"] = {"anyOf": [FRAME, {"type": "null"}]}


@routes.post(
    "/invocations",
    response_model=Predictions,
    responses=ERRORS,
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/json": {"schema": SCHEMA}}}
    },
    summary="Ask the model about rows of features",
)
async def invocations(request: Request) -> Json:
    """Return the probability of a real change for rows in one of MLflow's four forms."""
    parts = parts_of(request)
    body = await json_body(request)
    return await run_in_threadpool(_predict, loaded_model(parts), body, parts.settings.rows)


def loaded_model(parts: Parts) -> Loaded:
    """Return the model in use."""
    if parts.watch.current is None:
        raise Refused(503, "no model decides yet", headers=RETRY)
    return parts.watch.current


def _predict(loaded: Loaded, body: bytes, most: int) -> Json:
    told = validated(body, Invocation, most)
    rows = matrix(told, loaded.model.columns, most)
    try:
        found = loaded.model.predict_proba(rows)[:, 1]
    except ValueError as error:
        raise Refused(422, str(error)) from error
    return Json(
        {
            "predictions": found.tolist(),
            "threshold": loaded.model.threshold,
            "model": loaded.judge.version,
        }
    )


def matrix(told: Invocation, columns: tuple[str, ...], most: int) -> Floats:
    """Return the rows that were sent, in the order of the model's columns."""
    given = [name for name in FORMS if getattr(told, name) is not None]
    if len(given) != 1:
        raise Refused(422, f"expected exactly one of {FORMS}, got {given}")
    sent = getattr(told, given[0])
    if given[0] == "dataframe_split":
        sent = [dict(zip(sent.columns, row, strict=False)) for row in _even(sent)]
    if isinstance(sent, dict):
        if len({len(column) for column in sent.values()}) > 1:
            raise Refused(422, f"{given[0]}: the columns have different lengths")
        sent = [dict(zip(sent, row, strict=True)) for row in zip(*sent.values(), strict=True)]
    if not 0 < len(sent) <= most:
        raise Refused(422, f"{given[0]}: {len(sent)} rows, allowed are 1 to {most}")
    rows = [_ordered(row, columns) if isinstance(row, dict) else row for row in sent]
    if any(len(row) != len(columns) for row in rows):
        raise Refused(422, f"expected rows of {len(columns)} features: {list(columns)}")
    return np.array(rows, dtype=np.float64)


def _even(frame: Frame) -> list[list[float]]:
    width = len(frame.columns)
    doubled = [name for name, times in Counter(frame.columns).items() if times > 1]
    if doubled:
        raise Refused(422, f"dataframe_split: column {doubled[0]!r:.60} is named more than once")
    if any(len(row) != width for row in frame.data):
        raise Refused(422, f"dataframe_split: a row has not the {width} values of columns")
    return frame.data


def _ordered(row: dict[str, float], columns: tuple[str, ...]) -> list[float]:
    if set(row) != set(columns):
        raise Refused(422, f"expected the columns {list(columns)}, got {list(row)[:40]}")
    return [row[name] for name in columns]


@routes.get("/api/v1/model", response_model=ModelAnswer, responses=ERRORS, summary="The model")
async def model(request: Request) -> Json:
    """Tell which model decides, what it was made from, and why a newer one was not taken."""
    return _described(parts_of(request))


@administration.post(
    "/api/v1/model/reload",
    response_model=ModelAnswer,
    responses=ERRORS,
    summary="Look for a new model now",
)
async def reload(request: Request) -> Json:
    """Load the model's file again; one that is refused leaves the last good one in use."""
    parts = parts_of(request)
    await run_in_threadpool(lambda: parts.watch.look(again=True))
    return _described(parts)


def _described(parts: Parts) -> Json:
    loaded = loaded_model(parts)
    return Json(
        {
            "version": loaded.judge.version,
            "source": loaded.source,
            "use": loaded.model.use,
            "feature_set": loaded.model.feature_set,
            "columns": list(loaded.model.columns),
            "threshold": loaded.model.threshold,
            "card": dict(loaded.model.card),
            "second_look": isinstance(loaded.judge, ConfirmingJudge),
            "second_look_disabled_reason": loaded.second_look_disabled_reason or None,
            "refused": parts.watch.fault or None,
        }
    )
