"""New points at the ends of their series: the rows of a transaction, each where it belongs."""

import sqlalchemy as sa

from barograph.store.rows import Row
from barograph.store.shelf import EVERY, has_turn, lies_apart, shelve
from barograph.store.upsert import NEW_POINT, NEWEST_POINT


class Landing:
    """Gathers rows; those of a series whose turn has come go beside its others at once."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._apart = lies_apart(connection)
        self._turns: list[int] = []
        self._beside: list[Row] = []
        self._newest: list[Row] = []

    def rows_of(self, series: int, before: int, count: int) -> list[Row]:
        """Where to put the rows of a series that has `before` points and gets `count` more."""
        if not self._apart:
            return self._beside
        if has_turn(series, before, before + count, EVERY):
            self._turns.append(series)
            return self._beside
        return self._newest

    def write(self) -> None:
        """Write them all, those that landed before first."""
        shelve(self._connection, self._turns)
        NEW_POINT.into(self._connection, self._beside)
        NEWEST_POINT.into(self._connection, self._newest)
