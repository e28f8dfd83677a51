"""The comparison of challengers with the released models, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

BETTER, WORSE, UNCERTAIN = "better", "worse", "not certain"
BESIDE = "beside_shipped"
LEVEL = 0.05
USES = {
    "adaptive": "Batch, bounds by verdicts",
    "label_free": "Queue",
    "online": "Newest results",
    "confirm": "Second look",
}
# Name in the facts, title, and 1 if higher is better.
MEANS = (("agreement", "Agreement", 1), ("brier", "Brier score (lower is better)", -1))


@dataclass(frozen=True)
class ComparedMeasure:
    """One measure of a new model and of the one that it was compared with.

    Attributes:
        measure: What was measured.
        verdicts: Number of verdicts, or changes, that both were measured on.
        old: The value of the released or built-in model.
        new: The value of the new model.
        low: Lower end of the 95 % interval of the difference; None if it is not known.
        high: Upper end.
        outcome: Whether the new model is better, worse, or it is not certain.
        is_share: Whether the values are shares, printed in percent.
    """

    measure: str
    verdicts: int
    old: float
    new: float
    low: float | None
    high: float | None
    outcome: str
    is_share: bool = False


@dataclass(frozen=True)
class ComparedFile:
    """A file of models, what was decided on it, and why.

    Attributes:
        name: Name of the file.
        title: What its models are for.
        may_release: Whether it may take the place of the released file.
        why: The reason.
        measures: What the decision rests on.
    """

    name: str
    title: str
    may_release: bool
    why: str
    measures: tuple[ComparedMeasure, ...]


def compared_files(result: Mapping[str, Any]) -> list[ComparedFile]:
    """Return what a retraining decided on each file.

    Args:
        result: The stored result of a retraining.

    Example:
        >>> facts = {"real": 30, "noise": 20, "auc": 0.95, "auc_of_other": 0.9}
        >>> decision = {"promoted": True, "why": "not worse than the built-in model"}
        >>> decision["uses"] = {"label_free": facts | {"low": -0.01, "high": 0.11}}
        >>> [one] = compared_files({"files": {"label_free": decision}, "challengers": {}})
        >>> one.measures[0].outcome
        'not certain'
    """
    challengers = result.get("challengers", {})
    return [
        ComparedFile(
            name,
            USES.get(name, name),
            name in challengers,
            str(decision["why"]),
            (*_by_use(decision), *_by_delay(decision)),
        )
        for name, decision in result.get("files", {}).items()
    ]


def outcome(low: float | None, high: float | None) -> str:
    """Return the outcome of an interval of a difference: only one that excludes 0 is certain."""
    if low is None or high is None or low <= 0 <= high:
        return UNCERTAIN
    return BETTER if low > 0 else WORSE


def _by_use(decision: Mapping[str, Any]) -> Iterator[ComparedMeasure]:
    uses = decision.get("uses", {})
    for use, facts in uses.items():
        if "auc" not in facts:
            continue
        where = "" if len(uses) == 1 else f", {USES.get(use, use).lower()}"
        if "lead_of_champion" in facts:
            where += ", beside the built-in model"
        low, high = facts.get("low"), facts.get("high")
        verdicts = facts["real"] + facts["noise"]
        # The release is decided by one side of the interval, at 5 %.
        result = WORSE if facts.get("p_worse", 1.0) < LEVEL else outcome(low, high)
        yield ComparedMeasure(
            *(f"AUC{where}", verdicts, facts["auc_of_other"], facts["auc"], low, high, result)
        )
        for name, title, sign in MEANS:
            if (means := facts.get(name)) is not None:
                low, high = means["low"], means["high"]
                yield ComparedMeasure(
                    *(f"{title}{where}", verdicts, means["old"], means["new"], low, high),
                    outcome(*sorted((sign * low, sign * high))),
                    is_share=name == "agreement",
                )


def _by_delay(decision: Mapping[str, Any]) -> Iterator[ComparedMeasure]:
    facts = decision.get(BESIDE)
    if facts is None:
        return
    certain = BETTER if facts["is_better"] else UNCERTAIN
    result = certain if facts["not_worse"] >= LEVEL else WORSE
    shares = zip(facts["delays"], facts["reported_by_other"], facts["reported"], strict=True)
    for delay, old, new in shares:
        within = "at once" if not delay else f"within {delay} commits"
        # The decision is on all delays together; a share that did not move that way is not certain.
        agrees = new > old if result == BETTER else new < old
        yield ComparedMeasure(
            *(f"Reported {within}", facts["changes"], old, new, None, None),
            result if agrees else UNCERTAIN,
            is_share=True,
        )
