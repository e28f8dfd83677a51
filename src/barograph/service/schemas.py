"""What goes over the wire, as the OpenAPI text describes it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

RESULT = {
    "project": "sys-perf",
    "variant": "linux-3-node",
    "task": "mixed_workloads",
    "test": "insert_vector",
    "measurement": "ops_per_sec",
    "args": {"thread_level": "8"},
    "commit": "3f9a1c7",
    "order": 1024,
    "value": 18234.5,
    "direction": "higher_is_better",
}
DECISION = {
    "status": "written",
    "series": 7,
    "order": 1024,
    "probability": 0.93,
    "is_change": True,
    "pre": 58,
    "reason": None,
}
MODEL = "online-3f1c2b7a90de"


def example(value: Any) -> ConfigDict:
    """Show a value in the OpenAPI text."""
    return ConfigDict(json_schema_extra={"examples": [value]}, extra="forbid")


class Failure(BaseModel):
    """What went wrong."""

    status: int = Field(description="The HTTP status, again.")
    kind: str = Field(description="A word for programs, such as `invalid` or `unauthorised`.")
    message: str = Field(description="A sentence for people.")
    details: Any = Field(description="What belongs to single fields or rows; null if nothing.")


class ErrorAnswer(BaseModel):
    """The one shape that every error has."""

    model_config = example(
        {
            "error": {
                "status": 422,
                "kind": "invalid",
                "message": "value: missing",
                "details": None,
            }
        }
    )
    error: Failure


class Result(BaseModel):
    """One result of one benchmark measurement.

    Its identity is the series (project to args), the order (or the commit where no order is
    given), and the run.
    """

    model_config = example(RESULT)
    project: str = ""
    variant: str = ""
    task: str = ""
    test: str = ""
    measurement: str = ""
    args: dict[str, str] = Field(default={}, description="Arguments of the benchmark.")
    value: float = Field(description="What was measured; finite.")
    order: int | None = Field(
        default=None, description="The place of the commit in the history of the project."
    )
    commit: str = Field(
        default="",
        description="The commit; without an order it takes the one it has in its project, or "
        "the next one.",
    )
    run: str = Field(default="", description="Tells results of one commit apart.")
    time: int | str | None = Field(
        default=None, description="Milliseconds since 1970, or ISO 8601; UTC without a zone."
    )
    direction: Literal[-1, 0, 1, "lower_is_better", "unknown", "higher_is_better"] = "unknown"


class Results(BaseModel):
    """Several results in one request."""

    model_config = example({"points": [RESULT, {**RESULT, "order": 1025, "value": 15120.0}]})
    points: list[Result] = Field(min_length=1)


class Decided(BaseModel):
    """What became of one result, and what the detector says of it."""

    status: Literal["written", "duplicate", "revised", "rejected"]
    series: int | None = Field(description="The number of the series; null where rejected.")
    order: int | None
    probability: float | None = Field(description="Of a change at this point.")
    is_change: bool | None
    pre: int | None = Field(description="How many points it was held against.")
    reason: str | None = Field(description="Why it was rejected, or which revision holds.")


class Ingested(BaseModel):
    """What became of a request; what is told as written is on the disk."""

    model_config = example(
        {
            "written": 1,
            "duplicate": 0,
            "revised": 0,
            "rejected": 0,
            "reasons": {},
            "model": MODEL,
            "decisions": [DECISION],
        }
    )
    written: int
    duplicate: int = Field(description="The same value was there: nothing was written.")
    revised: int = Field(description="Another value was there: both are kept.")
    rejected: int
    reasons: dict[str, int] = Field(description="Why results were rejected, and how many.")
    model: str = Field(description="The version of the model that decided.")
    decisions: list[Decided] = Field(description="In the order of the request.")


class Frame(BaseModel):
    """A table by columns and rows."""

    model_config = ConfigDict(extra="forbid")
    columns: list[str]
    data: list[list[float]]
    index: list[Any] | None = None


Number = Annotated[float, Field(allow_inf_nan=False)]


class Invocation(BaseModel):
    """Rows of features, in one of the forms that MLflow's scoring server takes."""

    model_config = example(
        {
            "dataframe_split": {
                "columns": ["delta_mean", "delta_sd"],
                "data": [[0.4, 0.1], [0.0, 0.02]],
            }
        }
    )
    dataframe_split: Frame | None = None
    dataframe_records: list[dict[str, Number]] | None = None
    inputs: list[list[Number]] | dict[str, list[Number]] | None = None
    instances: list[list[Number]] | list[dict[str, Number]] | None = None


class Predictions(BaseModel):
    """The probability of a real change for each row."""

    model_config = example({"predictions": [0.93, 0.02], "threshold": 0.5, "model": MODEL})
    predictions: list[float]
    threshold: float
    model: str


class Health(BaseModel):
    """Whether the service is alive, or ready."""

    model_config = example({"status": "ready", "model": MODEL, "version": "0.1.0"})
    status: Literal["alive", "ready"]
    model: str | None = None
    version: str


class ModelAnswer(BaseModel):
    """The model in use."""

    model_config = example(
        {
            "version": MODEL,
            "source": "the shipped default",
            "use": "online",
            "feature_set": "bauer8",
            "columns": ["delta_mean"],
            "threshold": 0.5,
            "card": {},
            "refused": None,
        }
    )
    version: str
    source: str
    use: str
    feature_set: str
    columns: list[str] = Field(description="What a row of `/invocations` must hold.")
    threshold: float
    card: dict[str, Any]
    refused: str | None = Field(description="Why the newest file was not taken, if it was not.")


SERIES = {
    "id": 7,
    "name": "sys-perf/linux-3-node/mixed_workloads/insert_vector/ops_per_sec thread_level=8",
    "project": "sys-perf",
    "variant": "linux-3-node",
    "task": "mixed_workloads",
    "test": "insert_vector",
    "measurement": "ops_per_sec",
    "args": {"thread_level": "8"},
    "direction": 1,
}
POINT = {
    "order": 1024,
    "run": "",
    "commit": "3f9a1c7",
    "time": 1706220908000,
    "value": 18234.5,
    "probability": 0.93,
    "is_change": True,
    "pre": 57,
    "model": MODEL,
}
REGION = {"count": 20, "min": 1.0, "max": 2.0, "median": 1.5, "mean": 1.5, "variance": 0.1}
CHANGE = {
    "id": 3,
    "series": 7,
    "order": 1024,
    "commit": "3f9a1c7",
    "detector": "Hunter",
    "statistic": 12.5,
    "pvalue": 0.0001,
    "before": REGION,
    "after": REGION,
    "hazard": 0.12,
    "probability": 0.93,
    "model": "label_free-90aa31b7c2d4",
    "verdict": "not_triaged",
    "present": True,
    "calculated_on": 1706220999000,
    "triaged_on": None,
}
VERDICTS = Literal["true_positive", "false_positive", "not_triaged", "under_investigation"]


class Series(BaseModel):
    """One benchmark measurement over commits."""

    model_config = example(SERIES)
    id: int
    name: str
    project: str
    variant: str
    task: str
    test: str
    measurement: str
    args: dict[str, str]
    direction: Literal[-1, 0, 1]


class SeriesPage(BaseModel):
    """A page of series; ask again with `after` set to `next`."""

    model_config = example({"series": [SERIES], "next": None})
    series: list[Series]
    next: int | None


class Point(BaseModel):
    """One point, and what was decided of it."""

    order: int
    run: str
    commit: str
    time: int | None
    value: float
    probability: float
    is_change: bool
    pre: int
    model: str


class PointsPage(BaseModel):
    """Points, oldest first; ask again with `first` set to `next`."""

    model_config = example({"points": [POINT], "next": None})
    points: list[Point]
    next: int | None


class DecisionRow(BaseModel):
    """What the online detector said of one point."""

    order: int
    run: str
    probability: float
    is_change: bool
    pre: int = Field(description="How many points it was held against.")
    model: str
    threshold: float


class DecisionsPage(BaseModel):
    """Decisions, oldest first; ask again with `first` set to `next`."""

    model_config = example(
        {
            "decisions": [
                {
                    "order": 1024,
                    "run": "",
                    "probability": 0.93,
                    "is_change": True,
                    "pre": 57,
                    "model": MODEL,
                    "threshold": 0.5,
                }
            ],
            "next": None,
        }
    )
    decisions: list[DecisionRow]
    next: int | None


class Change(BaseModel):
    """A candidate: what a detector found with the points behind it, too."""

    id: int
    series: int
    order: int
    commit: str
    detector: str | None
    statistic: float | None
    pvalue: float | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    hazard: float | None = Field(description="Positive is worse where the direction is known.")
    probability: float | None
    model: str | None
    verdict: VERDICTS
    present: bool = Field(description="Whether the latest look found it.")
    calculated_on: int | None
    triaged_on: int | None


class ChangesPage(BaseModel):
    """A page of change points; ask again with `after` set to `next`."""

    model_config = example({"change_points": [CHANGE], "next": None})
    change_points: list[Change]
    next: int | None


class Move(BaseModel):
    """A change point moved as more data came."""

    from_order: int
    to_order: int
    moved: int


class Given(BaseModel):
    """One verdict of the history of a change point."""

    verdict: VERDICTS
    who: str
    given: int
    note: str


class ChangeDetail(Change):
    """A change point with its history."""

    model_config = example({**CHANGE, "moves": [], "verdicts": []})
    moves: list[Move]
    verdicts: list[Given] = Field(description="The one that holds is the last.")


class VerdictGiven(BaseModel):
    """What a person says of a change point."""

    model_config = example({"verdict": "true_positive", "note": "fixed by SERVER-12345"})
    verdict: VERDICTS
    note: str = Field(default="", max_length=10_000)


class TokenWanted(BaseModel):
    """A token to be made."""

    model_config = example({"name": "ci", "scopes": ["ingest"]})
    name: str = Field(min_length=1, max_length=200)
    scopes: list[Literal["ingest", "read", "triage", "admin"]] = Field(min_length=1, max_length=4)


class TokenMade(BaseModel):
    """A new token; it is shown this once."""

    model_config = example({"name": "ci", "scopes": ["ingest"], "token": "baro_..."})
    name: str
    scopes: list[str]
    token: str


class TokenRow(BaseModel):
    """A token as the store knows it."""

    name: str
    scopes: list[str]
    created: int
    revoked: int | None


class TokenList(BaseModel):
    """All tokens, never what they are."""

    model_config = example(
        {
            "tokens": [
                {"name": "ci", "scopes": ["ingest"], "created": 1706220999000, "revoked": None}
            ]
        }
    )
    tokens: list[TokenRow]


class Act(BaseModel):
    """One entry of the trail."""

    id: int
    at: int
    who: str
    action: str
    subject: str
    detail: dict[str, Any]


class Trail(BaseModel):
    """Who did what; the newest first."""

    model_config = example(
        {
            "acts": [
                {
                    "id": 9,
                    "at": 1706220999000,
                    "who": "ci",
                    "action": "ingest",
                    "subject": "points",
                    "detail": {"written": 1},
                }
            ],
            "next": None,
        }
    )
    acts: list[Act]
    next: int | None


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": text}
    for status, text in {
        400: "The body cannot be read.",
        401: "No token, or one that is not known.",
        403: "The token has not the scope that this needs.",
        404: "There is no such thing.",
        413: "More than one request may hold.",
        415: "A media type or an encoding that is not known.",
        421: "Without any token, a Host that is not this machine.",
        422: "Read, but not allowed as it is.",
        429: "Too many requests.",
        503: "The store cannot be written or read just now; nothing of the request was kept.",
    }.items()
}
