"""The judge that the store calls: the decisions of the online detector, many series per call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from barograph.detection.online.batch import BatchDecisions, advance_all
from barograph.detection.online.budget import DEFAULT_POLICY, Budget
from barograph.detection.online.pending import PendingSeries
from barograph.detection.online.views import HISTORY, check_pair
from barograph.models import OnlineModels, TriageModel
from barograph.runtime.errors import ConfigError, DataError


class Judge(Protocol):
    """Decides on the points of a store; the decisions depend on the values alone."""

    @property
    def version(self) -> str:
        """The version stored with each decision."""

    @property
    def threshold(self) -> float:
        """The score from which a point is a change."""

    @property
    def history(self) -> int:
        """Maximum number of values read of each series, as in `OnlineDetector`."""

    def judge(self, pending: Sequence[PendingSeries]) -> BatchDecisions:
        """Decide on the new points of every series."""


@dataclass(frozen=True)
class OnlineJudge:
    """The online detector over many series, with the decisions of `OnlineDetector`.

    Args:
        model: Scores the newest point.
        history: Maximum number of values read of each series.
        confirm: Scores points that others have followed.
        budget: The alarm budget; required with `confirm`.
        threads: Number of threads. Defaults to one per usable core. The decisions do not depend
            on it.
    """

    model: TriageModel
    history: int = HISTORY
    confirm: TriageModel | None = None
    budget: Budget | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        """Refuse models that cannot be used together."""
        if self.confirm is not None:
            check_pair(self.model, self.confirm)

    def with_second_look(
        self, confirm: TriageModel, alarm_policy: str, false_alarms_per_1000: float
    ) -> OnlineJudge:
        """Return a judge that also scores earlier points, with the budget released for both models.

        Raises:
            DataError: A card has no tail rates or thresholds.
            ConfigError: The policy or rate is not allowed, or the models cannot be used together.
        """
        budget = Budget.released(self.model, confirm, alarm_policy, false_alarms_per_1000)
        return replace(self, confirm=confirm, budget=budget)

    @property
    def version(self) -> str:
        """The versions of the models, which are stored with each decision."""
        models = [self.model] if self.confirm is None else [self.model, self.confirm]
        return "+".join(model.version for model in models)

    @property
    def threshold(self) -> float:
        """The minimum probability of an alarm; with a second look, its minimum score in nats."""
        return self.model.threshold if self.budget is None else self.budget.threshold

    def judge(self, pending: Sequence[PendingSeries]) -> BatchDecisions:
        """Decide on the new points of every series."""
        return advance_all(
            *(pending, self.model, self.confirm, self.budget),
            history=self.history,
            threads=self.threads,
        )


@dataclass(frozen=True)
class SecondLookConfig:
    """How alarms of all windows share one budget.

    Args:
        alarm_policy: `early`, `even`, `steady` or `sure`.
        false_alarms_per_1000: Number of false alarms in 1,000 points, from 1 to 10.
        needed: Whether it is an error if the models do not allow a second look.
    """

    alarm_policy: str = DEFAULT_POLICY
    false_alarms_per_1000: float = 3.0
    needed: bool = False


def make_judge(models: OnlineModels, config: SecondLookConfig | None) -> tuple[OnlineJudge, str]:
    """Return the judge, with a second look if it is configured and the models allow it.

    Returns:
        The judge, and the reason why it has no second look although one is configured; empty
        otherwise.

    Raises:
        DataError: The second look is needed, and a model, tail rates or thresholds are missing.
        ConfigError: The second look is needed, and the models cannot be used together.
    """
    judge = OnlineJudge(models.newest)
    if config is None:
        return judge, ""
    rate = config.false_alarms_per_1000
    try:
        if models.confirm is None:
            raise DataError("the model file holds no confirming model")
        return judge.with_second_look(models.confirm, config.alarm_policy, rate), ""
    except (ConfigError, DataError) as error:
        if config.needed:
            raise
        return judge, f"there is no second look: {error}"
