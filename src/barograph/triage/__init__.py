"""The store, and what people do with it: all SQL, verdicts, hazard, grouping, tickets."""

from barograph.triage.answer import Answer, Outcome, Status
from barograph.triage.confirming import ConfirmingJudge, SecondLookWanted, judge_of
from barograph.triage.engine import Judge, OnlineJudge
from barograph.triage.measurement import Limits, Measurement
from barograph.triage.store import Store

__all__ = [
    "Answer",
    "ConfirmingJudge",
    "Judge",
    "Limits",
    "Measurement",
    "OnlineJudge",
    "Outcome",
    "SecondLookWanted",
    "Status",
    "Store",
    "judge_of",
]
