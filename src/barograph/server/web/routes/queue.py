"""The queue, processed change points, saved filters, and patterns that hide series."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Body, Depends, Query

from barograph.results.series import Verdict
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import filters as saved_filters
from barograph.server.triage import patterns as hiding
from barograph.server.triage.effects import levels
from barograph.server.triage.filters import QueueFilter, SavedFilter
from barograph.server.triage.grouping import SORTS, CauseGroup, QueueEntry
from barograph.server.triage.patterns import KINDS
from barograph.server.triage.queue import (
    PAGE,
    BoardOverview,
    ProcessedEntry,
    QueuePage,
    every_group,
    label_values,
    open_groups,
    overview,
    processed,
)
from barograph.server.web.context import CallerName, Connection, guarded_router
from barograph.server.web.routes.series import Label, Text
from barograph.server.web.schemas import answer, many, page_of, schema_of

FILTER_PLACE = "/api/v1/saved-filters/{name:path}"
Kind = Literal["canary", "low_priority", "informational"]
VerdictFilter = Literal["", "true_positive", "false_positive", "under_investigation", "unsure"]
Who = Annotated[str, Query(max_length=200, description="Only of this person.")]
NewName = Annotated[Text, Body(embed=True, alias="name")]
SavedQuery = Annotated[str, Body(embed=True, description="Query of the queue.")]
Offset = Annotated[int, Query(ge=0, le=INTEGER, description="Rows or groups to skip.")]
GroupLimit = Annotated[int, Query(ge=0, le=1000, description="Groups of the page.")]
RowLimit = Annotated[int, Query(ge=1, le=1000, description="Rows of the page.")]
NEWER = "Count groups found since, see `newest`."
NewerThan = Annotated[int | None, Query(ge=0, le=INTEGER, description=NEWER)]
LabelName = Literal["project", "variant", "task", "test", "measurement", "args"]
Globs = Annotated[list[Text], Body(description="Globs over the names of series.")]
IDS = "Numbers of change points, separated by commas"
Ids = Annotated[
    str, Query(max_length=20_000, pattern=r"^(\d{1,18}(,\d{1,18})*)?$", description=f"{IDS}.")
]
OF = f"{IDS}, at most 100."
Numbers = Annotated[str, Query(pattern=r"^\d{1,18}(,\d{1,18}){0,99}$", description=OF)]
SORT = f"One of {', '.join(SORTS)}, with `-` in front for the reverse."


def _filter(
    project: Label = "",
    variant: Label = "",
    task: Label = "",
    test: Label = "",
    measurement: Label = "",
    args: Annotated[Label, Query(description="An argument or its value.")] = "",
    q: Annotated[Label, Query(description="Words in names or commits.")] = "",
    effect: Literal["", "worse", "better", "unknown"] = "",
    hazard: Annotated[float, Query(ge=0, allow_inf_nan=False, description="Least magnitude.")] = 0,
    probability: Annotated[float, Query(ge=0, le=1, description="Least probability.")] = 0,
    since: Annotated[str, Query(description="Found since a day, or within days.")] = "",
    until: Annotated[str, Query(description="Found up to a day.")] = "",
    state: Literal["open", "investigation", "unsure", "withdrawn", "any"] = "open",
    show: Annotated[list[Kind] | None, Query(description="Kinds hidden otherwise.")] = None,
    ids: Ids = "",
    sort: Annotated[str, Query(description=SORT)] = "expected",
) -> QueueFilter:
    return QueueFilter(
        *(project, variant, task, test, measurement, args, q, effect, hazard, probability),
        *(since, until, state),
        show=tuple(show or ()),
        ids=tuple(int(number) for number in ids.split(",") if number),
        sort=sort,
    )


FilterQuery = Annotated[QueueFilter, Depends(_filter)]
MEMBER = schema_of(
    QueueEntry, without=("identity", "kind", "effect"), percent=float | None, verdict=Verdict
)
OF_ENTRY = [name for name in MEMBER.model_fields if name != "percent"]
GROUP = schema_of(
    CauseGroup,
    kind=Literal["", "canary", "low_priority", "informational"],
    effect=Literal["worse", "better", "rose", "fell", "changed", "trend"],
    members=many(MEMBER),
    subject=str,
    author=str,
    expected_hazard=float,
)
COUNTS = dict.fromkeys(("total", "change_points", "newest", "newer"), int)
QUEUE = page_of("groups", GROUP, **COUNTS, hidden=dict[Kind, int])
PRESENT_MEMBERS = many(answer("PresentMember", id=int, version=int))
PRESENT = answer(
    "PresentGroups", groups=many(answer("PresentGroup", of=int, members=PRESENT_MEMBERS))
)
VALUES = answer("LabelValues", values=many(answer("LabelValue", value=str, count=int)))
FILTER = schema_of(SavedFilter)
FILTERS = answer("SavedFilters", filters=many(FILTER))
PATTERNS = answer("Patterns", canary=list[str], low_priority=list[str], informational=list[str])
PROCESSED = page_of(
    "change_points",
    schema_of(
        ProcessedEntry,
        without=("entry",),
        **{name: f"entry.{name}" for name in OF_ENTRY if name != "verdict"},
        percent=float | None,
    ),
    counts=dict[Verdict, int],
)

routes = guarded_router(Scope.READ, "queue")
saving = guarded_router(Scope.TRIAGE, "queue")
administration = guarded_router(Scope.ADMIN, "queue")


@routes.get("/api/v1/board", response_model=schema_of(BoardOverview))
def get_board(connection: Connection, caller: CallerName) -> Any:
    """Return what waits, what is silent, and how old the newest result is."""
    return overview(connection, caller)


@routes.get("/api/v1/queue", response_model=QUEUE)
def get_queue(
    connection: Connection,
    queue_filter: FilterQuery,
    offset: Offset = 0,
    limit: GroupLimit = PAGE,
    newer_than: NewerThan = None,
) -> dict[str, Any]:
    """Return the change points that wait for a verdict, grouped by what may have caused them."""
    page = open_groups(connection, queue_filter, offset=offset, limit=limit, newer_than=newer_than)
    members = [member for group in page.groups for member in group.members]
    rows = {row["id"]: row for row in _rows(connection, members)}
    end = offset + len(page.groups)
    return {
        "groups": [_group(group, page, rows) for group in page.groups],
        "change_points": page.members,
        **{name: getattr(page, name) for name in ("total", "hidden", "newest", "newer")},
        "next": end if page.groups and end < page.total else None,
    }


@routes.get("/api/v1/processed", response_model=PROCESSED)
def get_processed(
    connection: Connection,
    queue_filter: FilterQuery,
    verdict: VerdictFilter = "",
    who: Who = "",
    offset: Offset = 0,
    limit: RowLimit = PAGE,
) -> dict[str, Any]:
    """Return the change points that have a verdict, each with the latest one.

    The filters are those of the queue; `state`, `effect`, `show`, `ids`, `since`, `until` and
    `sort` have no effect.
    """
    kind = Verdict(verdict) if verdict else None
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


@routes.get("/api/v1/queue/groups", response_model=PRESENT)
def get_groups(connection: Connection, queue_filter: FilterQuery, of: Numbers) -> dict[str, Any]:
    """Return the members of the groups that change points are in, none if it left the queue.

    A page that was opened earlier sees from it what changed in the groups that it shows.
    """
    known = {
        member.id: [{"id": other.id, "version": other.version} for other in group.members]
        for group in every_group(connection, replace(queue_filter, show=KINDS))
        for member in group.members
    }
    numbers = map(int, of.split(","))
    return {"groups": [{"of": number, "members": known.get(number, ())} for number in numbers]}


@routes.get("/api/v1/queue/values", response_model=VALUES)
def get_values(connection: Connection, label: Annotated[LabelName, Query()]) -> dict[str, Any]:
    """Return the values that the open change points have, for a filter to choose from."""
    counts = label_values(connection, label)
    return {"values": [{"value": value, "count": count} for value, count in counts[:1000]]}


@routes.get("/api/v1/saved-filters", response_model=FILTERS)
def get_saved_filters(connection: Connection) -> dict[str, Any]:
    """Return the filters of the queue that people saved."""
    return {"filters": saved_filters.every_filter(connection)}


@saving.put(FILTER_PLACE, response_model=FILTER)
def put_saved_filter(
    connection: Connection, name: Text, caller: CallerName, query: SavedQuery
) -> Any:
    """Save a filter of the queue; one of the same name is replaced."""
    return saved_filters.save_filter(connection, name, query, caller)


@saving.patch(FILTER_PLACE, response_model=FILTER)
def rename_saved_filter(
    connection: Connection, name: Text, caller: CallerName, new: NewName
) -> Any:
    """Rename a saved filter; a name that another filter has is refused."""
    return saved_filters.rename_filter(connection, name, new, caller)


@saving.delete(FILTER_PLACE, response_model=FILTERS)
def delete_saved_filter(connection: Connection, name: Text, caller: CallerName) -> dict[str, Any]:
    """Delete a saved filter; return those that are left."""
    saved_filters.delete_filter(connection, name, caller)
    return {"filters": saved_filters.every_filter(connection)}


@routes.get("/api/v1/patterns", response_model=PATTERNS)
def get_patterns(connection: Connection) -> Any:
    """Return the patterns that make series canaries, of low priority, or informational."""
    return hiding.stored_patterns(connection)


@administration.put("/api/v1/patterns", response_model=PATTERNS)
def put_patterns(
    connection: Connection,
    caller: CallerName,
    canary: Globs,
    low_priority: Globs,
    informational: Globs,
) -> Any:
    """Replace all patterns. Those of `barograph.toml` replace them when the service starts."""
    patterns = dict(zip(KINDS, (canary, low_priority, informational), strict=True))
    hiding.set_patterns(connection, patterns, caller)
    return hiding.stored_patterns(connection)


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


def _rows(connection: Connection, entries: Sequence[QueueEntry]) -> list[dict[str, Any]]:
    """Return change points with the size of each change."""
    known = levels(connection, [entry.id for entry in entries])
    return [
        {name: getattr(entry, name) for name in OF_ENTRY}
        | {"percent": known[entry.id].percent if entry.id in known else None}
        for entry in entries
    ]
