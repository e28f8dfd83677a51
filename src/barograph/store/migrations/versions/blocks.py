"""The newest values of each series as one block."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "blocks"
down_revision = "first"


def upgrade() -> None:
    """Make the table; a series gets its block as it grows."""
    op.create_table(
        "blocks",
        sa.Column(
            "series",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("order", sa.BigInteger(), nullable=False),
        sa.Column(
            "run",
            sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("values", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["series"], ["series.id"], name=op.f("fk_blocks_series")),
        sa.PrimaryKeyConstraint("series", name=op.f("pk_blocks")),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("blocks")
