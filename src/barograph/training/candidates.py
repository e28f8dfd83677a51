"""What it takes to learn any of the models: parameters, the held-out part, and the card."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from barograph.errors import ConfigError, NotEnoughDataError
from barograph.evaluation.experiment import judged
from barograph.evaluation.protocols import Split, lasting_split
from barograph.features import FEATURE_SETS
from barograph.models.triage import USES, TriageModel
from barograph.series import Floats
from barograph.training import tables
from barograph.training.histories import Histories, Simulated

PAIR = ("online", "confirm")
DRAWS = 100  # how many seeds are tried for parts that hold both classes
LIMITS = (
    "Says how people judged the candidates of the data named here. Series, detectors and people "
    "unlike those may need verdicts of their own: see the learning curve."
)


@dataclass(frozen=True)
class TrainParams:
    """What is learned."""

    feature_sets: dict[str, Any]  # the feature set of each use
    classifier: str
    calibration: str
    trees: int
    goal: str
    seed: int
    enough: int = 0  # verdicts from which on nothing simulated is mixed in
    prior_weight: float = 1.0  # of a simulated row where there is no verdict yet
    histories: str = "own"  # that the online pair learns from, or `simulated`
    points: int = 400_000  # of own histories, at most
    simulated: dict[str, Any] = field(default_factory=dict)  # histories: seed and numbers of series

    def __post_init__(self) -> None:
        """Refuse what is not known, and a use without a feature set."""
        if self.histories not in ("own", "simulated"):
            raise ConfigError(
                f"train.histories is {self.histories!r}; allowed are 'own' and 'simulated'"
            )
        if set(self.feature_sets) != set(USES):
            raise ConfigError(
                f"train.feature_sets is for the uses {sorted(self.feature_sets)}; "
                f"needed are {sorted(USES)}"
            )
        for use, name in self.feature_sets.items():
            if name not in FEATURE_SETS:
                raise ConfigError(
                    f"train.feature_sets.{use}: no feature set {name!r}; "
                    f"known: {sorted(FEATURE_SETS)}"
                )

    @property
    def whole(self) -> bool:
        """Whether the online pair learns from whole histories."""
        return all(self.feature_sets[use] == use for use in PAIR)

    def simulated_histories(self) -> Histories:
        """Return the simulated histories."""
        try:
            return Simulated(**self.simulated).histories()
        except TypeError as error:
            raise ConfigError(f"train.simulated: {error}") from error


@dataclass(frozen=True)
class Trained:
    """A model, its twin, and what the twin said of the held-out rows."""

    model: TriageModel
    twin: TriageModel
    truth: Any
    probability: Floats
    library: bytes | None  # the model in its library's own form, where that can explain it


def held_out(rows: tables.Labelled, seed: int) -> Split:
    """Return the first lasting split that can be learned from, chosen on and judged."""
    return lasting_split(rows.identities, rows.commits, drawn(rows, seed))


def drawn(rows: tables.Labelled, seed: int) -> int:
    """Return the seed of that split."""
    for draw in range(seed, seed + DRAWS):
        split = lasting_split(rows.identities, rows.commits, draw)
        if judged(split, rows.truth) and np.unique(rows.truth[split.validation]).size == 2:
            return draw
    raise NotEnoughDataError(
        f"{rows.truth.size} triaged points of {np.unique(rows.identities).size} series and "
        f"{np.unique(rows.commits).size} commits cannot be held out by series and commit"
    )


def card(rows: tables.Labelled, split: Split, params: TrainParams, profile: str) -> dict[str, Any]:
    """Return what a model's card says of its training."""
    return {
        "profile": profile,
        "classifier": params.classifier,
        "trees": params.trees,
        "goal": params.goal,
        "calibration": params.calibration,
        "seed": params.seed,
        "rows": int(rows.truth.size),
        "enough": params.enough,
        "prior_weight": params.prior_weight,
        "rows_held_out": int(split.test.size),
        "series": int(np.unique(rows.identities).size),
        "commits": int(np.unique(rows.commits).size),
        "share_true": float(rows.truth.mean()),
        "protocol": "one grouped split: the held-out rows share no series and no commit",
        "limits": LIMITS,
    }
