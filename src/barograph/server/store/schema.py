"""Every table of the store, and what brings those of an older version up to date.

Times are whole milliseconds since 1970 (UTC); the time of a measurement is null if unknown. Text
that sorts does so by its bytes on every database, so that a series has the same order everywhere.
Older stores get a new column if it may be null or has a default of the database: see `complete`.
"""

import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn

from barograph.results.series import LABELS
from barograph.runtime.errors import StoreError

Bytewise = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
# SQLite assigns row numbers only if the type of the key is INTEGER.
Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

VERSION = "places"  # of the tables in an archive
NEARBY = 6  # results on each side of a candidate whose orders are stored with it

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

_Kind = Callable[..., sa.Column[Any]]
_text: _Kind = partial(sa.Column, type_=sa.Text, nullable=False)
_bytewise: _Kind = partial(sa.Column, type_=Bytewise, nullable=False)
_binary: _Kind = partial(sa.Column, type_=sa.LargeBinary, nullable=False)
_bool: _Kind = partial(sa.Column, type_=sa.Boolean, nullable=False)
_small: _Kind = partial(sa.Column, type_=sa.SmallInteger, nullable=False)
_count: _Kind = partial(sa.Column, type_=sa.Integer, nullable=False)
_whole: _Kind = partial(sa.Column, type_=sa.BigInteger, nullable=False, autoincrement=False)
_time = _whole
_serial: _Kind = partial(sa.Column, "id", Serial, primary_key=True, autoincrement=True)
_real: _Kind = partial(sa.Column, type_=sa.Double, nullable=False)


def _table(name: str, *columns: Any, **options: Any) -> sa.Table:
    return sa.Table(name, metadata, *columns, **options)


def _row_of(table: str, name: str = "", **facts: Any) -> sa.Column[int]:
    """Return a reference to a row of another table."""
    return _whole(name or table, sa.ForeignKey(f"{table}.id"), **facts)


# The key of a table with one row for each series; SQLite needs no index for it.
_only_series: _Kind = partial(_row_of, "series", primary_key=True, type_=Serial)


def _place() -> tuple[sa.Column[Any], ...]:
    """Return the key of a point: its series, the order there, and the run."""
    owner = _row_of("series", primary_key=True)
    return owner, _whole("order", primary_key=True), _bytewise("run", primary_key=True)


# `database.revision` describes `revision`.
state = _table("state", _count("id", primary_key=True, autoincrement=False), _text("revision"))

series = _table(
    "series",
    _serial(),
    _binary("digest", unique=True),
    *map(_text, (*LABELS, "unit")),  # no unit is an empty text
    _text("args"),  # a JSON object, sorted by name
    _small("direction"),
    _time("retired", nullable=True),  # since when it is no longer measured
    sa.Index(None, "project", "test"),
    sqlite_autoincrement=True,  # the number of a deleted series is never used again
)

# Former identities of series that were renamed or merged: results under them go to the series.
aliases = _table("aliases", _binary("digest", primary_key=True), _row_of("series"))

# The order of each commit in its project, for points that give a commit but no order.
commits = _table(
    "commits",
    *(_text(name, primary_key=True) for name in ("project", "commit")),
    _whole("order"),
    sa.Index(None, "project", "order"),
    sqlite_with_rowid=False,
)

# What people know a commit by, if the sender of its results said so: see `commit_details`. It may
# come before the first result of the commit, and so has no order. `parent` is the commit before it.
commit_details = _table(
    "commit_details",
    *(_text(name, primary_key=True) for name in ("project", "commit")),
    *map(_text, ("subject", "author", "url")),
    _text("parent", server_default=""),
    sqlite_with_rowid=False,
)

models = _table(
    "models",
    _serial(),
    _text("version"),
    _real("threshold"),
    sa.UniqueConstraint("version", "threshold"),
)

# A result with the decision on its commit: one row, because the cost of a commit is the pages it
# writes. The value that counts for a commit is `settled`, in the row of its first run; the rows of
# further runs (reruns) have none. All of them repeat the decision.
points = _table(
    "points",
    *_place(),
    _text("commit"),
    _time("time", nullable=True),
    _real("value"),
    _time("received"),
    _real("settled", nullable=True),
    # Position of the commit in its series, in the row of its first run; null until it is decided.
    # Deleted commits count, so that retention changes no position.
    _whole("place", nullable=True),
    _small("answer"),  # 0 quiet, 1 suspect, 2 change
    _real("probability"),
    _real("surprise"),  # of the settled value, in nats
    _count("baseline_size"),  # number of commits in Pre
    _count("reruns"),  # number of further runs that are advised
    _whole("known_since", nullable=True),  # order of the standing change
    _row_of("models", "model"),
    _text("reasons", nullable=True),  # earlier versions kept them here
    sqlite_with_rowid=False,
)

# The superseded values of a point, each value once.
revisions = _table(
    "revisions",
    *_place(),
    _real("value", primary_key=True),
    _time("time", nullable=True),
    _time("received"),
    sqlite_with_rowid=False,
)

# What the second look did when a commit arrived: at most one step a commit. `standing` is a
# `place`; with the next columns it is the state of the next look.
steps = _table(
    "steps",
    _row_of("series", primary_key=True),
    _whole("order", primary_key=True),
    _text("kind"),
    _whole("change_order"),
    _whole("from_order", nullable=True),
    _real("probability"),
    _count("standing", nullable=True),  # the standing change point
    _real("score"),  # that it was last called or moved with
    _bool("confirmed"),
    _small("direction"),  # 1 if the level rose, -1 if it fell
    _row_of("models", "model"),
    sqlite_with_rowid=False,
)

# Series whose candidates are older than their points: see `candidate_records`.
touched = _table("touched", _only_series(), _time("version"))

# Series of which the decisions from an order on are still to be made: see `decide`.
unjudged = _table("unjudged", _only_series(), _whole("order"))

candidates = _table(
    "candidates",
    _serial(),
    _row_of("series"),
    _whole("order"),
    _text("commit"),
    _whole("last_before", nullable=True),  # order of the result before `order`
    _text("detector", nullable=True),
    *(_real(name, nullable=True) for name in ("statistic", "pvalue")),
    _count("discovery", nullable=True),  # number in the order of discovery, from 0
    _real("q", nullable=True),  # the energy statistic
    *(_text(name, nullable=True) for name in ("before", "after")),  # the regions, as JSON
    _text("nearby", nullable=True),  # orders of the results around it then, as JSON
    _real("hazard", nullable=True),
    _bool("trend", server_default=sa.false()),  # `Size.is_trend`
    _real("probability", nullable=True),
    _row_of("models", "model", nullable=True),
    _text("verdict"),
    # The number of verdicts so far: a new one names the version that the person saw.
    _whole("version", server_default=sa.text("0")),
    _bool("present"),  # whether the latest run found it
    _time("detected_on", nullable=True),  # for the first time
    *(_time(name, nullable=True) for name in ("calculated_on", "triaged_on")),
    sa.Index(None, "series", "order"),
    sa.Index(None, "verdict", "present", "order"),
    sqlite_autoincrement=True,
)

# What happened to a candidate when its series was searched again: it moved to another commit, was
# not found, or was found again.
moves = _table(
    "moves",
    _serial(),
    _row_of("candidates", "candidate"),
    _text("kind"),  # moved, withdrawn or returned
    *map(_whole, ("from_order", "to_order", "moved")),
    sa.Index(None, "candidate"),
)

# Verdicts that were given, or undone, in one request. The request and the hash of its content
# recognise a request that is sent again.
verdict_batches = _table(
    "verdict_batches",
    _serial(),
    _text("who"),
    _time("time"),
    _text("request", nullable=True),
    _binary("content"),
    _text("refused"),  # JSON
    sa.UniqueConstraint("who", "request"),
)

# Every verdict ever given, each with the state after it.
verdicts = _table(
    "verdicts",
    _serial(),
    _row_of("candidates", "candidate"),
    *map(_text, ("verdict", "who")),
    _time("time"),
    *map(_text, ("note", "reason")),
    _whole("version"),  # of the candidate, with this verdict
    _row_of("verdict_batches", "batch", nullable=True),
    _row_of("verdicts", "undoes", nullable=True),
    # The score that the candidate had when the verdict was given, and the model it is from.
    _real("probability", nullable=True),
    _row_of("models", "model", nullable=True),
    *(sa.Index(None, name) for name in ("candidate", "batch")),
)

# Which series are canaries, of low priority, or informational: globs over printed identities.
patterns = _table("patterns", *(_text(name, primary_key=True) for name in ("kind", "pattern")))

# Filters of the queue that people saved, as the query of its address.
saved_filters = _table(
    "saved_filters", _text("name", primary_key=True), *map(_text, ("query", "who")), _time("saved")
)

clusters = _table(
    "clusters",
    _serial(),
    _text("project"),
    _whole("order"),
    *map(_text, ("members", "centroid")),  # JSON: numbers of series, the nearest first; values
    *map(_real, ("step", "fit", "regression")),
    _text("status"),
    _bool("current"),
    sa.Index(None, "project", "current"),
)

tickets = _table(
    "tickets",
    _serial(),
    _text("key", unique=True),
    *map(_text, ("url", "title", "status")),
    _time("opened"),
)

ticketed = _table(
    "ticketed",
    _row_of("tickets", "ticket", primary_key=True),
    _row_of("candidates", "candidate", primary_key=True),
    sa.Index(None, "candidate"),
)

# Trainings on the verdicts of the store: at most one runs.
retrainings = _table(
    "retrainings",
    _serial(),
    _text("who"),
    _time("started"),
    _time("alive"),  # as `started`; earlier versions noted here that the training runs
    _time("finished", nullable=True),
    _text("state"),  # running, done, failed or cancelled
    _count("verdicts"),  # number of candidates with a final verdict
    _whole("last_verdict"),  # the latest entry that it knew
    *(_text(name, nullable=True) for name in ("result", "released_by")),  # JSON, and a name
    _time("released", nullable=True),
)

# When the newest results of each series came, and what is usual: see `arrivals`.
arrivals = _table(
    "arrivals",
    _only_series(),
    _time("last"),
    _whole("expected", nullable=True),  # milliseconds; null while unknown
    _count("late"),  # of the newest results
    _whole("late_order", nullable=True),
    _time("late_received", nullable=True),
    _whole("suspect_order", nullable=True),
    _count("reruns"),  # that the suspect waits for
)

# How many results were rejected, by day and kind of reason.
rejections = _table(
    "rejections",
    _whole("day", primary_key=True),
    _bytewise("reason", primary_key=True),
    _whole("count"),
    _text("example"),
    _time("last"),
    sqlite_with_rowid=False,
)

tokens = _table(
    "tokens",
    _serial(),
    _text("name", unique=True),
    _binary("hash", unique=True),
    _text("scopes"),  # separated by blanks
    _time("created"),
    _time("revoked", nullable=True),
)

# Sessions of people in a browser: see `tokens`.
sessions = _table(
    "sessions",
    _serial(),
    _binary("hash", unique=True),
    _row_of("tokens", "token"),
    _time("expires"),
)

audit = _table(
    "audit",
    _serial(),
    _time("time"),
    *map(_text, ("who", "action", "subject")),
    _text("detail"),  # JSON
)

COLUMNS = {
    f"{table.name}.{column.name}": column
    for table in metadata.tables.values()
    for column in table.columns
}


def existing_columns(connection: sa.Connection) -> set[str]:
    """Return the columns that the tables of the schema have in the database."""
    found = sa.inspect(connection).get_multi_columns(filter_names=[*metadata.tables])
    return {f"{key[1]}.{column['name']}" for key, columns in found.items() for column in columns}


def complete(connection: sa.Connection) -> None:
    """Create the missing tables, and add the missing columns of the others.

    Raises:
        StoreError: The tables are of a newer version, or of another program.
    """
    existing = existing_columns(connection)
    tables = {name.partition(".")[0] for name in existing}
    lacking = {name: column for name, column in COLUMNS.items() if name not in existing}
    lacking = {n: column for n, column in lacking.items() if column.table.name in tables}
    wrong = {n for n, c in lacking.items() if not (c.nullable or c.server_default is not None)}
    wrong |= existing - COLUMNS.keys() - {"state.writer"}
    if wrong:
        raise StoreError(
            f"the store's tables cannot be brought to this version: {', '.join(sorted(wrong))} "
            "differ; was it used by a newer barograph, or by another program?"
        )
    metadata.create_all(connection)
    if state.name not in tables:
        connection.execute(sa.insert(state), {"id": 1, "revision": uuid.uuid4().hex})
    changes = ["DROP TABLE IF EXISTS blocks"]  # of older versions, a cache
    for column in lacking.values():
        definition = CreateColumn(column).compile(dialect=connection.dialect)
        changes.append(f"ALTER TABLE {column.table} ADD COLUMN {definition}")
    if "state.writer" in existing:
        changes.append("ALTER TABLE state DROP COLUMN writer")
    for change in changes:
        connection.exec_driver_sql(change)
    if "candidates.trend" in lacking:  # the levels were means of segments: search again
        connection.execute(sa.delete(touched))
        every = sa.select(series.c.id, sa.literal(time.time_ns()))
        connection.execute(sa.insert(touched).from_select(["series", "version"], every))
    if "points.place" in lacking:
        _number(connection)


def _number(connection: sa.Connection) -> None:
    """Number the commits of every series."""
    p = points.c
    number = sa.func.row_number().over(partition_by=p.series, order_by=p.order) - 1
    query = sa.select(p.series, p.order, number.label("place")).where(p.settled.is_not(None))
    found = query.subquery().c
    same = p.series == found.series, p.order == found.order, p.settled.is_not(None)
    connection.execute(sa.update(points).where(*same).values(place=found.place))
