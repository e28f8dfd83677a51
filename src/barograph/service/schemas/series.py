"""Series, their points, and what was decided of them."""

from typing import Literal

from pydantic import BaseModel, Field

from barograph.service.schemas.points import STEP, Step
from barograph.service.schemas.shared import MODEL, example

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
    "baseline_size": 57,
    "model": MODEL,
}


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
    baseline_size: int
    model: str


class PointsPage(BaseModel):
    """Points, oldest first; ask again with `first` set to `next`."""

    model_config = example({"points": [POINT], "next": None})
    points: list[Point]
    next: int | None


class StepTaken(Step):
    """A step of the second look, and the model that took it."""

    model: str


class DecisionRow(BaseModel):
    """What the online detector said of one point."""

    order: int
    run: str
    probability: float
    is_change: bool
    baseline_size: int = Field(description="How many points it was held against.")
    model: str
    threshold: float = Field(
        description="From which probability on; with a second look, from which score in nats."
    )
    current_state: Literal["called", "confirmed", "moved", "withdrawn"] | None = Field(
        description="What a second look made, by now, of the change that begins here."
    )
    steps: list[StepTaken] = Field(description="What a second look made certain as it landed.")


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
                    "baseline_size": 57,
                    "model": MODEL,
                    "threshold": 6.1,
                    "current_state": "confirmed",
                    "steps": [{**STEP, "model": MODEL}],
                }
            ],
            "next": None,
        }
    )
    decisions: list[DecisionRow]
    next: int | None
