"""The store, and what people do with it: all SQL, verdicts, hazard, grouping, tickets."""

from barograph.triage.answer import Answer, Outcome, Status
from barograph.triage.engine import Judge, OnlineJudge, version_of
from barograph.triage.measurement import Limits, Measurement
from barograph.triage.store import Store

__all__ = [
    "Answer",
    "Judge",
    "Limits",
    "Measurement",
    "OnlineJudge",
    "Outcome",
    "Status",
    "Store",
    "version_of",
]
