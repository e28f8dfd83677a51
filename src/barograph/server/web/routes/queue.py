"""The queue of candidates, filters that people saved, and patterns that hide series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Depends, Path, Query

from barograph.results.series import Verdict
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import patterns as hiding
from barograph.server.triage import saved_filters
from barograph.server.triage.effects import Effect
from barograph.server.triage.filters import QueueFilter
from barograph.server.triage.grouping import CauseGroup, QueueEntry
from barograph.server.triage.patterns import KINDS
from barograph.server.triage.queue import PAGE, QueuePage, every_group, label_values, open_groups
from barograph.server.triage.traces import levels
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import Schema, field
from barograph.server.web.routes.points import EXAMPLE as RESULT
from barograph.server.web.routes.series import (
    MeasurementFilter,
    ProjectFilter,
    TaskFilter,
    TestFilter,
    Text,
    VariantFilter,
)

Kind = Literal["canary", "low_priority", "informational"]
FilterName = Annotated[
    Text, Path(min_length=1, max_length=saved_filters.LONGEST_NAME, examples=["Morning triage"])
]
Argument = Annotated[
    Text,
    Query(max_length=2000, description="An argument or its value.", examples=["thread_level=8"]),
]
Words = Annotated[
    Text, Query(max_length=2000, description="Words in names or commits.", examples=["insert"])
]
EffectFilter = Annotated[
    Literal["", "worse", "better", "unknown"],
    Query(description="The direction of the change.", examples=["worse"]),
]
SmallestHazard = Annotated[
    float, Query(ge=0, allow_inf_nan=False, description="Minimum magnitude.", examples=[0.05])
]
SmallestProbability = Annotated[float, Query(ge=0, le=1, description="Minimum.", examples=[0.1])]
Since = Annotated[
    Text, Query(max_length=20, description="Found since a day, or within days.", examples=["7d"])
]
Until = Annotated[
    Text, Query(max_length=20, description="Found up to a day.", examples=["2026-03-12"])
]
State = Annotated[
    Literal["open", "investigation", "unsure", "withdrawn", "any"],
    Query(description="`withdrawn`: no longer found.", examples=["open"]),
]
Shown = Annotated[
    list[Kind] | None, Query(description="Kinds that are hidden otherwise.", examples=[["canary"]])
]
Ids = Annotated[
    Text,
    Query(
        max_length=20_000,
        pattern=r"^(\d{1,18}(,\d{1,18})*)?$",
        description="Numbers of change points, separated by commas.",
        examples=["3,4"],
    ),
]
Sort = Annotated[
    Text,
    Query(
        max_length=20,
        description="`expected`, `commit`, `name`, `change`, `hazard`, `probability`, `series` "
        "or `age`, with `-` in front for the reverse.",
        examples=["expected"],
    ),
]


def _filter(
    project: ProjectFilter = None,
    variant: VariantFilter = None,
    task: TaskFilter = None,
    test: TestFilter = None,
    measurement: MeasurementFilter = None,
    args: Argument = "",
    q: Words = "",
    effect: EffectFilter = "",
    hazard: SmallestHazard = 0.0,
    probability: SmallestProbability = 0.0,
    since: Since = "",
    until: Until = "",
    state: State = "open",
    show: Shown = None,
    ids: Ids = "",
    sort: Sort = "expected",
) -> QueueFilter:
    parameters = {name: value for name, value in locals().items() if value is not None}
    numbers = tuple(int(number) for number in ids.split(",") if number)
    return QueueFilter(**parameters | {"show": tuple(show or ()), "ids": numbers})


FilterQuery = Annotated[QueueFilter, Depends(_filter)]
NewerThan = Annotated[
    int | None,
    Query(ge=0, le=INTEGER, description="Count groups found since, see `newest`.", examples=[0]),
]
Offset = Annotated[int, Query(ge=0, le=INTEGER, description="Groups to skip.", examples=[0])]
ChangePoints = Annotated[
    Text,
    Query(
        max_length=2000,
        pattern=r"^\d{1,18}(,\d{1,18}){0,99}$",
        description="At most 100 numbers of change points, separated by commas.",
        examples=["3,17"],
    ),
]
Groups = Annotated[int, Query(ge=0, le=1000, description="Groups of the page.", examples=[100])]


class QueueMember(Schema):
    """A change point of a group."""

    id: int = field(3)
    version: int = field(0, "To be sent with a verdict.")
    series: int = field(7)
    name: str = field("sys-perf/linux-3-node/mixed_workloads/insert_vector/ops_per_sec")
    order: int = field(1024)
    last_before: int = field(1020, "Order of the last result before.")
    commit: str = field("3f9a1c7")
    percent: float | None = field(-12.5, "Change in percent of the level before.")
    hazard: float | None = field(0.12)
    probability: float | None = field(0.93)
    verdict: Verdict = field("not_triaged")
    present: bool = field(True, "Whether the latest refresh found it.")
    detected_on: int | None = field(1706220999000, "When it was first detected.")


class QueueGroup(Schema):
    """Change points that one cause may explain, the worst first."""

    project: str = field(RESULT["project"])
    last_before: int = field(1020, "The last order that is not suspect.")
    order: int = field(1024, "The last suspect order.")
    commit: str = field("3f9a1c7", "The commit there.")
    subject: str = field("Take locks eagerly in retryable writes")
    author: str = field("Ada Byron")
    kind: Literal["", "canary", "low_priority", "informational"] = field("canary")
    effect: Literal["worse", "better", "rose", "fell", "changed", "trend"] = field("worse")
    expected_hazard: float = field(0.11, "Magnitude of the hazard times probability, of the worst.")
    members: list[QueueMember]


class QueueResponse(Schema):
    """A page of the queue; request the next page with `offset` set to `next`."""

    groups: list[QueueGroup]
    total: int = field(34, "Number of groups on all pages.")
    change_points: int = field(212, "Number of change points in them.")
    hidden: dict[Kind, int] = field({"canary": 12}, "Number of hidden groups by kind.")
    newest: int = field(1706220999000, "When the newest change point was found.")
    newer: int = field(3, "Groups found after `newer_than`.")
    next: int | None = field(100)


class PresentMember(Schema):
    """A change point, and the number of its verdicts."""

    id: int = field(3)
    version: int = field(0)


class PresentGroup(Schema):
    """What is left of a group, and what joined it."""

    of: int = field(3, "The change point that was asked for.")
    members: list[PresentMember]


class PresentGroupsResponse(Schema):
    """Groups as they are now."""

    groups: list[PresentGroup]


class LabelValue(Schema):
    """A value of a label, and how many open change points have it."""

    value: str = field("linux-3-node")
    count: int = field(31)


class LabelValuesResponse(Schema):
    """The values of a label in the queue, most frequent first."""

    values: list[LabelValue]


class SavedFilterRequest(Schema):
    """A filter to save: the query of the address of the queue."""

    query: str = field("effect=worse&probability=0.5", max_length=4000)


class FilterNameRequest(Schema):
    """The new name of a saved filter."""

    name: Text = field("Regressions", min_length=1, max_length=saved_filters.LONGEST_NAME)


class SavedFilterResponse(SavedFilterRequest):
    """A saved filter."""

    name: str = field("Morning triage")
    who: str = field("ada")
    saved: int = field(1706220999000)


class SavedFiltersResponse(Schema):
    """All saved filters by name."""

    filters: list[SavedFilterResponse]


class PatternsModel(Schema):
    """Globs over the names of series: what a series is of the first kind that matches."""

    canary: list[Text] = field(["*/canary_*"], "A machine check that should never move.")
    low_priority: list[Text] = field(["*/nightly/*"], "Looked at last.")
    informational: list[Text] = field(["*/memory_*"], "Fails no job.")


routes = guarded_router(Scope.READ, "queue")
saving = guarded_router(Scope.TRIAGE, "queue")
administration = guarded_router(Scope.ADMIN, "queue")


@routes.get("/api/v1/queue", response_model=QueueResponse, summary="The queue in groups")
def get_queue(
    context: Context,
    queue_filter: FilterQuery,
    offset: Offset = 0,
    limit: Groups = PAGE,
    newer_than: NewerThan = None,
) -> dict[str, Any]:
    """Return the change points that wait for a verdict, grouped by what may have caused them."""
    with context.store.read() as connection:
        page = open_groups(
            connection, queue_filter, offset=offset, limit=limit, newer_than=newer_than
        )
        known = levels(connection, [member.id for group in page.groups for member in group.members])
    end = offset + len(page.groups)
    return {
        "groups": [_group_fields(group, page, known) for group in page.groups],
        "total": page.total,
        "change_points": page.members,
        "hidden": page.hidden,
        "newest": page.newest,
        "newer": page.newer,
        "next": end if page.groups and end < page.total else None,
    }


@routes.get(
    "/api/v1/queue/groups", response_model=PresentGroupsResponse, summary="Groups as they are now"
)
def get_groups(context: Context, queue_filter: FilterQuery, of: ChangePoints) -> dict[str, Any]:
    """Return the members of the groups that change points are in, none if it left the queue.

    A page that was opened earlier sees from it what changed in the groups that it shows.
    """
    numbers = [int(number) for number in of.split(",")]
    with context.store.read() as connection:
        groups = every_group(connection, replace(queue_filter, show=KINDS))
    by_member = {member.id: group.members for group in groups for member in group.members}
    return {"groups": [{"of": number, "members": by_member.get(number, ())} for number in numbers]}


@routes.get(
    "/api/v1/queue/values",
    response_model=LabelValuesResponse,
    summary="Values of a label in the queue",
)
def get_values(
    context: Context,
    label: Annotated[
        Literal["project", "variant", "task", "test", "measurement", "args"],
        Query(examples=["variant"]),
    ],
) -> dict[str, Any]:
    """Return the values that the open change points have, for a filter to choose from."""
    with context.store.read() as connection:
        counts = label_values(connection, label)
    return {"values": [{"value": value, "count": count} for value, count in counts[:1000]]}


@routes.get("/api/v1/saved-filters", response_model=SavedFiltersResponse, summary="Saved filters")
def get_saved_filters(context: Context) -> dict[str, Any]:
    """Return the filters of the queue that people saved."""
    with context.store.read() as connection:
        return {"filters": saved_filters.every_filter(connection)}


@saving.put(
    "/api/v1/saved-filters/{name:path}", response_model=SavedFilterResponse, summary="Save a filter"
)
def put_saved_filter(
    context: Context, name: FilterName, caller: CallerName, saved: SavedFilterRequest
) -> Any:
    """Save a filter of the queue; one of the same name is replaced."""
    return context.store.write(
        lambda connection: saved_filters.save_filter(connection, name, saved.query, caller)
    )


@saving.patch(
    "/api/v1/saved-filters/{name:path}",
    response_model=SavedFilterResponse,
    summary="Rename a filter",
)
def rename_saved_filter(
    context: Context, name: FilterName, caller: CallerName, new: FilterNameRequest
) -> Any:
    """Rename a saved filter; a name that another filter has is refused."""
    return context.store.write(
        lambda connection: saved_filters.rename_filter(connection, name, new.name, caller)
    )


@saving.delete(
    "/api/v1/saved-filters/{name:path}",
    response_model=SavedFiltersResponse,
    summary="Delete a filter",
)
def delete_saved_filter(context: Context, name: FilterName, caller: CallerName) -> dict[str, Any]:
    """Delete a saved filter; return those that are left."""

    def work(connection: sa.Connection) -> list[saved_filters.SavedFilter]:
        saved_filters.delete_filter(connection, name, caller)
        return saved_filters.every_filter(connection)

    return {"filters": context.store.write(work)}


@routes.get("/api/v1/patterns", response_model=PatternsModel, summary="Patterns of series")
def get_patterns(context: Context) -> dict[str, Any]:
    """Return the patterns that make series canaries, of low priority, or informational."""
    with context.store.read() as connection:
        return dict(hiding.stored_patterns(connection))


@administration.put("/api/v1/patterns", response_model=PatternsModel, summary="Set the patterns")
def put_patterns(context: Context, caller: CallerName, patterns: PatternsModel) -> dict[str, Any]:
    """Replace all patterns. Those of `barograph.toml` replace them when the service starts."""

    def work(connection: sa.Connection) -> dict[str, Any]:
        hiding.set_patterns(connection, patterns.model_dump(), caller)
        return dict(hiding.stored_patterns(connection))

    return context.store.write(work)


def _group_fields(
    group: CauseGroup, page: QueuePage, known: Mapping[int, Effect]
) -> dict[str, Any]:
    details = page.details[group.project, group.commit]
    names = ("project", "last_before", "order", "commit", "kind", "effect")
    return {
        **{name: getattr(group, name) for name in names},
        "subject": details.subject,
        "author": details.author,
        "expected_hazard": group.worst.expected,
        "members": [member_fields(member, known.get(member.id)) for member in group.members],
    }


def member_fields(entry: QueueEntry, known: Effect | None) -> dict[str, Any]:
    """Return the fields of a `QueueMember`."""
    names = (name for name in QueueMember.model_fields if name != "percent")
    return {
        **{name: getattr(entry, name) for name in names},
        "percent": None if known is None else known.percent,
    }
