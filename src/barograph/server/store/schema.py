"""Every table of the store.

Times are whole milliseconds since 1970 (UTC); the time of a measurement is null if unknown. Text
that sorts does so by its bytes on every database, so that a series has the same order everywhere.
Older stores get a new column if it may be null or has a default of the database: see `tables`.
"""

from typing import Any

import sqlalchemy as sa

from barograph.results.series import LABELS

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


def _serial() -> sa.Column[int]:
    return sa.Column("id", Serial, primary_key=True, autoincrement=True)


def _series(*, key: bool = True) -> sa.Column[int]:
    owner = sa.ForeignKey("series.id")
    return sa.Column("series", sa.BigInteger, owner, primary_key=key, nullable=False)


def _only_series() -> sa.Column[int]:
    """Return the key of a table with one row for each series; SQLite needs no index for it."""
    owner = sa.ForeignKey("series.id")
    return sa.Column("series", Serial, owner, primary_key=True, autoincrement=False)


def _place() -> tuple[sa.Column[Any], ...]:
    """Return the key of a point: its series, the order there, and the run."""
    return (
        _series(),
        sa.Column("order", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("run", Bytewise, primary_key=True),
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _time(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=nullable)


# `database.revision` describes `revision`.
state = sa.Table(
    "state",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    _text("revision"),
)

series = sa.Table(
    "series",
    metadata,
    _serial(),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    *map(_text, (*LABELS, "unit")),  # no unit is an empty text
    _text("args"),  # a JSON object, sorted by name
    sa.Column("direction", sa.SmallInteger, nullable=False),
    _time("retired", nullable=True),  # since when it is no longer measured
    sa.Index(None, "project", "test"),
    sqlite_autoincrement=True,  # the number of a deleted series is never used again
)

# Former identities of series that were renamed or merged: results under them go to the series.
aliases = sa.Table(
    "aliases", metadata, sa.Column("digest", sa.LargeBinary, primary_key=True), _series(key=False)
)

# The order of each commit in its project, for points that give a commit but no order.
commits = sa.Table(
    "commits",
    metadata,
    sa.Column("project", sa.Text, primary_key=True),
    sa.Column("commit", sa.Text, primary_key=True),
    sa.Column("order", sa.BigInteger, nullable=False),
    sa.Index(None, "project", "order"),
    sqlite_with_rowid=False,
)

# What people know a commit by, if the sender of its results said so: see `commit_details`. It may
# come before the first result of the commit, and so has no order. `parent` is the commit before it.
commit_details = sa.Table(
    "commit_details",
    metadata,
    sa.Column("project", sa.Text, primary_key=True),
    sa.Column("commit", sa.Text, primary_key=True),
    *map(_text, ("subject", "author", "url")),
    sa.Column("parent", sa.Text, nullable=False, server_default=""),
    sqlite_with_rowid=False,
)

models = sa.Table(
    "models",
    metadata,
    _serial(),
    _text("version"),
    sa.Column("threshold", sa.Double, nullable=False),
    sa.UniqueConstraint("version", "threshold"),
)

# A result with the decision on its commit: one row, because the cost of a commit is the pages it
# writes. The value that counts for a commit is `settled`, in the row of its first run; the rows of
# further runs (reruns) have none. All of them repeat the decision.
points = sa.Table(
    "points",
    metadata,
    *_place(),
    _text("commit"),
    _time("time", nullable=True),
    sa.Column("value", sa.Double, nullable=False),
    _time("received"),
    sa.Column("settled", sa.Double, nullable=True),
    # Position of the commit in its series, in the row of its first run; null until it is decided.
    # Deleted commits count, so that retention changes no position.
    sa.Column("place", sa.BigInteger, nullable=True),
    sa.Column("answer", sa.SmallInteger, nullable=False),  # 0 quiet, 1 suspect, 2 change
    sa.Column("probability", sa.Double, nullable=False),
    sa.Column("surprise", sa.Double, nullable=False),  # of the settled value, in nats
    sa.Column("baseline_size", sa.Integer, nullable=False),  # number of commits in Pre
    sa.Column("reruns", sa.Integer, nullable=False),  # number of further runs that are advised
    sa.Column("known_since", sa.BigInteger, nullable=True),  # order of the standing change
    sa.Column("model", sa.BigInteger, sa.ForeignKey("models.id"), nullable=False),
    sa.Column("reasons", sa.Text, nullable=True),  # JSON; null until they are requested
    sqlite_with_rowid=False,
)

# The superseded values of a point, each value once.
revisions = sa.Table(
    "revisions",
    metadata,
    *_place(),
    sa.Column("value", sa.Double, primary_key=True),
    _time("time", nullable=True),
    _time("received"),
    sqlite_with_rowid=False,
)

# What the second look did when a commit arrived: at most one step a commit. `standing` is a
# `place`; with the next columns it is the state of the next look.
steps = sa.Table(
    "steps",
    metadata,
    _series(),
    sa.Column("order", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("kind"),
    sa.Column("change_order", sa.BigInteger, nullable=False),
    sa.Column("from_order", sa.BigInteger, nullable=True),
    sa.Column("probability", sa.Double, nullable=False),
    sa.Column("standing", sa.Integer, nullable=True),  # the standing change point
    sa.Column("score", sa.Double, nullable=False),  # that it was last called or moved with
    sa.Column("confirmed", sa.Boolean, nullable=False),
    sa.Column("direction", sa.SmallInteger, nullable=False),  # 1 if the level rose, -1 if it fell
    sa.Column("model", sa.BigInteger, sa.ForeignKey("models.id"), nullable=False),
    sqlite_with_rowid=False,
)

# Series whose candidates are older than their points: see `candidate_records`.
touched = sa.Table("touched", metadata, _only_series(), _time("version"))

# Series of which the decisions from an order on are still to be made: see `decide`.
unjudged = sa.Table(
    "unjudged", metadata, _only_series(), sa.Column("order", sa.BigInteger, nullable=False)
)

candidates = sa.Table(
    "candidates",
    metadata,
    _serial(),
    _series(key=False),
    sa.Column("order", sa.BigInteger, nullable=False),
    _text("commit"),
    sa.Column("last_before", sa.BigInteger, nullable=True),  # order of the result before `order`
    sa.Column("detector", sa.Text, nullable=True),
    sa.Column("statistic", sa.Double, nullable=True),
    sa.Column("pvalue", sa.Double, nullable=True),
    sa.Column("discovery", sa.Integer, nullable=True),  # number in the order of discovery, from 0
    sa.Column("q", sa.Double, nullable=True),  # the energy statistic
    sa.Column("before", sa.Text, nullable=True),  # the region, as JSON
    sa.Column("after", sa.Text, nullable=True),
    sa.Column("nearby", sa.Text, nullable=True),  # orders of the results around it then, as JSON
    sa.Column("hazard", sa.Double, nullable=True),
    sa.Column("trend", sa.Boolean, nullable=False, server_default=sa.false()),  # `Size.is_trend`
    sa.Column("probability", sa.Double, nullable=True),
    sa.Column("model", sa.BigInteger, sa.ForeignKey("models.id"), nullable=True),
    _text("verdict"),
    # The number of verdicts so far: a new one names the version that the person saw.
    sa.Column("version", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("present", sa.Boolean, nullable=False),  # whether the latest run found it
    _time("detected_on", nullable=True),  # for the first time
    _time("calculated_on", nullable=True),
    _time("triaged_on", nullable=True),
    sa.Index(None, "series", "order"),
    sa.Index(None, "verdict", "present", "order"),
    sqlite_autoincrement=True,
)

# What happened to a candidate when its series was searched again: it moved to another commit, was
# not found, or was found again.
moves = sa.Table(
    "moves",
    metadata,
    _serial(),
    sa.Column("candidate", sa.BigInteger, sa.ForeignKey("candidates.id"), nullable=False),
    _text("kind"),  # moved, withdrawn or returned
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("from_order", "to_order")),
    _time("moved"),
    sa.Index(None, "candidate"),
)

# Verdicts that were given, or undone, in one request. The request and the hash of its content
# recognise a request that is sent again.
verdict_batches = sa.Table(
    "verdict_batches",
    metadata,
    _serial(),
    _text("who"),
    _time("time"),
    sa.Column("request", sa.Text, nullable=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
    _text("refused"),  # JSON
    sa.UniqueConstraint("who", "request"),
)

# Every verdict ever given, each with the state after it.
verdicts = sa.Table(
    "verdicts",
    metadata,
    _serial(),
    sa.Column("candidate", sa.BigInteger, sa.ForeignKey("candidates.id"), nullable=False),
    *map(_text, ("verdict", "who")),
    _time("time"),
    *map(_text, ("note", "reason")),
    sa.Column("version", sa.BigInteger, nullable=False),  # of the candidate, with this verdict
    sa.Column("batch", sa.BigInteger, sa.ForeignKey("verdict_batches.id"), nullable=True),
    sa.Column("undoes", sa.BigInteger, sa.ForeignKey("verdicts.id"), nullable=True),
    # The score that the candidate had when the verdict was given, and the model it is from.
    sa.Column("probability", sa.Double, nullable=True),
    sa.Column("model", sa.BigInteger, sa.ForeignKey("models.id"), nullable=True),
    sa.Index(None, "candidate"),
    sa.Index(None, "batch"),
)

# Which series are canaries, of low priority, or informational: globs over printed identities.
patterns = sa.Table(
    "patterns",
    metadata,
    *(sa.Column(name, sa.Text, primary_key=True) for name in ("kind", "pattern")),
)

# Filters of the queue that people saved, as the query of its address.
saved_filters = sa.Table(
    "saved_filters",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    *map(_text, ("query", "who")),
    _time("saved"),
)

clusters = sa.Table(
    "clusters",
    metadata,
    _serial(),
    _text("project"),
    sa.Column("order", sa.BigInteger, nullable=False),
    _text("members"),  # JSON: numbers of series, the nearest first
    _text("centroid"),  # JSON
    *(sa.Column(name, sa.Double, nullable=False) for name in ("step", "fit", "regression")),
    _text("status"),
    sa.Column("current", sa.Boolean, nullable=False),
    sa.Index(None, "project", "current"),
)

tickets = sa.Table(
    "tickets",
    metadata,
    _serial(),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    *map(_text, ("url", "title", "status")),
    _time("opened"),
)

ticketed = sa.Table(
    "ticketed",
    metadata,
    sa.Column("ticket", sa.BigInteger, sa.ForeignKey("tickets.id"), primary_key=True),
    sa.Column("candidate", sa.BigInteger, sa.ForeignKey("candidates.id"), primary_key=True),
    sa.Index(None, "candidate"),
)

# Trainings on the verdicts of the store: at most one runs.
retrainings = sa.Table(
    "retrainings",
    metadata,
    _serial(),
    _text("who"),
    _time("started"),
    _time("alive"),  # as `started`; earlier versions noted here that the training runs
    _time("finished", nullable=True),
    _text("state"),  # running, done, failed or cancelled
    sa.Column("verdicts", sa.Integer, nullable=False),  # number of candidates with a final verdict
    sa.Column("last_verdict", sa.BigInteger, nullable=False),  # the latest entry that it knew
    sa.Column("result", sa.Text, nullable=True),  # JSON
    sa.Column("released_by", sa.Text, nullable=True),
    _time("released", nullable=True),
)

# When the newest results of each series came, and what is usual: see `arrivals`.
arrivals = sa.Table(
    "arrivals",
    metadata,
    _only_series(),
    _time("last"),
    sa.Column("expected", sa.BigInteger, nullable=True),  # milliseconds; null while unknown
    sa.Column("late", sa.Integer, nullable=False),  # of the newest results
    sa.Column("late_order", sa.BigInteger, nullable=True),
    _time("late_received", nullable=True),
    sa.Column("suspect_order", sa.BigInteger, nullable=True),
    sa.Column("reruns", sa.Integer, nullable=False),  # that the suspect waits for
)

# How many results were rejected, by day and kind of reason.
rejections = sa.Table(
    "rejections",
    metadata,
    sa.Column("day", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("reason", Bytewise, primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    _text("example"),
    _time("last"),
    sqlite_with_rowid=False,
)

tokens = sa.Table(
    "tokens",
    metadata,
    _serial(),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("hash", sa.LargeBinary, nullable=False, unique=True),
    _text("scopes"),  # separated by blanks
    _time("created"),
    _time("revoked", nullable=True),
)

# Sessions of people in a browser: see `sessions`.
sessions = sa.Table(
    "sessions",
    metadata,
    _serial(),
    sa.Column("hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("token", sa.BigInteger, sa.ForeignKey("tokens.id"), nullable=False),
    _time("expires"),
)

audit = sa.Table(
    "audit",
    metadata,
    _serial(),
    _time("time"),
    *map(_text, ("who", "action", "subject")),
    _text("detail"),  # JSON
)
