"""The newest points of each series in a table of their own: many series share a page of it."""

import sqlalchemy as sa
from alembic import op

from barograph.store.migrations.versions.one_row import (
    DECISION,
    KEYS,
    POINT,
    copy,
    decided,
    make,
    measured,
    table,
)

revision = "newest"
down_revision = "one_row"


def upgrade() -> None:
    """Make it; points that land from now on go there first."""
    make("newest", [*measured(), *decided()], ["model", "series"])


def downgrade() -> None:
    """Put its points beside the others."""
    newest, points = (table(name, POINT + DECISION) for name in ("newest", "points"))
    copy(sa.select(*(newest.c[name] for name in (*KEYS, *POINT, *DECISION))), points)
    op.drop_table("newest")
