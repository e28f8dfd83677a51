"""Give commits of which no file states an order a place in the history of their project."""

from collections.abc import Mapping
from itertools import groupby

import sqlalchemy as sa

from barograph.server.store.database import rows_in
from barograph.server.store.schema import commits

CommitName = tuple[str, str]  # project and name
NEAR = 2**40  # milliseconds, 35 years: orders that are farther apart are not both times


def place_commits(
    connection: sa.Connection, proposed: Mapping[CommitName, tuple[int, bool]]
) -> dict[CommitName, int]:
    """Return the orders of commits, and store those of new ones.

    A commit that its project has keeps its order. A new one gets the proposed order if that is
    after all others. Else it is inserted by its time, or comes after the last if it has none.

    Args:
        connection: From `Store.write`.
        proposed: An order for each commit that fits the other commits here, and whether it is a
            time in milliseconds.
    """
    placed: dict[CommitName, int] = {}
    for project, names in groupby(sorted(proposed), lambda commit: commit[0]):
        c, listed = commits.c, [name for _, name in names]
        query = sa.select(c.commit, c.order).where(c.project == project)
        known = {row.commit: row.order for row in rows_in(connection, query, c.commit, listed)}
        new = sorted((*proposed[project, name], name) for name in listed if name not in known)
        if new:
            known |= _place_new(connection, project, new)
        placed |= {(project, name): order for name, order in known.items()}
    return placed


def _place_new(
    connection: sa.Connection, project: str, new: list[tuple[int, bool, str]]
) -> dict[str, int]:
    """Store and return the orders of new commits: (proposal, whether it is a time, name)."""
    c = commits.c
    orders = sa.select(c.order).where(c.project == project).order_by(c.order.desc())
    last = connection.scalar(orders.limit(1))
    following = new[0][0] if last is None else last + 1
    taken = set(connection.scalars(orders.where(c.order >= new[0][0])))
    placed = {}
    for proposal, is_time, name in new:
        is_between = is_time and following - proposal < NEAR
        order = proposal if is_between else max(proposal, following)
        while order in taken:
            order += 1
        taken.add(order)
        placed[name] = order
        following = max(following, order + 1)
    rows = [{"project": project, "commit": n, "order": order} for n, order in placed.items()]
    connection.execute(sa.insert(commits), rows)
    return placed
