"""`POST /api/v1/points`: results come in, decisions go back."""

import asyncio
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from barograph.errors import DataError
from barograph.service.access import Ingesting, caller_of, router
from barograph.service.answers import Json
from barograph.service.body import read_body
from barograph.service.errors import Refused
from barograph.service.forms import media_of
from barograph.service.parsing import measurement, read_json, read_lines, rows_of
from barograph.service.parts import parts_of
from barograph.service.schemas.points import RESULT, Ingested, Result, Results
from barograph.service.schemas.shared import ERRORS
from barograph.store import IngestResult, Measurement, PointResult, Status

LINES = ("application/x-ndjson", "application/jsonl", "application/ndjson")
INLINE = 65_536  # bytes: a larger body is read by another thread, so that others need not wait
TOLD = 20  # reasons that one answer lists

_RESULT = Result.model_json_schema()
_MANY = {"type": "array", "items": _RESULT, "minItems": 1}
_SEVERAL = {**Results.model_json_schema(), "properties": {"points": _MANY}}
_SEVERAL.pop("$defs", None)
BODY = {
    "requestBody": {
        "required": True,
        "description": "One result, a list, or an object with `points`; `Content-Encoding: gzip` "
        "is understood.",
        "content": {
            "application/json": {
                "schema": {"anyOf": [_RESULT, _MANY, _SEVERAL]},
                "examples": {
                    "one": {"value": RESULT},
                    "batch": {"value": [RESULT, {**RESULT, "order": 1025}]},
                },
            },
            LINES[0]: {
                "schema": {"type": "string"},
                "example": '{"test": "insert", "order": 1, "value": 2.5}\n',
            },
        },
    }
}
routes = router(Ingesting, "ingest")


@routes.post(
    "/api/v1/points",
    response_model=Ingested,
    responses=ERRORS,
    openapi_extra=BODY,
    summary="Send results, get decisions",
)
async def post_points(request: Request) -> Json:
    """Write results and judge each of them; what the answer tells as written is committed.

    The same request again writes nothing. Where some results are not allowed they are rejected
    with their reasons and the others are written; where none is allowed the answer is 422.
    """
    parts = parts_of(request)
    media = media_of(request)
    if media != "application/json" and media not in LINES:
        raise Refused(415, f"Content-Type: {media!r:.60} is not one of application/json, {LINES}")
    body = await read_body(request, parts.settings.body, parts.settings.unpacked)
    small = len(body) < INLINE
    most = parts.store.limits.batch
    told = _read(body, media, most) if small else await run_in_threadpool(_read, body, media, most)
    found, outcomes = told
    answer = IngestResult([], "")
    if found:
        who = caller_of(request).name
        answer = await asyncio.wrap_future(parts.store.submit(found, who))
        parts.metrics.ingested(answer)
    parts.metrics.rejected(len(outcomes) - len(found))
    return _tell(outcomes, answer) if small else await run_in_threadpool(_tell, outcomes, answer)


def _read(body: bytes, media: str, most: int) -> tuple[list[Measurement], list[PointResult | None]]:
    """Return the measurements, and a place for each row: filled already where it is none."""
    told: Any = read_lines(body, most) if media in LINES else read_json(body, most)
    found: list[Measurement] = []
    outcomes: list[PointResult | None] = []
    known: dict[object, Any] = {}
    for row in rows_of(told, most):
        try:
            found.append(measurement(row, known))
            outcomes.append(None)
        except DataError as error:
            outcomes.append(PointResult(Status.REJECTED, str(error)))
    return found, outcomes


def _tell(places: list[PointResult | None], answer: IngestResult) -> Json:
    judged = iter(answer.outcomes)
    outcomes = [one if one is not None else next(judged) for one in places]
    whole = IngestResult(outcomes, answer.model)
    counts, reasons = whole.counts, whole.reasons
    if counts["rejected"] == len(outcomes):
        rows = [{"row": k, "message": one.reason} for k, one in enumerate(outcomes[:TOLD])]
        raise Refused(422, outcomes[0].reason, details=rows)
    return Json(
        {
            **counts,
            "reasons": dict(sorted(reasons.items(), key=lambda item: -item[1])[:TOLD]),
            "model": whole.model,
            "decisions": [_decision(one) for one in outcomes],
        }
    )


def _decision(one: PointResult) -> dict[str, object]:
    return {
        "status": one.status.value,
        "series": one.series or None,
        "order": one.order,
        "probability": one.probability,
        "is_change": one.is_change,
        "baseline_size": one.baseline_size,
        "reason": one.reason or None,
        "steps": [step._asdict() for step in one.steps],
    }
