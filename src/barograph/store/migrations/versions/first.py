"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "first"
down_revision = None


def upgrade() -> None:
    """Make all tables, and the one row that says who wrote last."""
    op.create_table(
        "audit",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"], unique=False)
    op.create_table(
        "clusters",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("order", sa.BigInteger(), nullable=False),
        sa.Column("members", sa.Text(), nullable=False),
        sa.Column("centroid", sa.Text(), nullable=False),
        sa.Column("step", sa.Double(), nullable=False),
        sa.Column("fit", sa.Double(), nullable=False),
        sa.Column("regression", sa.Double(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.Column("found", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clusters")),
    )
    op.create_index(
        op.f("ix_clusters_project_current"), "clusters", ["project", "current"], unique=False
    )
    op.create_table(
        "commits",
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("commit", sa.Text(), nullable=False),
        sa.Column("order", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project", "commit", name=op.f("pk_commits")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_commits_project_order"), "commits", ["project", "order"], unique=False)
    op.create_table(
        "models",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint("version", "threshold", name=op.f("uq_models_version_threshold")),
    )
    op.create_table(
        "series",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("test", sa.Text(), nullable=False),
        sa.Column("measurement", sa.Text(), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("direction", sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint("digest", name=op.f("uq_series_digest")),
    )
    op.create_index(op.f("ix_series_project_test"), "series", ["project", "test"], unique=False)
    op.create_table(
        "state",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("writer", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_state")),
    )
    op.create_table(
        "tickets",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tickets")),
        sa.UniqueConstraint("key", name=op.f("uq_tickets_key")),
    )
    op.create_table(
        "tokens",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
        sa.UniqueConstraint("name", name=op.f("uq_tokens_name")),
    )
    op.create_table(
        "candidates",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("series", sa.BigInteger(), nullable=False),
        sa.Column("order", sa.BigInteger(), nullable=False),
        sa.Column("commit", sa.Text(), nullable=False),
        sa.Column("detector", sa.Text(), nullable=True),
        sa.Column("statistic", sa.Double(), nullable=True),
        sa.Column("pvalue", sa.Double(), nullable=True),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.Column("hazard", sa.Double(), nullable=True),
        sa.Column("probability", sa.Double(), nullable=True),
        sa.Column("model", sa.BigInteger(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("present", sa.Boolean(), nullable=False),
        sa.Column("calculated_on", sa.BigInteger(), nullable=True),
        sa.Column("triaged_on", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["model"], ["models.id"], name=op.f("fk_candidates_model")),
        sa.ForeignKeyConstraint(["series"], ["series.id"], name=op.f("fk_candidates_series")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
    )
    op.create_index(
        op.f("ix_candidates_series_order"), "candidates", ["series", "order"], unique=False
    )
    op.create_index(
        op.f("ix_candidates_verdict_present_order"),
        "candidates",
        ["verdict", "present", "order"],
        unique=False,
    )
    op.create_table(
        "decisions",
        sa.Column("series", sa.BigInteger(), nullable=False),
        sa.Column("order", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "run", sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql"), nullable=False
        ),
        sa.Column("probability", sa.Double(), nullable=False),
        sa.Column("is_change", sa.Boolean(), nullable=False),
        sa.Column("pre", sa.Integer(), nullable=False),
        sa.Column("model", sa.BigInteger(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=True),
        sa.Column("decided", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["model"], ["models.id"], name=op.f("fk_decisions_model")),
        sa.ForeignKeyConstraint(["series"], ["series.id"], name=op.f("fk_decisions_series")),
        sa.PrimaryKeyConstraint("series", "order", "run", name=op.f("pk_decisions")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "points",
        sa.Column("series", sa.BigInteger(), nullable=False),
        sa.Column("order", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "run", sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql"), nullable=False
        ),
        sa.Column("commit", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=True),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["series"], ["series.id"], name=op.f("fk_points_series")),
        sa.PrimaryKeyConstraint("series", "order", "run", name=op.f("pk_points")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "revisions",
        sa.Column("series", sa.BigInteger(), nullable=False),
        sa.Column("order", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "run", sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql"), nullable=False
        ),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=True),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["series"], ["series.id"], name=op.f("fk_revisions_series")),
        sa.PrimaryKeyConstraint("series", "order", "run", "value", name=op.f("pk_revisions")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "touched",
        sa.Column("series", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["series"], ["series.id"], name=op.f("fk_touched_series")),
        sa.PrimaryKeyConstraint("series", name=op.f("pk_touched")),
    )
    op.create_table(
        "moves",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("candidate", sa.BigInteger(), nullable=False),
        sa.Column("from_order", sa.BigInteger(), nullable=False),
        sa.Column("to_order", sa.BigInteger(), nullable=False),
        sa.Column("moved", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["candidate"], ["candidates.id"], name=op.f("fk_moves_candidate")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moves")),
    )
    op.create_index(op.f("ix_moves_candidate"), "moves", ["candidate"], unique=False)
    op.create_table(
        "ticketed",
        sa.Column("ticket", sa.BigInteger(), nullable=False),
        sa.Column("candidate", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate"], ["candidates.id"], name=op.f("fk_ticketed_candidate")
        ),
        sa.ForeignKeyConstraint(["ticket"], ["tickets.id"], name=op.f("fk_ticketed_ticket")),
        sa.PrimaryKeyConstraint("ticket", "candidate", name=op.f("pk_ticketed")),
    )
    op.create_index(op.f("ix_ticketed_candidate"), "ticketed", ["candidate"], unique=False)
    op.create_table(
        "verdicts",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("candidate", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("given", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate"], ["candidates.id"], name=op.f("fk_verdicts_candidate")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verdicts")),
    )
    op.create_index(op.f("ix_verdicts_candidate"), "verdicts", ["candidate"], unique=False)
    op.execute("INSERT INTO state (id, writer) VALUES (1, '')")


def downgrade() -> None:
    """Drop them."""
    op.drop_index(op.f("ix_verdicts_candidate"), table_name="verdicts")
    op.drop_table("verdicts")
    op.drop_index(op.f("ix_ticketed_candidate"), table_name="ticketed")
    op.drop_table("ticketed")
    op.drop_index(op.f("ix_moves_candidate"), table_name="moves")
    op.drop_table("moves")
    op.drop_table("touched")
    op.drop_table("revisions")
    op.drop_table("points")
    op.drop_table("decisions")
    op.drop_index(op.f("ix_candidates_verdict_present_order"), table_name="candidates")
    op.drop_index(op.f("ix_candidates_series_order"), table_name="candidates")
    op.drop_table("candidates")
    op.drop_table("tokens")
    op.drop_table("tickets")
    op.drop_table("state")
    op.drop_index(op.f("ix_series_project_test"), table_name="series")
    op.drop_table("series")
    op.drop_table("models")
    op.drop_index(op.f("ix_commits_project_order"), table_name="commits")
    op.drop_table("commits")
    op.drop_index(op.f("ix_clusters_project_current"), table_name="clusters")
    op.drop_table("clusters")
    op.drop_index(op.f("ix_audit_at"), table_name="audit")
    op.drop_table("audit")
