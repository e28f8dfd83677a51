"""Create every table of the schema.

No version was released yet: until then a change of the schema needs no migration of its own.
"""

from alembic import op

from barograph.store.schema import metadata, state

revision = "initial"
down_revision = None


def upgrade() -> None:
    """Create the tables, and the single row of `state`."""
    metadata.create_all(op.get_bind())
    op.bulk_insert(state, [{"id": 1, "writer": ""}])
