"""The life of a series: rename it, merge it into another one, retire it, or delete it.

A name that a series had before stays known: results that arrive under it go to the series.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from barograph.results.series import Direction, SeriesId
from barograph.results.units import conversion
from barograph.runtime.errors import DataError
from barograph.server.store import audit
from barograph.server.store.database import count_rows, insert
from barograph.server.store.measurement import Limits, Measurement, series_fault
from barograph.server.store.reading import StoredSeries, get_series
from barograph.server.store.schema import (
    aliases,
    candidates,
    clusters,
    commit_details,
    commits,
    metadata,
    moves,
    points,
    revisions,
    series,
    ticketed,
    verdicts,
)


@dataclass(frozen=True)
class DeletedSeries:
    """What was deleted with a series."""

    points: int
    candidates: int
    verdicts: int


def rename(
    connection: sa.Connection, number: int, name: SeriesId, who: str, limits: Limits | None = None
) -> StoredSeries:
    """Give a series another identity; results under its former ones still go to it.

    Args:
        connection: From `Store.write`.
        number: Number of the series.
        name: The new identity.
        who: Name for the audit trail.
        limits: What a name may contain.

    Raises:
        DataError: There is no such series, or the name is invalid or taken.
    """
    old = get_series(connection, number)
    if old.name == name:
        return old
    if reason := series_fault(name, limits or Limits()):
        raise DataError(reason)
    if old.name.test and not name.test:
        raise DataError(f"series {number}: the new test is empty; leave it out to keep it")
    taken = connection.scalar(sa.select(series.c.id).where(series.c.digest == name.digest))
    if taken is not None:
        raise DataError(f"series {taken} has the name {str(name)!r:.200}; merge the two instead")
    owner = connection.scalar(sa.select(aliases.c.series).where(aliases.c.digest == name.digest))
    if owner is not None and owner != number:
        raise DataError(f"{str(name)!r:.200} is a former name of series {owner}")
    connection.execute(sa.delete(aliases).where(aliases.c.digest == name.digest))
    row = {"digest": name.digest, **name.labels, "args": name.args_json}
    connection.execute(sa.update(series).where(series.c.id == number).values(row))
    connection.execute(sa.insert(aliases), {"digest": old.name.digest, "series": number})
    _copy_commits(connection, number, old.name.project, name.project)
    _note(connection, who, "rename", number, before=str(old.name), after=str(name))
    return get_series(connection, number)


def retire(
    connection: sa.Connection, number: int, who: str, *, retired: bool = True
) -> StoredSeries:
    """Retire a series that is no longer measured, or bring it back, and return it.

    A retired series raises no alarm for its silence; its points and verdicts are kept. A series
    that is retired already keeps its time, and the audit trail notes nothing.

    Raises:
        NotFoundError: There is no such series.
    """
    known = get_series(connection, number)
    if (known.retired is not None) == retired:
        return known
    timestamp = audit.now() if retired else None
    connection.execute(sa.update(series).where(series.c.id == number).values(retired=timestamp))
    _note(connection, who, "retire" if retired else "bring back", number)
    return known._replace(retired=timestamp)


def delete(
    connection: sa.Connection, number: int, who: str, *, with_verdicts: bool = False
) -> DeletedSeries:
    """Delete a series with its points, decisions, candidates and former names.

    Args:
        connection: From `Store.write`.
        number: Number of the series.
        who: Name for the audit trail.
        with_verdicts: Whether to delete verdicts, too.

    Raises:
        DataError: There is no such series, or it has verdicts that must not be deleted.
    """
    name = get_series(connection, number).name
    of_series = sa.select(candidates.c.id).where(candidates.c.series == number)
    deleted = DeletedSeries(
        count_rows(connection, points, points.c.series == number),
        count_rows(connection, candidates, candidates.c.series == number),
        count_rows(connection, verdicts, verdicts.c.candidate.in_(of_series)),
    )
    if deleted.verdicts and not with_verdicts:
        raise DataError(
            f"series {number} has {deleted.verdicts} verdicts, which train models; retire it, or "
            "delete it with its verdicts"
        )
    _remove(connection, number)
    _note(connection, who, "delete", number, name=str(name), **asdict(deleted))
    return deleted


def take_out(connection: sa.Connection, source: int, target: int, who: str) -> list[Measurement]:
    """Move everything but the points of one series to another, and delete the first.

    Args:
        connection: From `Store.write`.
        source: Number of the series to merge.
        target: Number of the series to merge it into.
        who: Name for the audit trail.

    Returns:
        The results of the deleted series, superseded values first, under the name of the other one.

    Raises:
        DataError: One of them does not exist, they are the same, or they do not fit together.
    """
    if source == target:
        raise DataError(f"series {source} cannot be merged with itself")
    old, new = get_series(connection, source), get_series(connection, target)
    if old.direction != new.direction and Direction.UNKNOWN not in (old.direction, new.direction):
        raise DataError(f"series {source} and {target} differ in which direction is better")
    if old.unit and new.unit and conversion(old.unit, new.unit) != 1.0:
        raise DataError(
            f"the values of series {source} are in {old.unit!r}, those of {target} in {new.unit!r}"
        )
    p, r = points.c, revisions.c
    same = r.series == p.series, r.order == p.order, r.run == p.run
    superseded = sa.select(r.value, r.order, p.commit, r.run, r.time).where(*same)
    current = sa.select(p.value, p.order, p.commit, p.run, p.time)
    direction = old.direction or new.direction
    results = [
        Measurement(new.name, *row, direction, old.unit)
        for query in (superseded, current)
        for row in connection.execute(query.where(p.series == source))
    ]
    _copy_commits(connection, source, old.name.project, new.name.project)
    _join_candidates(connection, source, target)
    of_source = aliases.c.series == source
    connection.execute(sa.update(aliases).where(of_source).values(series=target))
    _remove(connection, source)
    connection.execute(sa.insert(aliases), {"digest": old.name.digest, "series": target})
    _note(connection, who, "merge", source, name=str(old.name), into=target, points=len(results))
    return results


def _join_candidates(connection: sa.Connection, source: int, target: int) -> None:
    """Give the candidates of a series to another one; two at the same order become one."""
    c, t = candidates.c, ticketed.c
    columns = sa.select(c.id, c.order, c.version, c.triaged_on)
    by_order = {row.order: row for row in connection.execute(columns.where(c.series == target))}
    for row in connection.execute(columns.where(c.series == source)).all():
        if row.order not in by_order:
            continue
        both = row, by_order[row.order]
        dropped, kept = sorted(both, key=lambda candidate: candidate.triaged_on or 0)
        for table in (verdicts, moves):
            of_dropped = table.c.candidate == dropped.id
            connection.execute(sa.update(table).where(of_dropped).values(candidate=kept.id))
        about = sa.select(t.ticket, sa.literal(kept.id)).where(t.candidate == dropped.id)
        copies = insert(connection, ticketed).from_select(["ticket", "candidate"], about)
        connection.execute(copies.on_conflict_do_nothing())
        connection.execute(sa.delete(ticketed).where(t.candidate == dropped.id))
        connection.execute(sa.delete(candidates).where(c.id == dropped.id))
        version = kept.version + dropped.version
        connection.execute(sa.update(candidates).where(c.id == kept.id).values(version=version))
    connection.execute(sa.update(candidates).where(c.series == source).values(series=target))


def _remove(connection: sa.Connection, number: int) -> None:
    """Delete every row of a series, and take it out of the clusters that it is in."""
    of_series = sa.select(candidates.c.id).where(candidates.c.series == number)
    for owner, numbers in ((candidates.c.id, of_series), (series.c.id, [number])):
        for table in reversed(metadata.sorted_tables):
            for column in (column for column in table.columns if column.references(owner)):
                connection.execute(sa.delete(table).where(column.in_(numbers)))
    k = clusters.c
    for cluster, text in connection.execute(sa.select(k.id, k.members)).all():
        members = json.loads(text)
        if number in members:
            left = json.dumps([member for member in members if member != number])
            connection.execute(sa.update(clusters).where(k.id == cluster).values(members=left))
    connection.execute(sa.delete(clusters).where(k.members == "[]"))
    connection.execute(sa.delete(series).where(series.c.id == number))


def _copy_commits(connection: sa.Connection, number: int, former: str, project: str) -> None:
    """Make the commits of a series known in another project, where they are not."""
    p, d = points.c, commit_details.c
    of_series = p.series == number, p.commit != ""
    orders = sa.select(sa.literal(project), p.commit, p.order).where(*of_series).distinct()
    texts = [column for column in d if column.name != "project"]
    is_measured = d.commit.in_(sa.select(p.commit).where(*of_series))
    known = sa.select(sa.literal(project), *texts).where(d.project == former, is_measured)
    for table, query in ((commits, orders), (commit_details, known)):
        names = ["project", *query.selected_columns.keys()[1:]]
        copies = insert(connection, table).from_select(names, query)
        connection.execute(copies.on_conflict_do_nothing())


def _note(connection: sa.Connection, who: str, action: str, number: int, **detail: object) -> None:
    audit.note(connection, audit.now(), who, f"{action} series", f"series {number}", **detail)
