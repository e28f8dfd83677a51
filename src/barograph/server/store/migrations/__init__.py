"""Alembic migrations of the store's tables."""
