"""`POST /api/v1/points`: results come in, decisions go back.

Results are decoded to msgspec structs, because this route carries almost all of the load: decoding
5,000 results takes a fifth of the time that pydantic needs.
"""

import logging
from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Request
from msgspec import Meta, Raw, Struct
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from barograph.results.series import Direction, SeriesId, normalize_args
from barograph.runtime.errors import DataError, StoreError
from barograph.server.store import IngestResult, Measurement, PointResult, PointStatus, arrivals
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.web.context import (
    AppContext,
    check_elements,
    decode_json,
    guarded_router,
    media_type,
    read_body,
)
from barograph.server.web.responses import MAX_DETAILS, ApiError
from barograph.server.web.routes.series import DECISION, LIMITS, STEP, step_fields
from barograph.server.web.schemas import answer, descriptions, many, schema_of

LOG = logging.getLogger("barograph.server.web")
JSON = "application/json"
NDJSON = ("application/x-ndjson", "application/jsonl", "application/ndjson")
Label = Annotated[str, Meta(max_length=LIMITS.label)]
Integer = Annotated[int, Meta(gt=-INTEGER, lt=INTEGER)]


class PostedResult(Struct, forbid_unknown_fields=True):
    """One result of one benchmark measurement.

    Its identity is the series (project to args), the order (or the commit if there is no order),
    and the run. At least one label and the order or the commit are required.

    Attributes:
        value: What was measured.
        args: Arguments of the benchmark. 8, 8.0 and "8" are equal; values that are neither text nor
            numbers are compared by their JSON.
        order: Position of the commit in the history of the project.
        commit: The commit. Without an order it gets the order that it has in its project, or the
            next free one.
        run: Distinguishes results of one commit. The lowest run, compared by its bytes, is the
            first; the others are its reruns.
        time: Milliseconds since 1970, or ISO 8601; UTC unless it names a zone.
        unit: The unit of the value. A series has the first that arrives; values in others are
            converted or rejected. It gives the direction if that is unknown.
    """

    value: Annotated[float, Meta(ge=-LIMITS.largest, le=LIMITS.largest)]
    project: Label = ""
    variant: Label = ""
    task: Label = ""
    test: Label = ""
    measurement: Label = ""
    args: Annotated[dict[str, Any], Meta(max_length=LIMITS.args)] | None = None
    order: Integer | None = None
    commit: Label | None = None
    run: Label | None = None
    time: Integer | str | None = None
    direction: Literal[-1, 0, 1, "lower_is_better", "unknown", "higher_is_better"] = "unknown"
    unit: Label | None = None

    def to_measurement(self) -> Measurement:
        """Return the result as the store takes it.

        Raises:
            DataError: The arguments or the time are not valid.
        """
        try:
            args = normalize_args(self.args)
        except DataError as error:
            raise DataError(f"args: {error}") from error
        labels = (self.project, self.variant, self.task, self.test, self.measurement)
        way = self.direction
        return Measurement(
            SeriesId(*labels, args),
            *(self.value, self.order, self.commit or "", self.run or ""),
            _milliseconds(self.time) if isinstance(self.time, str) else self.time,
            Direction[way.upper()] if isinstance(way, str) else Direction(way),
            (self.unit or "").strip(),
        )


def _milliseconds(text: str) -> int:
    """Return an ISO 8601 time in milliseconds since 1970; UTC unless it names a zone."""
    try:
        moment = datetime.fromisoformat(text[:64])
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise DataError(f"time: {text!r:.40} is neither milliseconds nor ISO 8601") from error


(RESULT,), SCHEMAS = msgspec.json.schema_components(
    [PostedResult], ref_template="#/components/schemas/{name}"
)
SCHEMAS["PostedResult"] |= {
    "description": "One result of one benchmark measurement.",
    "examples": [
        {"project": "sys-perf", "test": "insert_vector", "measurement": "ops_per_sec"}
        | {"args": {"thread_level": "8"}, "commit": "3f9a1c7", "value": 18234.5, "unit": "ops/s"}
    ],
}
for name, text in descriptions(PostedResult).items():
    SCHEMAS["PostedResult"]["properties"][name]["description"] = text
RESULTS = {"type": "array", "items": RESULT, "minItems": 1}
OBJECT = {"type": "object", "properties": {"points": RESULTS}, "required": ["points"]}
LINE = {"schema": {"type": "string"}, "example": '{"test": "insert", "order": 1, "value": 2.5}\n'}
REQUEST_BODY = {
    "required": True,
    "description": "One result, a list, or an object with `points`; may be compressed with gzip.",
    "content": {JSON: {"schema": {"anyOf": [RESULT, RESULTS, OBJECT]}}, NDJSON[0]: LINE},
}
OUTCOME = schema_of(
    PointResult,
    without=("decision",),
    series=int | None,
    reason=str | None,
    **DECISION,
    steps=many(STEP),
)
INGESTED = answer(
    "Ingested",
    "What happened to the results of one request; written results are committed to disk.",
    **dict.fromkeys(PointStatus, int),
    rejection_reasons=dict[str, int],
    model=str,
    decisions=many(OUTCOME),
)
DECODER = msgspec.json.Decoder(PostedResult)
routes = guarded_router(Scope.INGEST, "ingest")


@routes.post(
    "/api/v1/points",
    response_class=Response,
    response_model=INGESTED,
    openapi_extra={"requestBody": REQUEST_BODY},
)
async def post_points(request: Request) -> Response:
    """Write results and judge each of them; results that are answered as written are committed.

    Sending the same request again writes nothing. Invalid results are rejected with a reason and
    the others are written; if all are invalid, the answer is 422.
    """
    # Not as parameters of the route: FastAPI would take as long for them as for decoding the body.
    context: AppContext = request.app.state.context
    body = await read_body(request, (JSON, *NDJSON))
    is_lines = media_type(request) != JSON
    caller: str = request.state.caller.name
    return await run_in_threadpool(_ingest, context, caller, body, is_lines=is_lines)


def _ingest(context: AppContext, caller: str, body: bytes, *, is_lines: bool) -> Response:
    """Return the answer to results, or raise an error if all were rejected."""
    answer = IngestResult([], context.model.judge.version)
    rows = _decode(body, context.store.limits.batch, is_lines=is_lines)
    measurements = [row for row in rows if isinstance(row, Measurement)]
    if measurements:
        answer = context.store.ingest(measurements, caller)
    if len(measurements) < len(rows):
        judged = iter(answer.points)
        points = [next(judged) if isinstance(row, Measurement) else row for row in rows]
        answer = IngestResult(points, answer.model)
    context.metrics.count_points(answer)
    if answer.reasons:
        try:
            context.store.write(lambda c: arrivals.note_rejections(c, answer.reasons))
        except StoreError as error:
            LOG.warning("rejected results could not be counted: %s", error)
    counts, outcomes = answer.counts, answer.points
    if counts["rejected"] == len(outcomes):
        reasons = enumerate(outcome.reason for outcome in outcomes[:MAX_DETAILS])
        details = [{"row": number, "message": reason} for number, reason in reasons]
        raise ApiError(422, outcomes[0].reason, details=details)
    content = {
        **counts,
        "rejection_reasons": dict(Counter(answer.reasons).most_common(MAX_DETAILS)),
        "model": answer.model,
        "decisions": list(map(_decision, outcomes)),
    }
    return Response(msgspec.json.encode(content), media_type=JSON)


def _decode(body: bytes, max_rows: int, *, is_lines: bool) -> list[Measurement | PointResult]:
    """Return a measurement, or the outcome of a rejected row, for each row of a body."""
    check_elements(body, max_rows)
    if is_lines:
        rows: list[Any] = [line for line in body.split(b"\n", 2 * max_rows) if line.strip()]
    else:
        rows = _json_rows(body)
    if len(rows) > max_rows:
        raise ApiError(413, f"{len(rows)} results in one request; the limit is {max_rows}")
    if not rows:
        raise ApiError(422, "the request holds no result")
    return [_decode_row(row) for row in rows]


def _json_rows(body: bytes) -> list[Any]:
    """Return the undecoded rows of a list, an object with `points`, or one result."""
    content = decode_json(body, list[Raw] | dict[str, Raw])
    if isinstance(content, list):
        return content
    if "points" not in content:
        return [body]
    if len(content) > 1:
        raise ApiError(422, "no other field is allowed next to points")
    rows: list[Any] = decode_json(bytes(content["points"]), list[Raw])
    return rows


def _decode_row(row: Any) -> Measurement | PointResult:
    """Return the measurement of an undecoded row, or why it is rejected."""
    try:
        return DECODER.decode(row).to_measurement()
    except msgspec.ValidationError as error:
        message, _, field = str(error)[:300].partition(" - at `$.")
        reason = f"{field.rstrip('`')}: {message}" if field else message
    except ValueError as error:
        reason = str(error)
    except RecursionError:
        reason = "args: nested too deeply"
    return PointResult(PointStatus.REJECTED, reason)


def _decision(outcome: PointResult) -> dict[str, Any]:
    decision = outcome.decision
    known = None if decision is None else decision.known_since
    return {
        "status": outcome.status,
        "series": outcome.series or None,
        "order": outcome.order,
        **{name: getattr(decision, name, None) for name in DECISION},
        "known_since": known and {"order": known.order, "commit": known.commit},
        "reason": outcome.reason or None,
        "steps": list(map(step_fields, outcome.steps)),
    }
