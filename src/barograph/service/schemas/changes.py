"""Change points, and what people say of them."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from barograph.service.schemas.shared import example

VERDICTS = Literal["true_positive", "false_positive", "not_triaged", "under_investigation"]


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
