"""The queue, what was processed, and the first page of a store without results."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request
from starlette.responses import Response

from barograph.results import wording
from barograph.results.series import LABELS, Verdict
from barograph.results.wording import BETTER, CHANGED, TREND, WORSE
from barograph.server.store.reading import find_series
from barograph.server.triage import filters as saved_filters
from barograph.server.triage.effects import Trace, traces
from barograph.server.triage.filters import QueueFilter
from barograph.server.triage.grouping import SECTIONED, QueueEntry
from barograph.server.triage.queue import (
    PAGE,
    QueuePage,
    get_group,
    open_groups,
    processed,
    seconds_left,
)
from barograph.server.web.auth import LOCAL
from barograph.server.web.context import AppContext, CallerName, Connection, Context
from barograph.server.web.pages.rendering import page_router, render, sparkline
from barograph.server.web.routes.queue import FilterQuery, Offset, VerdictFilter, Who

MEMBERS = 100  # of a group that are shown at once
CUT = 24  # characters of a label in the second line
TITLES = {
    "open": "Unprocessed",
    "investigation": "Under investigation",
    "unsure": "Not sure",
    "withdrawn": "No longer found",
    "any": "All states",
}
EFFECT_WORDS = {"rose": "higher", "fell": "lower"}
CHIPS = {label: label.capitalize() for label in LABELS} | {
    "args": "Argument",
    "hazard": "Hazard",
    "probability": "Probability",
    "since": "Found since",
    "until": "Found until",
    "state": "State",
    "ids": "Chosen",
}
COLUMNS = (  # name, heading and class
    *(("name", "Worst member", ""), ("change", "Change", "num")),
    *(("probability", "Probability", "num"), ("hazard", "Hazard", "num c-hide")),
    *(("series", "Series", "num c-hide"), ("age", "Age", "num c-hide")),
)
EXAMPLE = (
    '{"project": "demo", "test": "insert", "measurement": "ops_per_sec",\n'
    '       "commit": "4c1e9d7", "value": 41210, "unit": "ops/s"}'
)
After = Annotated[str, Query(pattern=r"^([0-9.e+-]{1,30}:\d{1,18})?$")]

routes = page_router()


@routes.get("/")
def get_queue(
    connection: Connection,
    request: Request,
    context: Context,
    queue_filter: FilterQuery,
    caller: CallerName,
) -> Response:
    """Answer the first page of the queue."""
    if not find_series(connection, limit=1):
        return _empty_page(request, context)
    page = open_groups(connection, queue_filter)
    filters = saved_filters.every_filter(connection)
    left = seconds_left(connection, caller, page.total)
    query = query_of(queue_filter)
    hidden = (f"{count} {kind.replace('_', ' ')}" for kind, count in page.hidden.items())
    return render(
        request,
        "queue.html",
        active="queue",
        page=page,
        views=_views(connection, page, queue_filter),
        queue_filter=queue_filter,
        title=TITLES["any" if queue_filter.ids else queue_filter.state],
        chips=_chips(queue_filter),
        columns=COLUMNS,
        hidden=", ".join(hidden),
        saved=filters,
        current=next((saved.name for saved in filters if saved.query == query), ""),
        link=lambda **changes: link(queue_filter, changes),
        query=query,
        minutes=None if left is None else math.ceil(left / 60),
        flat=_is_flat(queue_filter),
        is_judged=page.total > 0 or any(processed(connection, limit=1).counts.values()),
    )


@routes.get("/queue/rows")
def get_rows(
    connection: Connection, request: Request, queue_filter: FilterQuery, offset: Offset = 0
) -> Response:
    """Answer the rows of a further page."""
    page = open_groups(connection, queue_filter, offset=offset)
    views = _views(connection, page, queue_filter)
    return render(request, "queue_rows.html", views=views, flat=_is_flat(queue_filter))


@routes.get("/queue/members")
def get_members(
    connection: Connection,
    request: Request,
    queue_filter: FilterQuery,
    of: Offset,
    after: After = "",
) -> Response:
    """Answer the members of the group that a candidate is in.

    `after` is where the last member stood that the page has: a number of members would be wrong
    as soon as some of them were decided.
    """
    group = get_group(connection, queue_filter, of)
    left = list(group.members)
    if after:
        expected, number = after.split(":")
        left = [member for member in left if member.place > (-float(expected), int(number))]
    rows = rows_of(connection, left[:MEMBERS])
    return render(
        request,
        "queue_members.html",
        rows=rows,
        left=len(left) - len(rows),
        group=group,
        flat=_is_flat(queue_filter),
    )


@routes.get("/processed")
def get_processed(
    connection: Connection,
    request: Request,
    queue_filter: FilterQuery,
    verdict: VerdictFilter = "",
    who: Who = "",
    offset: Offset = 0,
) -> Response:
    """Answer the candidates that have a verdict, the latest first."""
    kind = Verdict(verdict) if verdict else None
    page = processed(connection, queue_filter, kind, who=who, offset=offset)
    rows = rows_of(connection, [decided.entry for decided in page.entries], with_project=True)
    query = query_of(queue_filter)

    def link(**changed: object) -> str:
        fields = {"verdict": verdict, "who": who, **changed}
        known = urlencode({name: value for name, value in fields.items() if value})
        return f"/processed?{known}&{query}".rstrip("&")

    return render(
        request,
        "processed.html",
        active="processed",
        pairs=list(zip(page.entries, rows, strict=True)),
        counts=page.counts,
        verdict=verdict,
        who=who,
        queue_filter=queue_filter,
        link=link,
        following=offset + PAGE if page.more else None,
        offset=offset,
        page_size=PAGE,
    )


def _is_flat(queue_filter: QueueFilter) -> bool:
    """Return whether the order tears the groups of a commit apart."""
    return queue_filter.sort.removeprefix("-") not in SECTIONED


def query_of(queue_filter: QueueFilter) -> str:
    """Return a filter as the query of an address."""
    fields = queue_filter.changed()
    if queue_filter.ids:
        fields["ids"] = ",".join(map(str, queue_filter.ids))
    return urlencode(fields, doseq=True)


def link(queue_filter: QueueFilter, changes: Mapping[str, Any]) -> str:
    """Return the address of the queue with some fields of the filter changed."""
    query = query_of(replace(queue_filter, **changes))
    return f"/?{query}" if query else "/"


def _views(
    connection: Connection, page: QueuePage, queue_filter: QueueFilter
) -> list[dict[str, Any]]:
    """Return groups, each with its worst member, and a heading if it is the first of a commit."""
    flat = _is_flat(queue_filter)
    rows = rows_of(connection, [group.worst for group in page.groups], with_project=flat)
    views, previous = [], page.previous and (page.previous.project, page.previous.order)
    for group, row in zip(page.groups, rows, strict=True):
        place = group.project, group.order
        # Numbers and versions of the members: a template would be slow with thousands.
        points = " ".join(f"{member.id}:{member.version}" for member in group.members)
        views.append(
            {
                "group": group,
                "row": row,
                "heading": place != previous and not flat,
                "suspects": page.ranges[group.project, group.last_before, group.order],
                "details": page.details[group.project, group.commit],
                "points": points,
            }
        )
        previous = place
    return views


def rows_of(
    connection: Connection, entries: Sequence[QueueEntry], *, with_project: bool = False
) -> list[dict[str, Any]]:
    """Return candidates as rows, with the results around them."""
    plots = traces(connection, [entry.id for entry in entries])
    return [_row(entry, plots.get(entry.id), with_project=with_project) for entry in entries]


def _row(entry: QueueEntry, trace: Trace | None, *, with_project: bool) -> dict[str, Any]:
    identity = entry.identity
    labels = [identity.variant, identity.task, identity.measurement]
    if with_project:  # the heading of a group has it
        labels.insert(0, identity.project)
    size = trace.levels.size if trace and trace.levels else None
    return {
        "entry": entry,
        "spark": sparkline(trace),
        "percent": size and size.percent,
        # The class of its colour.
        "tone": entry.effect if entry.effect in (WORSE, BETTER, TREND) else CHANGED,
        "word": EFFECT_WORDS.get(entry.effect, entry.effect),
        # The second line: labels, which narrow windows cut, and arguments, often all that tells
        # two rows apart.
        "detail": _joined(labels),
        "args": _joined([f"{name} {value}" for name, value in identity.args]),
    }


def _joined(parts: Sequence[str]) -> str:
    return " · ".join(wording.middle_cut(wording.printable(part), CUT) for part in parts if part)


def _chips(queue_filter: QueueFilter) -> list[tuple[str, str, str, str]]:
    """Return label, value and the address without it for each filter that is set."""
    changed, default = queue_filter.changed(), QueueFilter()
    texts = {
        "hazard": f"≥ {queue_filter.hazard}",
        "probability": f"≥ {queue_filter.probability}",
        "ids": wording.plural(len(queue_filter.ids), "change point"),
        "state": TITLES[queue_filter.state].lower(),
    }
    chips = []
    for name, label in CHIPS.items():
        if name in changed:
            text = texts.get(name, str(changed[name]))
            chips.append((name, label, text, link(queue_filter, {name: getattr(default, name)})))
    return chips


def _empty_page(request: Request, context: AppContext) -> Response:
    """Return the first page; its commands hold the address that this page was asked for at."""
    url = "" if context.worker is None else context.worker.config.url
    store = "" if "://" in url else url  # the location of a database may hold a password
    needs_token = request.state.caller is not LOCAL  # who needs no token is this machine
    where = f" --store {shlex.quote(store)}" if store and not needs_token else ""
    token = '  -H "Authorization: Bearer $BAROGRAPH_TOKEN" \\\n' if needs_token else ""
    address = shlex.quote(f"{request.url.scheme}://{request.url.netloc}/api/v1/points")
    send = f"curl {address} \\\n{token}  -H \"Content-Type: application/json\" \\\n  -d '{EXAMPLE}'"
    return render(
        request,
        "empty.html",
        active="queue",
        import_command=f"barograph import results.csv{where}",
        send_command=send,
        demo_command="barograph serve --demo --port 8001",
        needs_token=needs_token,
    )
