"""Create every table of the schema.

No version was released yet: until then a change of the schema needs no migration of its own.
"""

from alembic import op

from barograph.server.store.schema import create_tables

revision = "initial"
down_revision = None


def upgrade() -> None:
    """Create the tables, and the single row of `state`."""
    create_tables(op.get_bind())
