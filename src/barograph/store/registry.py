"""Numbers of series and orders of commits, looked up once and cached."""

from collections.abc import Iterable

import sqlalchemy as sa

from barograph.series import Direction, SeriesId
from barograph.store.database import insert, renew_revision
from barograph.store.measurement import Measurement
from barograph.store.schema import aliases, commits, series

Known = tuple[int, Direction]  # number and direction of a series
CACHED = 200_000  # names of each kind; beyond this the cache is emptied
CHUNK = 500  # names in one query
ORDER_OF = sa.select(commits.c.order).where(
    commits.c.project == sa.bindparam("project"), commits.c.commit == sa.bindparam("commit")
)


class Registry:
    """The numbers of series, and the orders of commits in their projects."""

    def __init__(self) -> None:
        self._series: dict[SeriesId, Known] = {}
        self._commits: dict[tuple[str, str], int] = {}

    def clear(self) -> None:
        """Empty the cache."""
        self._series.clear()
        self._commits.clear()

    def trim(self) -> None:
        """Empty the cache of series if it is too large; call it only between batches."""
        if len(self._series) > CACHED:
            self._series.clear()

    def known(self, names: Iterable[SeriesId]) -> list[Known | None]:
        """Return number and direction of each series, None if it is not cached."""
        return list(map(self._series.get, names))

    def number(self, name: SeriesId) -> int:
        """Return the number of a cached series."""
        return self._series[name][0]

    def look_up(self, connection: sa.Connection, names: Iterable[SeriesId]) -> None:
        """Cache those of the series that the store has."""
        by_digest = {name.digest: name for name in names if name not in self._series}
        digests = list(by_digest)
        for first in range(0, len(digests), CHUNK):
            chunk = series.c.digest.in_(digests[first : first + CHUNK])
            query = sa.select(series.c.digest, series.c.id, series.c.direction).where(chunk)
            renamed = (
                sa.select(aliases.c.digest, series.c.id, series.c.direction)
                .join(series, series.c.id == aliases.c.series)
                .where(aliases.c.digest.in_(digests[first : first + CHUNK]))
            )
            for digest, number, direction in connection.execute(sa.union_all(query, renamed)):
                self._series[by_digest[bytes(digest)]] = (number, Direction(direction))

    def preload(self, connection: sa.Connection, after: int, count: int) -> list[int]:
        """Cache the series whose numbers follow one; return their numbers."""
        if len(self._series) + count > CACHED:
            return []
        query = sa.select(series).where(series.c.id > after).order_by(series.c.id)
        rows = connection.execute(query.limit(count)).all()
        for row in rows:
            self._series[series_id(row)] = (row.id, Direction(row.direction))
        return [row.id for row in rows]

    def add(self, connection: sa.Connection, new: dict[SeriesId, Direction]) -> None:
        """Create series that the store does not have."""
        if not new:
            return
        rows = [{**_row(name), "direction": int(direction)} for name, direction in new.items()]
        connection.execute(sa.insert(series), rows)
        self.look_up(connection, new)

    def add_direction(self, connection: sa.Connection, measurement: Measurement) -> Direction:
        """Store the direction of a measurement if its series has none; return the stored one."""
        name, new = measurement.series, measurement.direction
        number, direction = self._series[name]
        if direction is not Direction.UNKNOWN:
            return direction
        query = sa.update(series).where(series.c.id == number).values(direction=int(new))
        connection.execute(query)
        renew_revision(connection)
        self._series[name] = (number, new)
        return new

    def order_of(self, connection: sa.Connection, project: str, commit: str) -> int | None:
        """Return the order of a commit in its project, if it has one."""
        known = self._commits.get((project, commit))
        if known is None:
            known = connection.scalar(ORDER_OF, {"project": project, "commit": commit})
            if known is not None:
                if len(self._commits) > CACHED:
                    self._commits.clear()
                self._commits[project, commit] = known
        return known

    def next_order(self, connection: sa.Connection, project: str) -> int:
        """Return the order after all commits of a project."""
        last = connection.scalar(
            sa.select(sa.func.max(commits.c.order)).where(commits.c.project == project)
        )
        return 0 if last is None else last + 1

    def add_commits(self, connection: sa.Connection, orders: dict[tuple[str, str], int]) -> None:
        """Store the orders of commits, by project and commit; an order that is stored stays."""
        new = {name: order for name, order in orders.items() if name not in self._commits}
        if not new:
            return
        connection.execute(
            insert(connection, commits).on_conflict_do_nothing(),
            [
                {"project": project, "commit": commit, "order": order}
                for (project, commit), order in new.items()
            ],
        )
        for project, commit in new:
            self.order_of(connection, project, commit)


def _row(name: SeriesId) -> dict[str, object]:
    return {"digest": name.digest, **name.labels, "args": name.args_json}


def series_id(row: sa.Row[tuple[object, ...]]) -> SeriesId:
    """Return the identity in a row of the table."""
    return SeriesId.from_row(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name for it
