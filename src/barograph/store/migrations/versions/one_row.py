"""A point and what was decided of it as one row: half the pages for a commit to write."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "one_row"
down_revision = "second_look"

BYTEWISE = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
KEYS = ("series", "order", "run")
POINT = ("commit", "time", "value", "received")
DECISION = ("probability", "is_change", "pre", "model", "reasons", "decided")


def upgrade() -> None:
    """Put the decisions into the rows of their points."""
    _set_aside("points")
    make("points", [*measured(), *decided()], ["model", "series"])
    former, decisions = table("former_points", POINT), table("decisions", DECISION)
    keys = [former.c[name] for name in KEYS]
    same = sa.and_(*(decisions.c[key.name] == key for key in keys))
    columns = [*(former.c[name] for name in POINT), *(decisions.c[name] for name in DECISION)]
    # A point without a decision there cannot be; were there one, this fails and nothing is lost.
    every = sa.select(*keys, *columns).select_from(former.outerjoin(decisions, same))
    copy(every.order_by(*keys), table("points", POINT + DECISION))
    op.drop_table("former_points")
    op.drop_table("decisions")


def downgrade() -> None:
    """Give the decisions a table of their own."""
    _set_aside("points")
    make("points", measured(), ["series"])
    make("decisions", decided(), ["model", "series"])
    former = table("former_points", POINT + DECISION)
    keys = [former.c[name] for name in KEYS]
    for name, names in (("points", POINT), ("decisions", DECISION)):
        every = sa.select(*keys, *(former.c[column] for column in names)).order_by(*keys)
        copy(every, table(name, names))
    op.drop_table("former_points")


def make(name: str, columns: list[sa.Column[object]], owners: list[str]) -> None:
    """Make a table with a row for each point, whose named columns are numbers of other rows."""
    named = {"model": "models.id", "series": "series.id"}
    op.create_table(
        name,
        *_place(),
        *columns,
        *(
            sa.ForeignKeyConstraint([owner], [named[owner]], name=op.f(f"fk_{name}_{owner}"))
            for owner in owners
        ),
        sa.PrimaryKeyConstraint(*KEYS, name=op.f(f"pk_{name}")),
        sqlite_with_rowid=False,
    )


def _place() -> list[sa.Column[object]]:
    return [
        sa.Column("series", sa.BigInteger(), nullable=False),
        sa.Column("order", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("run", BYTEWISE, nullable=False),
    ]


def measured() -> list[sa.Column[object]]:
    """What was measured at a point."""
    return [
        sa.Column("commit", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=True),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
    ]


def decided() -> list[sa.Column[object]]:
    """What was decided of it."""
    return [
        sa.Column("probability", sa.Double(), nullable=False),
        sa.Column("is_change", sa.Boolean(), nullable=False),
        sa.Column("pre", sa.Integer(), nullable=False),
        sa.Column("model", sa.BigInteger(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=True),
        sa.Column("decided", sa.BigInteger(), nullable=False),
    ]


def _set_aside(name: str) -> None:
    op.rename_table(name, f"former_{name}")
    if op.get_bind().dialect.name == "postgresql":  # its indexes are named for all tables together
        op.execute(f"ALTER INDEX pk_{name} RENAME TO pk_former_{name}")


def table(name: str, names: tuple[str, ...]) -> sa.TableClause:
    """Name a table with these columns, and those of its key."""
    return sa.table(name, *(sa.column(c) for c in (*KEYS, *names)))


def copy(rows: sa.Select[tuple[object, ...]], into: sa.TableClause) -> None:
    """Write rows into a table, in the order of its columns."""
    op.execute(sa.insert(into).from_select([column.name for column in into.c], rows))
