"""Results as they come in, and the decisions that go back."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from barograph.service.schemas.shared import MODEL, example

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


STEP = {
    "kind": "called",
    "order": 1024,
    "run": "",
    "probability": 0.93,
    "from_order": None,
    "from_run": None,
}
DECISION = {
    "status": "written",
    "series": 7,
    "order": 1024,
    "probability": 0.93,
    "is_change": True,
    "baseline_size": 58,
    "reason": None,
    "steps": [STEP],
}


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
    args: dict[str, Any] = Field(
        default={},
        description='Arguments of the benchmark; 8, 8.0 and "8" are one value, and what is neither '
        "text nor a number is known by its JSON.",
    )
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


class Step(BaseModel):
    """What a second look made certain as a point landed."""

    kind: Literal["called", "confirmed", "moved", "withdrawn"]
    order: int = Field(description="Of the change point; after a move, where it is now.")
    run: str
    probability: float = Field(description="What the model said then.")
    from_order: int | None = Field(description="Where it was before it was moved.")
    from_run: str | None


class Decided(BaseModel):
    """What became of one result, and what the detector says of it."""

    status: Literal["written", "duplicate", "revised", "rejected"]
    series: int | None = Field(description="The number of the series; null where rejected.")
    order: int | None
    probability: float | None = Field(description="Of a change at this point.")
    is_change: bool | None = Field(
        description="Whether an alarm is raised; with a second look, `steps` tell for which point."
    )
    baseline_size: int | None = Field(description="How many points it was held against.")
    reason: str | None = Field(description="Why it was rejected, or which revision holds.")
    steps: list[Step] = Field(
        description="What became certain as it landed: a change is called, confirmed, moved or "
        "withdrawn."
    )


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
