"""Stage `train`: one model for each use, learned from every verdict there is.

Each model has a twin that learned without the held-out series and commits. The twin chooses the
calibration and the threshold on validation and is judged on what it has not seen; `release`
compares it with the twin of the model in service.

The two models of the online detector learn from every point of whole histories, if their feature
sets are `online` and `confirm`; all others from the candidates alone.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from barograph.errors import ConfigError, NotEnoughDataError
from barograph.evaluation.early import Prior, learn
from barograph.evaluation.early.fit import boosted
from barograph.evaluation.experiment import judged, real
from barograph.evaluation.metrics import scores
from barograph.evaluation.protocols import Split, lasting_split
from barograph.features import FEATURE_SETS
from barograph.history import History
from barograph.models.catalogue import classifier
from barograph.models.kinds import flattened
from barograph.models.shapley import library_bytes
from barograph.models.triage import USES, TriageModel
from barograph.pipeline import histories, report, tables
from barograph.pipeline.histories import Histories, Simulated
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.mixing import faded, fit_with_prior, read_prior
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.settings import TABLE, Settings, chosen_for
from barograph.pipeline.stage import run
from barograph.pipeline.tracking import tracked
from barograph.pipeline.work import each
from barograph.series import Floats, Ints

FOLDER = Path("data/models")
TWINS = FOLDER / "judged"
LIBRARY = FOLDER / "library"  # boosted trees in their library's form, for the stage `explain` alone
FIGURES = report.FOLDER / "train"
PAIR = ("online", "confirm")
TABLES = ("tails", "alarm_thresholds")  # of a card: numbers for the detector alone
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


def train(
    use: str,
    rows: tables.Labelled,
    prior: tables.Labelled | None,
    params: TrainParams,
    profile: str,
    settings: Settings,
) -> Trained:
    """Learn the model of one use and its twin, with the settings that were found best."""
    split = held_out(rows, params.seed)
    fitted = _fitted(rows, split.train, prior, params, settings)
    twin = TriageModel.of(
        fitted,
        use,
        str(params.feature_sets[use]),
        truth=rows.truth[split.validation],
        score=real(fitted, rows.matrix[split.validation]),
        goal=params.goal,
        method=params.calibration,
        data_hash=hashlib.sha256(rows.digest).hexdigest(),
    )
    probability = twin.predict_proba(rows.matrix[split.test])[:, 1]
    truth = rows.truth[split.test]
    found = {**scores(truth, probability, twin.threshold)}
    facts = _card(rows, split, params, profile) | {"settings": dict(settings)}
    twin = replace(twin, metrics=found, card=facts)
    everything = _fitted(rows, np.arange(rows.truth.size), prior, params, settings)
    model = replace(twin, flat=flattened(everything))
    return Trained(model, twin, truth, probability, library_bytes(everything))


def train_pair(
    rows: dict[str, tables.Labelled], params: TrainParams, profile: str
) -> Iterator[tuple[str, Trained]]:
    """Learn the two online models and their twins, and judge those on held-out candidates."""
    own = params.histories == "own"
    if own:
        known = histories.own(History.read(INTERIM), params.points, params.seed)
    else:
        known = params.simulated_histories()
    draw = drawn(rows["online"], params.seed)
    verdicts = np.unique(rows["online"].candidates).size
    weight = faded(verdicts, params.prior_weight, params.enough) if own else 0.0
    learned = learn(
        known.truth,
        apart=known.apart(draw),
        prior=Prior(params.simulated_histories().truth, weight) if weight else None,
        make=partial(boosted, trees=params.trees),
        seed=params.seed,
    )
    digest = hashlib.sha256(known.truth.values.tobytes() + known.truth.changes.tobytes())
    for model in (learned.online, learned.confirm):
        table, twin = rows[model.use], learned.twins[model.use]
        split = lasting_split(table.identities, table.commits, draw)
        probability = twin.predict_proba(table.matrix[split.test])[:, 1]
        truth = table.truth[split.test]
        facts: dict[str, Any] = {
            "metrics": {**scores(truth, probability, model.threshold)},
            "data_hash": digest.hexdigest(),
            "card": _card(table, split, params, profile)
            | {"classifier": "xgboost", "calibration": "sigmoid", "histories": params.histories}
            | {"goal": "3 false alarms in a thousand points", **model.card},
        }
        library = learned.libraries[model.use]
        told, told_twin = replace(model, **facts), replace(twin, **facts)
        yield model.use, Trained(told, told_twin, truth, probability, library)


def _fitted(
    rows: tables.Labelled,
    part: Ints,
    prior: tables.Labelled | None,
    params: TrainParams,
    settings: Settings,
) -> Any:
    model = classifier(params.classifier, seed=params.seed, trees=params.trees, settings=settings)
    matrix, truth = rows.matrix[part], rows.truth[part]
    if prior is None:
        return model.fit(matrix, truth)
    weight = faded(np.unique(rows.candidates[part]).size, params.prior_weight, params.enough)
    return fit_with_prior(model, matrix, truth, prior, weight)


def _card(rows: tables.Labelled, split: Split, params: TrainParams, profile: str) -> dict[str, Any]:
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


def every(params: TrainParams) -> Iterator[tuple[str, Trained]]:
    """Learn the models of all uses."""
    rows = {u: tables.labelled(tables.read_for(u), params.feature_sets[u]) for u in USES}
    single = [use for use in USES if not (params.whole and use in PAIR)]
    calls = []
    for use in single:
        scarce = np.unique(rows[use].candidates).size < params.enough
        prior = read_prior(use, params.feature_sets[use]) if scarce else None
        settings = chosen_for(use, params.classifier)
        calls.append((use, rows[use], prior, params, profile_name(), settings))
    yield from zip(single, each(train, calls, "train"), strict=True)
    if params.whole:
        yield from train_pair(rows, params, profile_name())


def record(use: str, trained: Trained) -> None:
    """Draw what the twin said of the held-out rows, and log the run."""
    from barograph.evaluation.figures import held_out_figure

    picture = FIGURES / f"{use}.png"
    held_out_figure(trained.truth, trained.probability, use, picture)
    with tracked(f"train {use}") as recorded:
        model = trained.model
        named = {"use": use, "feature_set": model.feature_set, "data_hash": model.data_hash}
        recorded.parameters({k: v for k, v in model.card.items() if k not in TABLES} | named)
        recorded.metrics(model.metrics)
        recorded.keep(picture)
        if TABLE.is_file():  # what was tried before the settings were chosen
            recorded.keep(TABLE)
        recorded.keep(FOLDER / f"{use}.baro")


def main() -> None:
    """Run the stage."""
    params = parameters(TrainParams, "train")
    metrics: dict[str, dict[str, float]] = {}
    for use, trained in every(params):
        trained.model.save(FOLDER / f"{use}.baro")
        trained.twin.save(TWINS / f"{use}.baro")
        if trained.library is not None:
            report.write_bytes(LIBRARY / f"{use}.ubj", trained.library)
        record(use, trained)
        metrics[use] = dict(trained.model.metrics)
    report.write_json(report.FOLDER / "train.json", metrics)


if __name__ == "__main__":
    run(main)
