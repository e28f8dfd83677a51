"""Plain CSV, JSON and Parquet: the project's own tables, or one flat table of points."""

from barograph.sources.tabular.source import Tabular

__all__ = ["Tabular"]
