"""The triage model: `/invocations` as in MLflow's scoring server, and which model is in use."""

from collections import Counter
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field

from barograph.results.series import Floats
from barograph.server.store.tokens import Scope
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.model_watch import ModelWatch
from barograph.server.web.responses import ApiError
from barograph.server.web.schemas import Schema, answer, schema_of

FORMS = ("dataframe_split", "dataframe_records", "inputs", "instances")
MAX_ROWS = 50_000  # of one request
WIDTH = 38  # features of the built-in model
Number = Annotated[float, Field(allow_inf_nan=False)]


class Frame(Schema):
    """A table by columns and rows."""

    columns: list[str]
    data: list[list[float]]
    index: list[Any] | None = None


class InvocationsRequest(Schema):
    """Rows of features, in one of the four forms that MLflow's scoring server takes."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"inputs": [[0.0] * WIDTH, [1.0] * WIDTH]}]}
    )
    dataframe_split: Frame | None = None
    dataframe_records: list[dict[str, Number]] | None = None
    inputs: list[list[Number]] | dict[str, list[Number]] | None = None
    instances: list[list[Number]] | list[dict[str, Number]] | None = None
    params: dict[str, Any] | None = Field(None, description="Ignored; MLflow's clients send it.")


PREDICTIONS = answer("Predictions", predictions=list[float], threshold=float, model=str)
FilledText = Annotated[str | None, BeforeValidator(lambda text: text or None)]
MODEL = schema_of(
    ModelWatch,
    "ModelInUse",
    version=("current.judge.version", str),
    source=("current.source", str),
    use=("current.model.use", str),
    feature_set=("current.model.feature_set", str),
    columns=("current.model.columns", list[str]),
    threshold=("current.model.threshold", float),
    card=("current.model.card", Annotated[dict[str, Any], BeforeValidator(dict)]),
    second_look=("current.second_look", bool),
    second_look_disabled_reason=("current.second_look_disabled_reason", FilledText),
    refused_reason=("refused_reason", FilledText),
)

routes = guarded_router(Scope.READ, "model")
administration = guarded_router(Scope.ADMIN, "model")


@routes.post("/invocations", response_model=PREDICTIONS)
def post_invocations(context: Context, sent: InvocationsRequest) -> dict[str, Any]:
    """Return the probability of a real change for each row."""
    model = context.model.model
    rows = feature_rows(sent, model.columns)
    try:
        predictions = model.predict_proba(rows)[:, 1].tolist()
    except ValueError as error:
        raise ApiError(422, str(error)) from error
    version = context.model.judge.version
    return {"predictions": predictions, "threshold": model.threshold, "model": version}


@routes.get("/api/v1/model", response_model=MODEL)
def get_model(context: Context) -> ModelWatch:
    """Return which model is in use, its card, and why a newer file was refused."""
    context.model  # noqa: B018 - 503 before there is one
    return context.watch


@administration.post("/api/v1/model/reload", response_model=MODEL)
def post_reload(context: Context) -> ModelWatch:
    """Load the model file again; if it is refused, the last good model stays in use."""
    context.watch.check(force=True)
    return get_model(context)


def feature_rows(sent: InvocationsRequest, columns: tuple[str, ...]) -> Floats:
    """Return the rows of a request in the order of the model's columns."""
    forms = [name for name in FORMS if getattr(sent, name) is not None]
    if len(forms) != 1:
        raise ApiError(422, f"expected exactly one of {FORMS}, got {forms}")
    table = getattr(sent, forms[0])
    try:
        if isinstance(table, Frame):
            repeated = [name for name, count in Counter(table.columns).items() if count > 1]
            if repeated:
                raise ApiError(422, f"column {repeated[0]!r:.60} occurs more than once")
            table = [dict(zip(table.columns, row, strict=True)) for row in table.data]
        elif isinstance(table, dict):
            turned = zip(*table.values(), strict=True)
            table = [dict(zip(table, row, strict=True)) for row in turned]
    except ValueError as error:
        raise ApiError(422, f"{forms[0]}: rows or columns have different lengths") from error
    if not 0 < len(table) <= MAX_ROWS:
        raise ApiError(422, f"{forms[0]}: {len(table)} rows; allowed are 1 to {MAX_ROWS}")
    rows = [_ordered(row, columns) if isinstance(row, dict) else row for row in table]
    if any(len(row) != len(columns) for row in rows):
        raise ApiError(422, f"expected rows of {len(columns)} features: {list(columns)}")
    return np.array(rows, dtype=np.float64)


def _ordered(row: dict[str, float], columns: tuple[str, ...]) -> list[float]:
    if set(row) != set(columns):
        raise ApiError(422, f"expected the columns {list(columns)}, got {list(row)[:40]}")
    return [row[name] for name in columns]
