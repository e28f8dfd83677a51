"""The store: every result, decision, candidate and verdict, in one SQL database."""

from barograph.store.measurement import Limits, Measurement
from barograph.store.results import IngestResult, PointResult, Status
from barograph.store.store import Store

__all__ = ["IngestResult", "Limits", "Measurement", "PointResult", "Status", "Store"]
