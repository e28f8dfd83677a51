"""Steps that many series of a project have in common."""

from typing import Literal

from pydantic import BaseModel, Field

from barograph.service.schemas.series import SERIES, Series
from barograph.service.schemas.shared import example

STATUS = Literal["new", "regression", "ignored"]
CLUSTER = {
    "id": 4,
    "project": "sys-perf",
    "order": 1024,
    "size": 31,
    "step": -1.8,
    "fit": 0.02,
    "regression": -90.0,
    "status": "new",
    "current": True,
}


class Cluster(BaseModel):
    """A step that many series take at one commit."""

    model_config = example(CLUSTER)
    id: int
    project: str
    order: int = Field(description="Where it steps.")
    size: int = Field(description="How many series take part.")
    step: float = Field(description="How far their mean steps, in units of its noise.")
    fit: float = Field(description="What the step leaves unexplained.")
    regression: float = Field(description="Step over fit: how interesting it is, with its sign.")
    status: STATUS = Field(description="What people said of it.")
    current: bool = Field(description="Whether the latest look found it.")


class ClustersPage(BaseModel):
    """A page of clusters; ask again with `after` set to `next`."""

    model_config = example({"clusters": [CLUSTER], "next": None})
    clusters: list[Cluster]
    next: int | None


class MembersPage(BaseModel):
    """The series of a cluster, the most alike first; ask again with `after` set to `next`."""

    model_config = example({"series": [SERIES], "next": None})
    series: list[Series]
    next: int | None


class StatusGiven(BaseModel):
    """What somebody says of a cluster."""

    model_config = example({"status": "regression"})
    status: STATUS
