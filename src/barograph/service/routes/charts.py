"""Everything that the chart of a series shows, in one answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from pydantic import Field
from starlette.responses import Response

from barograph.series import Verdict
from barograph.service.context import Context, guarded_router
from barograph.service.responses import Schema, or_404
from barograph.service.routes.series import SeriesNumber, SeriesResponse
from barograph.store.tokens import Scope
from barograph.triage.chart import MarkState, SeriesChart, series_chart
from barograph.wording import short_commit

Effect = Literal["worse", "better", "changed"]


class MarkResponse(Schema):
    """A change point on a chart, or the place that it moved away from."""

    id: int = Field(examples=[3])
    version: int = Field(description="What verdicts refer to.", examples=[0])
    index: int = Field(description="Index of the first result of the new level.", examples=[2])
    order: int = Field(examples=[1024])
    commit: str = Field(examples=["3f9a1c7"])
    state: MarkState = Field(examples=["unprocessed"])
    verdict: Verdict = Field(examples=["not_triaged"])
    probability: float | None = Field(examples=[0.93])
    hazard: float | None = Field(examples=[0.12])
    before: float | None = Field(description="Median of the level before.", examples=[18230.0])
    after: float | None = Field(description="Median of the level after.", examples=[16100.0])
    effect: Effect = Field(examples=["worse"])
    time: int | None = Field(
        description="When it moved away, got its verdict, or was found.", examples=[1706220999000]
    )


class TicketMarkResponse(Schema):
    """A ticket on a chart."""

    key: str = Field(examples=["SERVER-12345"])
    url: str = Field(examples=["https://tickets.example/SERVER-12345"])
    title: str = Field(examples=["Inserts are slower since 3f9a1c7"])
    status: Literal["open", "closed"] = Field(examples=["open"])
    index: int = Field(examples=[2])


class ChartResponse(Schema):
    """A series in columns, one entry for each commit, oldest first."""

    series: SeriesResponse
    orders: list[int] = Field(examples=[[1022, 1023, 1024]])
    commits: list[str] = Field(examples=[["a81b3f0", "c90d2e1", "3f9a1c7"]])
    times: list[int | None] = Field(
        description="Milliseconds since 1970.", examples=[[1706220000000, 1706220400000, None]]
    )
    values: list[float] = Field(
        description="The values that count.", examples=[[18230.0, 18241.5, 16100.0]]
    )
    low: list[float] = Field(description="The least of the runs.", examples=[[18200.0, 1.0, 1.0]])
    high: list[float] = Field(description="The largest of the runs.", examples=[[18300.0, 1.0, 1]])
    runs: list[int] = Field(description="Number of runs.", examples=[[3, 1, 1]])
    levels: list[tuple[int, int, float]] = Field(
        description="Start, end and median of each level.",
        examples=[[[0, 2, 18235.75], [2, 3, 16100.0]]],
    )
    marks: list[MarkResponse] = Field(description="Change points, oldest first.")
    outliers: list[int] = Field(
        description="Indices of results in an excursion.", examples=[[17, 18]]
    )
    suspects: list[int] = Field(
        description="Indices of the newest results that wait for a rerun.", examples=[[2]]
    )
    ranges: list[tuple[int, int]] = Field(
        description="Last index before and first after each undecided change.", examples=[[[1, 2]]]
    )
    tickets: list[TicketMarkResponse]


routes = guarded_router(Scope.READ, "series")


@routes.get(
    "/api/v1/series/{number}/chart", response_model=ChartResponse, summary="Chart of a series"
)
def get_chart(context: Context, number: SeriesNumber) -> Any:
    """Return all results of a series with its levels, change points and tickets."""
    with context.store.read() as connection, or_404():
        chart = series_chart(connection, number)
    # A series may have thousands of results: they are written as they are, not checked again.
    return Response(chart_json(chart), media_type="application/json")


def chart_json(chart: SeriesChart, *, brief: bool = False) -> bytes:
    """Return the JSON of a `ChartResponse`.

    Args:
        chart: The chart.
        brief: Whether to shorten hashes, which hardly compress, and to leave out `low` and `high`
            if no commit has several runs.
    """
    fields = {name: getattr(chart, name) for name in ChartResponse.model_fields}
    if brief:
        fields["commits"] = [short_commit(commit) for commit in chart.commits]
        if max(chart.runs, default=1) == 1:
            del fields["low"], fields["high"]
    series = SeriesResponse.model_validate(chart.series, from_attributes=True)
    fields["series"] = series.model_dump()
    return msgspec.json.encode(fields)
