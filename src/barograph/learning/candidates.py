"""Learn the models that judge candidates, from people's verdicts on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from barograph.learning import limits, tables
from barograph.learning.comparison import CROSS_FIT, ScoredRows, beside_built_in
from barograph.learning.continued import MOST_REMEMBERED, Start, continued
from barograph.learning.learners import Learner, learner
from barograph.learning.metrics import scores
from barograph.learning.online.histories import Simulated
from barograph.learning.protocols import Split, is_usable, stable_split
from barograph.models.calibration import METHODS, decision_rule
from barograph.models.catalogue import classifier, own_threshold, real_probability, takes_weights
from barograph.models.kinds import from_fitted
from barograph.models.trees import Boosted
from barograph.models.triage import FILES, USES, TriageModel
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import ConfigError, NotEnoughDataError

PRIOR = Path("data/prior")  # the feature tables of a simulated history
KEPT = "kept"  # the entry of a card of the built-in model, where nothing could be learned
DRAWS = 100  # seeds that are tried for held-out rows of both classes
LIMITS = (
    "Says how people judged the candidates of the data named here. Series, detectors and people "
    "unlike those may need verdicts of their own."
)


@dataclass(frozen=True)
class TrainParams:
    """What is learned.

    Attributes:
        feature_sets: The feature set of each use.
        classifiers: What the candidate models are learned with, by name; of equally good ones, the
            first is chosen.
        calibration: `sigmoid` or `isotonic`.
        trees: Number of trees of every forest.
        goal: What the threshold is chosen for.
        seed: Seed of all that is drawn.
        enough: With this many verdicts or more, no simulated row is mixed in.
        prior_weight: Weight of a simulated row if there were no verdict.
        histories: What the online models learn from, `own` or `simulated` histories.
        points: Maximum number of points of own histories.
        simulated: Simulated histories: the seed, the numbers of series, and how people mark them.
        disputed_as_noise: Whether candidates under investigation are learned from as not real.
        settings: By classifier, settings that replace those of the catalogue and of tuning.
        reporting: Simulated histories that the reporting rule is chosen on while verdicts are
            scarce: the seed, unlike that of any data learned from, and the numbers of series.
        classifier: Withdrawn.
    """

    feature_sets: dict[limits.Use, limits.FeatureSet]
    classifiers: tuple[limits.LearnerName, ...]
    calibration: Annotated[str, limits.Named(lambda: METHODS)]
    trees: limits.Count
    goal: limits.Goal
    seed: limits.Seed
    enough: limits.WholeNumber = 0
    prior_weight: limits.NotNegative = 1.0
    histories: Annotated[str, limits.Named(lambda: ("own", "simulated"))] = "own"
    points: limits.Count = 400_000
    simulated: Simulated | None = None
    disputed_as_noise: bool = False
    settings: dict[limits.LearnerName, dict[str, Any]] = field(default_factory=dict)
    reporting: Simulated | None = None
    classifier: Any = None

    def __post_init__(self) -> None:
        """Refuse the former parameter, a use without features, and unknown settings."""
        if self.classifier is not None:
            raise ConfigError(
                f"train.classifier is now release.classifier: set that to {self.classifier!r:.60} "
                "or to 'best', and leave this out; train.classifiers lists those that are trained"
            )
        if not self.classifiers:
            raise ConfigError("train.classifiers is empty: name a classifier")
        if set(self.feature_sets) != set(USES):
            raise ConfigError(
                f"train.feature_sets is for the uses {sorted(self.feature_sets)}; "
                f"needed are {sorted(USES)}"
            )
        try:
            for name, settings in self.settings.items():
                classifier(learner(name, "").classifier, seed=0, trees=1, settings=settings)
        except (ConfigError, ValueError) as error:
            raise ConfigError(f"train.settings: {error}") from None

    def learners(self, use: str) -> list[Learner]:
        """Return what the models of a use are learned with."""
        return [learner(name, self.feature_sets[use]) for name in self.classifiers]

    def verdicts(self, use: str, feature_set: str, frames: tables.FrameReader) -> tables.Labelled:
        """Return the verdicts of a use; a `NotEnoughDataError` if they are all of one class."""
        of_histories = self.learns_histories and use in FILES["online"]
        disputed = self.disputed_as_noise and not of_histories
        return tables.labelled(frames(use), feature_set, disputed_as_noise=disputed)

    def features(self, use: str) -> tuple[str, ...]:
        """Return the feature sets that the models of a use learn from."""
        own = self.feature_sets[use]
        if self.learns_histories and use in FILES["online"]:
            return (own,)
        return tuple(dict.fromkeys((own, *(each.feature_set for each in self.learners(use)))))

    @property
    def learns_histories(self) -> bool:
        """Whether the online models learn from every point of whole histories."""
        return all(self.feature_sets[use] == use for use in FILES["online"])

    def simulation(self, name: str) -> Simulated:
        """Return the simulated histories of a parameter; a `ConfigError` if it is left out."""
        simulated: Simulated | None = getattr(self, name)
        if simulated is None:
            raise ConfigError(f"train.{name} is missing: its seed and the numbers of series")
        return simulated

    def weight_of_prior(self, verdicts: int) -> float:
        """Return the weight of a simulated row: it falls with every verdict, to 0 at `enough`."""
        share = max(0.0, 1.0 - verdicts / self.enough) if self.enough else 0.0
        return self.prior_weight * share


class Judged(NamedTuple):
    """Rows that a twin has not learned from.

    Attributes:
        truth: The verdicts.
        probability: The probability of a real change that the twin gives to each.
        series: The series of each.
    """

    truth: Ints = np.empty(0, dtype=np.int64)
    probability: Floats = np.empty(0)
    series: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Trained:
    """A model and its twin, which was learned without the held-out rows.

    Attributes:
        model: Learned from everything.
        twin: Judged on the held-out rows.
        test: The held-out rows.
        validation: The rows that calibration and threshold were chosen on, with probabilities that
            are not calibrated.
    """

    model: TriageModel
    twin: TriageModel
    test: Judged = Judged()  # noqa: RUF009 - it is never changed
    validation: Judged = Judged()  # noqa: RUF009

    def with_entry(self, entry: Mapping[str, Any]) -> "Trained":
        """Return both with another entry in their card."""
        card = {**self.twin.card, **entry}
        model, twin = (replace(each, card=card) for each in (self.model, self.twin))
        return replace(self, model=model, twin=twin)


@dataclass(frozen=True)
class Exercise:
    """What a model learns from.

    Attributes:
        use: One of `USES`.
        learner: The classifier, with its features.
        rows: The verdicts.
        prior: Simulated rows to mix in, if verdicts are scarce.
        start: The built-in model, if it is continued, with what it says of simulated rows.
        built_in: What the built-in model says of the rows, if verdicts are scarce.
        settings: Settings of the classifier that replace those of the catalogue.
        is_alone: Whether nothing else is learned for the use, so that nothing is chosen.
    """

    use: str
    learner: Learner
    rows: tables.Labelled
    prior: tables.Labelled | None = None
    start: Start | None = None
    built_in: ScoredRows | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_alone: bool = True


def train(exercise: Exercise, params: TrainParams, profile: str) -> Trained:
    """Learn a model for one use, and its twin.

    Args:
        exercise: What it learns from.
        params: What is learned.
        profile: Named on the card.
    """
    rows, name = exercise.rows, exercise.learner.classifier
    split = held_out(rows, params.seed)
    threshold = own_threshold(name)
    method = params.calibration if threshold is None else None
    learn = partial(fit, exercise, params)
    fitted = learn(split.train)
    twin = TriageModel.of(
        fitted,
        exercise.use,
        exercise.learner.feature_set,
        truth=rows.truth[split.validation],
        score=real_probability(fitted, rows.matrix[split.validation]),
        goal=params.goal,
        method=method,
        threshold=threshold,
        data_hash=rows.data_hash,
    )
    facts = card(rows, split, params, profile, name) | {"settings": dict(exercise.settings)}
    facts["held_out_seed"] = held_out_seed(rows, params.seed)
    if exercise.built_in is not None:
        rule = partial(decision_rule, goal=params.goal, method=method, threshold=threshold)
        seen = split.validation[:0] if exercise.is_alone else split.validation
        facts[CROSS_FIT] = beside_built_in(exercise.built_in, rows, learn, rule, seen)
    probability = twin.predict_proba(rows.matrix[split.test])[:, 1]
    test = Judged(rows.truth[split.test], probability, rows.identities[split.test])
    twin = replace(twin, metrics=scores(*test[:2], twin.threshold), card=facts)
    everything = from_fitted(learn(np.arange(rows.truth.size)))
    raw = twin.classifier.predict_proba(rows.matrix[split.validation])[:, 1]
    validation = Judged(rows.truth[split.validation], raw, rows.identities[split.validation])
    return Trained(replace(twin, classifier=everything), twin, test, validation)


def usable_verdicts(
    use: str, params: TrainParams, frames: tables.FrameReader = tables.read_for
) -> tables.Labelled | None:
    """Read the verdicts of a use; None where they are too few to learn from and to hold out.

    Args:
        use: One of `USES`.
        params: What is learned.
        frames: Returns the feature table of a use.

    Raises:
        NotEnoughDataError: They are too few, and nothing else may be mixed in.
    """
    try:
        rows = params.verdicts(use, params.feature_sets[use], frames)
        held_out_seed(rows, params.seed)
    except NotEnoughDataError:
        if not params.enough:
            raise
        return None
    return rows


def shipped(use: str, reason: str) -> Trained:
    """Return the built-in model of a use, for a history that it cannot be learned from.

    It has no metrics: those of the built-in model are of another history.

    Args:
        use: One of `USES`.
        reason: Why it was not learned; named on the card.
    """
    model = TriageModel.default(use)
    kept = {KEPT: f"the built-in model: {reason}"}
    model = replace(model, metrics={}, card={**model.card, **kept})
    return Trained(model, model)


def fit(exercise: Exercise, params: TrainParams, part: Ints) -> Any:
    """Learn a classifier from some of the rows.

    The built-in model is continued where that is possible. Otherwise simulated rows of a lower
    weight are mixed in, except for a classifier without weights, such as the voting scheme.

    Args:
        exercise: The verdicts, each of the weight 1, and the simulated rows.
        params: What is learned.
        part: The numbers of the rows to learn from.
    """
    rows, prior, name = exercise.rows, exercise.prior, exercise.learner.classifier
    settings = exercise.settings
    if exercise.start is not None:
        lessons, most = (rows.matrix[part], rows.truth[part], np.ones(part.size)), MOST_REMEMBERED
        return continued(exercise.start, lessons, params.seed, most=most, settings=settings)
    model = classifier(name, seed=params.seed, trees=params.trees, settings=settings)
    matrix, truth = rows.matrix[part], rows.truth[part]
    weight = params.weight_of_prior(np.unique(rows.candidates[part]).size)
    if prior is None or not weight or not takes_weights(name):
        return model.fit(matrix, truth)
    weights = np.repeat([1.0, weight], [truth.size, prior.truth.size])
    both, verdicts = np.concatenate([matrix, prior.matrix]), np.concatenate([truth, prior.truth])
    return model.fit(both, verdicts, model__sample_weight=weights)


def starting_point(use: str, learner: Learner, params: TrainParams) -> Boosted | None:
    """Return the built-in model that verdicts continue; None if all is learned from them."""
    if learner.classifier != "xgboost" or params.histories != "own":
        return None
    default = TriageModel.default(use)
    is_same = default.feature_set == learner.feature_set
    return default.classifier if is_same and isinstance(default.classifier, Boosted) else None


def read_prior(use: str, feature_set: str) -> tables.Labelled:
    """Read the simulated rows of one use."""
    return tables.labelled(tables.read_for(use, PRIOR), feature_set)


def held_out(rows: tables.Labelled, seed: int) -> Split:
    """Return the split of `held_out_seed`."""
    return stable_split(rows.identities, rows.commits, held_out_seed(rows, seed))


def held_out_seed(rows: tables.Labelled, seed: int) -> int:
    """Return the first seed whose lasting split can be learned from, chosen on and judged.

    Raises:
        NotEnoughDataError: There is no such split.
    """
    for draw in range(seed, seed + DRAWS):
        split = stable_split(rows.identities, rows.commits, draw)
        if is_usable(split, rows.truth) and np.unique(rows.truth[split.validation]).size == 2:
            return draw
    raise NotEnoughDataError(
        f"{rows.truth.size} triaged points of {np.unique(rows.identities).size} series and "
        f"{np.unique(rows.commits).size} commits cannot be held out by series and commit"
    )


def card(
    rows: tables.Labelled, split: Split, params: TrainParams, profile: str, name: str
) -> dict[str, Any]:
    """Return what the card of a model of a classifier says about its training."""
    return {
        "profile": profile,
        "classifier": name,
        "trees": params.trees,
        "goal": params.goal,
        "calibration": params.calibration if own_threshold(name) is None else "none",
        "seed": params.seed,
        "rows": int(rows.truth.size),
        "enough": params.enough,
        "prior_weight": params.prior_weight,
        "disputed_as_noise": params.disputed_as_noise,
        "rows_held_out": int(split.test.size),
        "series": int(np.unique(rows.identities).size),
        "commits": int(np.unique(rows.commits).size),
        "share_true": float(rows.truth.mean()),
        "protocol": "one grouped split: the held-out rows share no series and no commit",
        "limits": LIMITS,
    }
