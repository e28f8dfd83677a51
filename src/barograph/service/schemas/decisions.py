"""One decision in detail: its reasons, and every value that was sent for its point."""

from pydantic import BaseModel, Field

from barograph.service.schemas.shared import example

REASON = {"name": "edge", "value": 6.2, "part": 0.41}
VALUE = {"value": 18234.5, "time": 1706220908000, "received": 1706220999000, "holds": True}


class Reason(BaseModel):
    """A feature of the point, and what it added to the probability."""

    name: str
    value: float
    part: float | None = Field(description="Null where the model cannot tell.")


class Reasons(BaseModel):
    """Why a point was decided as it was, the most decisive feature first."""

    model_config = example({"reasons": [REASON]})
    reasons: list[Reason] = Field(description="None for points with too little before them.")


class Value(BaseModel):
    """One value that was sent for a point."""

    value: float
    time: int | None
    received: int
    holds: bool = Field(description="Whether it is the one that counts.")


class RevisionsPage(BaseModel):
    """All values of a point, the one that holds first; ask again with `after` set to `next`."""

    model_config = example({"revisions": [VALUE], "next": None})
    revisions: list[Value]
    next: int | None
