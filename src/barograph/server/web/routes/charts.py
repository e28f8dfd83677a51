"""Everything that the chart of a series shows, in one answer."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from pydantic import Field
from starlette.responses import Response

from barograph.results.series import Verdict
from barograph.results.wording import EffectWord, short_commit
from barograph.server.store.tokens import Scope
from barograph.server.triage.chart import MarkState, SeriesChart, series_chart
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.responses import Schema, field
from barograph.server.web.routes.series import SeriesNumber, SeriesResponse


class MarkResponse(Schema):
    """A change point on a chart, or the place that it moved away from."""

    id: int = field(3)
    version: int = field(0, "What verdicts refer to.")
    index: int = field(2, "Index of the first result of the new level.")
    order: int = field(1024)
    commit: str = field("3f9a1c7")
    state: MarkState = field("unprocessed")
    verdict: Verdict = field("not_triaged")
    probability: float | None = field(0.93)
    hazard: float | None = field(0.12)
    before: float | None = field(18230.0, "The level before.")
    after: float | None = field(16100.0, "The level after.")
    effect: EffectWord = field("worse")
    time: int | None = field(1706220999000, "When it moved away, got its verdict, or was found.")


class TicketMarkResponse(Schema):
    """A ticket on a chart."""

    key: str = field("SERVER-12345")
    url: str = field("https://tickets.example/SERVER-12345")
    title: str = field("Inserts are slower since 3f9a1c7")
    status: Literal["open", "closed"] = field("open")
    index: int = field(2)


class ChartResponse(Schema):
    """A series in columns, one entry for each commit, oldest first."""

    series: SeriesResponse
    orders: list[int] = field([1022, 1023, 1024])
    commits: list[str] = field(["a81b3f0", "c90d2e1", "3f9a1c7"])
    times: list[int | None] = field(
        [1706220000000, 1706220400000, None], "Milliseconds since 1970."
    )
    values: list[float] = field([18230.0, 18241.5, 16100.0], "The values that count.")
    low: list[float] = field([18200.0, 1.0, 1.0], "The least of the runs.")
    high: list[float] = field([18300.0, 1.0, 1], "The largest of the runs.")
    runs: list[int] = field([3, 1, 1], "Number of runs.")
    levels: list[tuple[int, int, float, bool]] = field(
        [[0, 2, 18235.75, True], [2, 3, 16100.0, True]],
        "Start and end of a level, its value, and whether a change was measured with it.",
    )
    marks: list[MarkResponse] = Field(description="Change points, oldest first.")
    outliers: list[int] = field([17, 18], "Indices of results in an excursion.")
    suspects: list[int] = field([2], "Indices of the newest results that wait for a rerun.")
    ranges: list[tuple[int, int]] = field(
        [[1, 2]], "Last index before and first after each undecided change."
    )
    tickets: list[TicketMarkResponse]


routes = guarded_router(Scope.READ, "series")


@routes.get(
    "/api/v1/series/{number}/chart", response_model=ChartResponse, summary="Chart of a series"
)
def get_chart(context: Context, number: SeriesNumber) -> Any:
    """Return all results of a series with its levels, change points and tickets."""
    with context.store.read() as connection:
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
