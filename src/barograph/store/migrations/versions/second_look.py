"""What a second look made certain, step by step."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "second_look"
down_revision = "blocks"


def upgrade() -> None:
    """Make the table of steps."""
    bytewise = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
    op.create_table(
        "steps",
        sa.Column("series", sa.BigInteger(), nullable=False),
        sa.Column("order", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("run", bytewise, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("change_order", sa.BigInteger(), nullable=False),
        sa.Column("change_run", bytewise, nullable=False),
        sa.Column("from_order", sa.BigInteger(), nullable=True),
        sa.Column("from_run", bytewise, nullable=True),
        sa.Column("probability", sa.Double(), nullable=False),
        sa.Column("standing", sa.Integer(), nullable=True),
        sa.Column("alarm", sa.Integer(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.Column("model", sa.BigInteger(), nullable=False),
        sa.Column("decided", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["models.id"], name=op.f("fk_steps_model")),
        sa.ForeignKeyConstraint(["series"], ["series.id"], name=op.f("fk_steps_series")),
        sa.PrimaryKeyConstraint("series", "order", "run", name=op.f("pk_steps")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("steps")
