"""The queue, processed change points, saved filters, and patterns that hide series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Body, Depends, Path, Query

from barograph.results.series import Verdict
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import filters as saved_filters
from barograph.server.triage import patterns as hiding
from barograph.server.triage.effects import levels
from barograph.server.triage.filters import QueueFilter, SavedFilter
from barograph.server.triage.grouping import CauseGroup, QueueEntry
from barograph.server.triage.patterns import KINDS
from barograph.server.triage.processed import PAGE as LENGTH
from barograph.server.triage.processed import ProcessedEntry, processed
from barograph.server.triage.queue import (
    PAGE,
    BoardOverview,
    QueuePage,
    every_group,
    label_values,
    open_groups,
    overview,
)
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.routes.series import Label, Text
from barograph.server.web.schemas import answer, many, page_of, schema_of

Kind = Literal["canary", "low_priority", "informational"]
VerdictFilter = Annotated[
    Literal["", "true_positive", "false_positive", "under_investigation", "unsure"],
    Query(description="Only this verdict."),
]
Who = Annotated[str, Query(max_length=200, description="Only of this person.")]
FilterName = Annotated[Text, Path(min_length=1, max_length=saved_filters.LONGEST_NAME)]
LongText = Annotated[Text, Query(max_length=2000)]
Word = Annotated[Text, Query(max_length=20)]
IDS = "Numbers of change points, separated by commas."
SORT = (
    "`expected`, `commit`, `name`, `change`, `hazard`, `probability`, `series` or `age`, with `-` "
    "in front for the reverse."
)
Globs = Annotated[list[Text], Body(description="Globs over the names of series.")]


def _filter(
    project: Label = None,
    variant: Label = None,
    task: Label = None,
    test: Label = None,
    measurement: Label = None,
    args: Annotated[LongText, Query(description="An argument or its value.")] = "",
    q: Annotated[LongText, Query(description="Words in names or commits.")] = "",
    effect: Literal["", "worse", "better", "unknown"] = "",
    hazard: Annotated[float, Query(ge=0, allow_inf_nan=False, description="Least magnitude.")] = 0,
    probability: Annotated[float, Query(ge=0, le=1, description="Least probability.")] = 0,
    since: Annotated[Word, Query(description="Found since a day, or within days.")] = "",
    until: Annotated[Word, Query(description="Found up to a day.")] = "",
    state: Literal["open", "investigation", "unsure", "withdrawn", "any"] = "open",
    show: Annotated[list[Kind] | None, Query(description="Kinds hidden otherwise.")] = None,
    ids: Annotated[
        Text, Query(max_length=20_000, pattern=r"^(\d{1,18}(,\d{1,18})*)?$", description=IDS)
    ] = "",
    sort: Annotated[Word, Query(description=SORT)] = "expected",
) -> QueueFilter:
    return QueueFilter(
        *(project or "", variant or "", task or "", test or "", measurement or ""),
        args=args,
        q=q,
        effect=effect,
        hazard=hazard,
        probability=probability,
        since=since,
        until=until,
        state=state,
        show=tuple(show or ()),
        ids=tuple(int(number) for number in ids.split(",") if number),
        sort=sort,
    )


FilterQuery = Annotated[QueueFilter, Depends(_filter)]
NewerThan = Annotated[
    int | None, Query(ge=0, le=INTEGER, description="Count groups found since, see `newest`.")
]
Offset = Annotated[int, Query(ge=0, le=INTEGER, description="Rows or groups to skip.")]
Numbers = Annotated[
    Text,
    Query(
        max_length=2000,
        pattern=r"^\d{1,18}(,\d{1,18}){0,99}$",
        description="At most 100 numbers of change points, separated by commas.",
    ),
]
MEMBER = schema_of(
    QueueEntry, without=("identity", "kind", "effect"), percent=float | None, verdict=Verdict
)
GROUP = schema_of(
    CauseGroup,
    kind=Literal["", "canary", "low_priority", "informational"],
    effect=Literal["worse", "better", "rose", "fell", "changed", "trend"],
    members=many(MEMBER),
    subject=str,
    author=str,
    expected_hazard=float,
)
QUEUE = page_of(
    *("groups", GROUP),
    total=int,
    change_points=int,
    newest=int,
    newer=int,
    hidden=dict[Kind, int],
)
PRESENT = answer(
    "PresentGroup",
    of=int,
    members=many(answer("PresentMember", id=int, version=int)),
)
FILTER = schema_of(SavedFilter)
FILTERS = answer("SavedFilters", filters=many(FILTER))
PATTERNS = answer("Patterns", canary=list[str], low_priority=list[str], informational=list[str])
PROCESSED = schema_of(
    ProcessedEntry,
    without=("entry",),
    **{name: f"entry.{name}" for name in MEMBER.model_fields if name not in ("percent", "verdict")},
    percent=float | None,
)

routes = guarded_router(Scope.READ, "queue")
saving = guarded_router(Scope.TRIAGE, "queue")
administration = guarded_router(Scope.ADMIN, "queue")


@routes.get("/api/v1/board", response_model=schema_of(BoardOverview), summary="State of the board")
def get_board(context: Context, caller: CallerName) -> Any:
    """Return what waits, what is silent, and how old the newest result is."""
    with context.store.read() as connection:
        return overview(connection, caller)


@routes.get("/api/v1/queue", response_model=QUEUE, summary="The queue in groups")
def get_queue(
    context: Context,
    queue_filter: FilterQuery,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=0, le=1000, description="Groups of the page.")] = PAGE,
    newer_than: NewerThan = None,
) -> dict[str, Any]:
    """Return the change points that wait for a verdict, grouped by what may have caused them."""
    with context.store.read() as connection:
        page = open_groups(
            connection, queue_filter, offset=offset, limit=limit, newer_than=newer_than
        )
        members = [member for group in page.groups for member in group.members]
        rows = {row["id"]: row for row in _rows(connection, members)}
    end = offset + len(page.groups)
    return {
        "groups": [_group(group, page, rows) for group in page.groups],
        "total": page.total,
        "change_points": page.members,
        "hidden": page.hidden,
        "newest": page.newest,
        "newer": page.newer,
        "next": end if page.groups and end < page.total else None,
    }


@routes.get(
    "/api/v1/processed",
    response_model=page_of("change_points", PROCESSED, counts=dict[Verdict, int]),
    summary="Processed change points",
)
def get_processed(
    context: Context,
    queue_filter: FilterQuery,
    verdict: VerdictFilter = "",
    who: Who = "",
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Rows of the page.")] = LENGTH,
) -> dict[str, Any]:
    """Return the change points that have a verdict, each with the latest one.

    The filters are those of the queue; `state`, `effect`, `show`, `ids`, `since`, `until` and
    `sort` have no effect.
    """
    kind = Verdict(verdict) if verdict else None
    with context.store.read() as connection:
        page = processed(connection, queue_filter, kind, who=who, offset=offset, limit=limit)
        rows = _rows(connection, [decided.entry for decided in page.entries])
    own = ("who", "time", "reason", "note", "scored")
    return {
        "change_points": [
            row | {name: getattr(decided, name) for name in own}
            for row, decided in zip(rows, page.entries, strict=True)
        ],
        "counts": page.counts,
        "next": offset + limit if page.more else None,
    }


@routes.get(
    "/api/v1/queue/groups",
    response_model=answer("PresentGroups", groups=many(PRESENT)),
    summary="Groups as they are now",
)
def get_groups(context: Context, queue_filter: FilterQuery, of: Numbers) -> dict[str, Any]:
    """Return the members of the groups that change points are in, none if it left the queue.

    A page that was opened earlier sees from it what changed in the groups that it shows.
    """
    numbers = [int(number) for number in of.split(",")]
    with context.store.read() as connection:
        groups = every_group(connection, replace(queue_filter, show=KINDS))
    known = {
        member.id: [{"id": other.id, "version": other.version} for other in group.members]
        for group in groups
        for member in group.members
    }
    return {"groups": [{"of": number, "members": known.get(number, ())} for number in numbers]}


@routes.get(
    "/api/v1/queue/values",
    response_model=answer("LabelValues", values=many(answer("LabelValue", value=str, count=int))),
    summary="Values of a label in the queue",
)
def get_values(
    context: Context,
    label: Annotated[Literal["project", "variant", "task", "test", "measurement", "args"], Query()],
) -> dict[str, Any]:
    """Return the values that the open change points have, for a filter to choose from."""
    with context.store.read() as connection:
        counts = label_values(connection, label)
    return {"values": [{"value": value, "count": count} for value, count in counts[:1000]]}


@routes.get("/api/v1/saved-filters", response_model=FILTERS, summary="Saved filters")
def get_saved_filters(context: Context) -> dict[str, Any]:
    """Return the filters of the queue that people saved."""
    with context.store.read() as connection:
        return {"filters": saved_filters.every_filter(connection)}


@saving.put("/api/v1/saved-filters/{name:path}", response_model=FILTER, summary="Save a filter")
def put_saved_filter(
    context: Context,
    name: FilterName,
    caller: CallerName,
    query: Annotated[str, Body(embed=True, max_length=4000, description="Query of the queue.")],
) -> Any:
    """Save a filter of the queue; one of the same name is replaced."""
    return context.store.write(
        lambda connection: saved_filters.save_filter(connection, name, query, caller)
    )


@saving.patch("/api/v1/saved-filters/{name:path}", response_model=FILTER, summary="Rename a filter")
def rename_saved_filter(
    context: Context,
    name: FilterName,
    caller: CallerName,
    new: Annotated[
        Text,
        Body(embed=True, alias="name", min_length=1, max_length=saved_filters.LONGEST_NAME),
    ],
) -> Any:
    """Rename a saved filter; a name that another filter has is refused."""
    return context.store.write(
        lambda connection: saved_filters.rename_filter(connection, name, new, caller)
    )


@saving.delete(
    "/api/v1/saved-filters/{name:path}", response_model=FILTERS, summary="Delete a filter"
)
def delete_saved_filter(context: Context, name: FilterName, caller: CallerName) -> dict[str, Any]:
    """Delete a saved filter; return those that are left."""

    def work(connection: sa.Connection) -> list[SavedFilter]:
        saved_filters.delete_filter(connection, name, caller)
        return saved_filters.every_filter(connection)

    return {"filters": context.store.write(work)}


@routes.get("/api/v1/patterns", response_model=PATTERNS, summary="Patterns of series")
def get_patterns(context: Context) -> Any:
    """Return the patterns that make series canaries, of low priority, or informational."""
    with context.store.read() as connection:
        return hiding.stored_patterns(connection)


@administration.put("/api/v1/patterns", response_model=PATTERNS, summary="Set the patterns")
def put_patterns(
    context: Context,
    caller: CallerName,
    canary: Globs,
    low_priority: Globs,
    informational: Globs,
) -> Any:
    """Replace all patterns. Those of `barograph.toml` replace them when the service starts."""
    patterns = dict(zip(KINDS, (canary, low_priority, informational), strict=True))

    def work(connection: sa.Connection) -> Any:
        hiding.set_patterns(connection, patterns, caller)
        return hiding.stored_patterns(connection)

    return context.store.write(work)


def _group(group: CauseGroup, page: QueuePage, rows: Mapping[int, Any]) -> dict[str, Any]:
    names = ("project", "last_before", "order", "commit", "kind", "effect")
    details = page.details[group.project, group.commit]
    return {
        **{name: getattr(group, name) for name in names},
        "subject": details.subject,
        "author": details.author,
        "expected_hazard": group.worst.expected,
        "members": [rows[member.id] for member in group.members],
    }


def _rows(connection: sa.Connection, entries: Sequence[QueueEntry]) -> list[dict[str, Any]]:
    """Return change points with the size of each change."""
    known = levels(connection, [entry.id for entry in entries])
    names = [name for name in MEMBER.model_fields if name != "percent"]
    return [
        {name: getattr(entry, name) for name in names}
        | {"percent": known[entry.id].percent if entry.id in known else None}
        for entry in entries
    ]
