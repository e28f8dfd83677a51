"""The store: all results, decisions, candidates and verdicts, in one SQL database."""

from barograph.store.measurement import IngestResult, Limits, Measurement, PointResult, PointStatus
from barograph.store.store import Store

__all__ = ["IngestResult", "Limits", "Measurement", "PointResult", "PointStatus", "Store"]
