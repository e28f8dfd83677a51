"""The store: all results, decisions, candidates and verdicts, in one SQL database."""

from barograph.server.store.measurement import (
    IngestResult,
    Limits,
    Measurement,
    PointResult,
    PointStatus,
)
from barograph.server.store.store import Store

__all__ = ["IngestResult", "Limits", "Measurement", "PointResult", "PointStatus", "Store"]
