"""The decision engine with a second look: early, and surer as more points land."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from barograph.detection.online.budget import Budget
from barograph.detection.online.following import Followed, Landed, check_pair, look_again
from barograph.detection.online.judge import Flags, Judge, Judged, OnlineJudge, Stretch, lows, parts
from barograph.detection.online.recent import kept_from
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.sight import RegimeSight
from barograph.errors import ConfigError, DataError
from barograph.models import OnlineModels, TriageModel
from barograph.series import Floats, Ints


@dataclass(frozen=True)
class ConfirmingJudge:
    """Algorithm 1 at the newest point, and the models of windows 1 to 10 behind it.

    A change is called where an alarm is raised: a window's surprise and weight reach the budget's
    threshold. It is the second look of `OnlineDetector`, over many series in one call.

    Args:
        first: judges the newest point.
        confirm: judges points that others have followed.
        budget: whose alarms count how much.
        version: what the decisions are signed with.
    """

    first: OnlineJudge
    confirm: Scorer
    budget: Budget
    version: str

    @classmethod
    def of(
        cls, first: OnlineJudge, confirm: TriageModel, setting: str, per_thousand: float
    ) -> ConfirmingJudge:
        """Take the budget that was released with the two models.

        Raises:
            DataError: their cards have no tail rates, or no thresholds.
            ConfigError: a setting or a rate that is not allowed, or models that do not fit.
        """
        budget = Budget.released(first.model, confirm, setting, per_thousand)
        check_pair(first.model, confirm, budget)
        return cls(first, confirm, budget, f"{first.version}+{confirm.version}")

    @property
    def threshold(self) -> float:
        """The least score of an alarm, in nats."""
        return self.budget.threshold

    @property
    def history(self) -> int:
        """That of the first judge."""
        return self.first.history

    def judge(self, stretches: Sequence[Stretch]) -> Judged:
        """Judge the new points of every stretch, and look again at those before them.

        What is called plays no part in what the models see, so all is judged in one go.
        """
        probability: list[Floats] = [np.empty(0)]
        change: list[Flags] = [np.empty(0, dtype=np.bool_)]
        pre: list[Ints] = [np.empty(0, dtype=np.int64)]
        looks: list[Followed] = []
        low = lows(stretches, self.history)
        for part in parts(np.array([one.values.size for one in stretches]) - low):
            some = stretches[part]
            landed = landed_of(some, low[part], self.history)
            standing = [one.standing for one in some]
            said, seen = look_again(
                *(self.first.model, self.confirm, landed, self.budget, standing),
                threads=self.first.threads,
            )
            called = np.zeros(said.size, dtype=np.bool_)
            for first, stretch, one in zip(landed.bounds.tolist(), some, seen, strict=False):
                called[[first + at - stretch.base - stretch.first for at in one.alarms]] = True
            probability.append(said)
            change.append(called)
            judged = landed.places >= RegimeSight.first
            pre.append(np.where(judged, landed.newest - landed.starts, 0))
            looks += seen
        starts = [one.start for one in stretches]
        return Judged(
            np.concatenate(probability), np.concatenate(change), np.concatenate(pre), starts, looks
        )


@dataclass(frozen=True)
class SecondLookConfig:
    """How alarms of all windows share one budget.

    Args:
        setting: `early`, `even`, `steady` or `sure`.
        per_thousand: how many false alarms a thousand points may raise, from 1 to 10.
        needed: whether it is an error where the two models cannot do it.
    """

    setting: str = "steady"
    per_thousand: float = 3.0
    needed: bool = False


def make_judge(models: OnlineModels, wanted: SecondLookConfig | None) -> tuple[Judge, str]:
    """Return what decides, with a second look where it is wanted and the models can do it.

    Returns:
        The judge, and why it looks only once; nothing where that is as wanted.

    Raises:
        DataError: the second look is needed, and the models cannot do it.
        ConfigError: the same.
    """
    first = OnlineJudge.of(models.newest)
    if wanted is None:
        return first, ""
    try:
        if models.confirm is None:
            raise DataError("the model file holds no confirming model")
        judge = ConfirmingJudge.of(first, models.confirm, wanted.setting, wanted.per_thousand)
    except (ConfigError, DataError) as error:
        if wanted.needed:
            raise
        return first, f"there is no second look: {error}"
    return judge, ""


def landed_of(stretches: Sequence[Stretch], low: Ints, history: int) -> Landed:
    """Put the values that are read, of each stretch from a place on, one behind the other."""
    pieces = [one.values[k:] for one, k in zip(stretches, low.tolist(), strict=True)]
    counts = np.array([one.values.size - one.first for one in stretches])
    ends = np.cumsum([piece.size for piece in pieces])
    bounds = np.concatenate([[0], np.cumsum(counts)])
    # The new points are the last of each piece.
    newest = np.arange(bounds[-1]) + np.repeat(ends - bounds[1:], counts)
    origin = np.repeat(ends - [one.base + one.values.size for one in stretches], counts)
    places = newest - origin
    return Landed(
        np.concatenate(pieces), newest, bounds, places, origin + kept_from(places, history)
    )
