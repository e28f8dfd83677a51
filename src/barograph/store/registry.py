"""Numbers of series and places of commits, looked up once and remembered."""

from collections.abc import Iterable

import sqlalchemy as sa

from barograph.series import Direction, SeriesId
from barograph.store.database import insert
from barograph.store.schema import commits, series

Known = tuple[int, Direction]  # the number of a series, and which way is better
REMEMBERED = 200_000  # names of each kind; beyond this all are forgotten and looked up again
CHUNK = 500  # names in one question


class Registry:
    """What the store calls a series, and where a commit stands in its project."""

    def __init__(self) -> None:
        self._series: dict[SeriesId, Known] = {}
        self._commits: dict[tuple[str, str], int] = {}

    def clear(self) -> None:
        """Forget everything."""
        self._series.clear()
        self._commits.clear()

    def trim(self) -> None:
        """Forget the series where there are too many; not between two questions of one batch."""
        if len(self._series) > REMEMBERED:
            self._series.clear()

    def known(self, names: Iterable[SeriesId]) -> list[Known | None]:
        """Return the number and the direction of each series, None where it was not looked up."""
        return list(map(self._series.get, names))

    def look_up(self, connection: sa.Connection, wanted: Iterable[SeriesId]) -> None:
        """Remember those of the series that the store has."""
        by_digest = {one.digest: one for one in wanted if one not in self._series}
        digests = list(by_digest)
        for first in range(0, len(digests), CHUNK):
            found = sa.select(series.c.digest, series.c.id, series.c.direction)
            some = digests[first : first + CHUNK]
            for digest, number, direction in connection.execute(
                found.where(series.c.digest.in_(some))
            ):
                self._series[by_digest[bytes(digest)]] = (number, Direction(direction))

    def preload(self, connection: sa.Connection, behind: int, count: int) -> list[int]:
        """Remember the series whose numbers follow one; return their numbers."""
        if len(self._series) + count > REMEMBERED:
            return []
        following = sa.select(series).where(series.c.id > behind).order_by(series.c.id)
        rows = connection.execute(following.limit(count)).all()
        for row in rows:
            self._series[series_id(row)] = (row.id, Direction(row.direction))
        return [row.id for row in rows]

    def add(self, connection: sa.Connection, new: dict[SeriesId, Direction]) -> None:
        """Make series that the store does not have."""
        if not new:
            return
        rows = [{**_row(one), "direction": int(direction)} for one, direction in new.items()]
        connection.execute(sa.insert(series), rows)
        self.look_up(connection, new)

    def direct(self, connection: sa.Connection, one: SeriesId, direction: Direction) -> None:
        """Note which way is better for a series of which nobody said so before."""
        number, _ = self._series[one]
        connection.execute(
            sa.update(series).where(series.c.id == number).values(direction=int(direction))
        )
        self._series[one] = (number, direction)

    def order_of(self, connection: sa.Connection, project: str, commit: str) -> int | None:
        """Return the place of a commit in its project, if it has one yet."""
        known = self._commits.get((project, commit))
        if known is None:
            table = sa.select(commits.c.order)
            where = (commits.c.project == project, commits.c.commit == commit)
            known = connection.scalar(table.where(*where))
            if known is not None:
                self._remember(project, commit, known)
        return known

    def next_order(self, connection: sa.Connection, project: str) -> int:
        """Return the place behind every commit of a project."""
        last = connection.scalar(
            sa.select(sa.func.max(commits.c.order)).where(commits.c.project == project)
        )
        return 0 if last is None else last + 1

    def place(self, connection: sa.Connection, places: dict[tuple[str, str], int]) -> None:
        """Note where commits stand; one that has a place keeps it."""
        new = {name: order for name, order in places.items() if name not in self._commits}
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

    def _remember(self, project: str, commit: str, order: int) -> None:
        if len(self._commits) > REMEMBERED:
            self._commits.clear()
        self._commits[project, commit] = order


def _row(series: SeriesId) -> dict[str, object]:
    return {"digest": series.digest, **series.labels, "args": series.args_json}


def series_id(row: sa.Row[tuple[object, ...]]) -> SeriesId:
    """Return the identity in a row of the table."""
    return SeriesId.from_row(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name for it
