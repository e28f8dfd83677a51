"""Retrain on the verdicts of a team: learn challengers, and compare them with the champions.

The same parameters, seed and verdicts give the same model files as the stages of the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from barograph.learning import tables
from barograph.learning.candidates import Trained, TrainParams, starting_point, usable_verdicts
from barograph.learning.challengers import train_all
from barograph.learning.choice import CHOICE, choose
from barograph.learning.learners import BEST
from barograph.learning.online.pair import BESIDE, lesson
from barograph.learning.registry import Index
from barograph.learning.release import Evidence, ReleaseDecision, ReleaseParams, challengers
from barograph.learning.simulation import SimulateParams, simulate
from barograph.learning.tune import Search, TuneParams, tune
from barograph.models.triage import FILES, USES, TriageModel, save_models
from barograph.results.history import History
from barograph.results.series import FINAL, Verdict
from barograph.sources import open_source, read_source

STEPS = 2 + len(USES) + len(FILES)  # features, settings, each model, each comparison


@dataclass(frozen=True)
class RetrainParams:
    """How models are learned and released.

    Attributes:
        train: What is learned.
        tune: How long settings are searched for; only those of the classifiers that are learned.
        release: What a new model must reach.
        prior: The simulated history that is mixed with scarce verdicts.
        profile: The name of the parameters, for the cards of the models.
    """

    train: TrainParams
    tune: TuneParams
    release: ReleaseParams
    prior: SimulateParams
    profile: str

    def learned(self) -> RetrainParams:
        """Return the parameters with the classifiers that are learned: all, or the named one."""
        name = self.release.classifier
        names = self.train.classifiers if name == BEST else (name,)
        return replace(self, train=replace(self.train, classifiers=names))


@dataclass(frozen=True)
class Retrained:
    """What was learned from, and what became of each file.

    Attributes:
        real: Number of candidates that people called real.
        noise: Number of candidates that people called noise.
        series: Number of series with such candidates.
        decisions: What was decided on each file of `FILES`.
        challengers: The digests of the files in the registry that may be released; none in a dry
            run.
    """

    real: int
    noise: int
    series: int
    decisions: Mapping[str, ReleaseDecision]
    challengers: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what was learned from and decided, as JSON can hold it."""
        return {
            "verdicts": {"real": self.real, "noise": self.noise, "series": self.series},
            "files": {name: dict(decision) for name, decision in self.decisions.items()},
            "challengers": dict(self.challengers),
        }

    def lines(self) -> Iterator[str]:
        """Yield one line for the verdicts, and one for each file."""
        verdicts = f"{self.real + self.noise:,} verdicts: {self.real:,} real, {self.noise:,} noise"
        yield f"{verdicts}, in {self.series:,} series"
        for name, decision in self.decisions.items():
            released = "released" if name in self.challengers else "may be released"
            outcome = released if decision["promoted"] else "kept"
            facts = "".join(f"; {fact}" for fact in _facts(name, decision))
            yield f"{name}: {outcome}: {decision['why']}{facts}"


def retrain(
    history: History,
    params: RetrainParams,
    served: Path,
    *,
    dry_run: bool = False,
    step: Callable[[int], None] | None = None,
) -> Retrained:
    """Learn models for every use, and compare them with the champions; release nothing.

    Args:
        history: All series, with people's verdicts on their candidates.
        params: How models are learned and released.
        served: The folder of the champions; new files are registered beside it.
        dry_run: Decide, but write nothing.
        step: Called with the number of steps that are done, of `STEPS`.
    """
    params = params.learned()
    steps = map(step or (lambda _: None), count(1))
    frames = tables.frames_of(history, _feature_sets(params, served))
    for use in USES:
        frames(use)
    next(steps)
    settings = _settings(params, frames)
    learned_from = history, frames, _prior(params), settings, params.profile
    next(steps)
    trained: dict[str, Trained] = {}
    for use, models in train_all(params.train, *learned_from):
        trained[use] = choose(models).chosen
        next(steps)
    evidence = Evidence(
        params.release,
        lambda: lesson(history, usable_verdicts("online", params.train, frames), params.train),
        frames,
    )
    decisions: dict[str, ReleaseDecision] = {}
    promoted: dict[str, str] = {}
    with TemporaryDirectory(prefix="barograph-") as folder:
        files = {name: _save(Path(folder), name, trained) for name in FILES}
        for name, digest, decision in challengers(files, evidence, served, keep=not dry_run):
            decisions[name] = decision
            if decision["promoted"] and not dry_run:
                promoted[name] = digest
            next(steps)
    return Retrained(*_counts(history), decisions, promoted)


def _feature_sets(params: RetrainParams, served: Path) -> dict[str, tuple[str, ...]]:
    """Return the feature sets of what is learned, of the champion and of the built-in model."""
    result: dict[str, tuple[str, ...]] = {}
    for name, uses in FILES.items():
        champions = Index.read(name, served).champion_twins()
        for use in uses:
            built_in = TriageModel.default(use)
            others = (champions.get(use, built_in).feature_set, built_in.feature_set)
            result[use] = tuple(dict.fromkeys((*params.train.features(use), *others)))
    return result


def _settings(
    params: RetrainParams, frames: tables.FrameReader
) -> Callable[[str, str], Mapping[str, Any]]:
    """Search for the settings of the classifiers that are learned, where the parameters want it.

    A model that is continued has settings of its own.
    """
    train = params.train
    searched = {
        use: {one.name for one in train.learners(use) if starting_point(use, one, train) is None}
        for use in params.tune.searches
    }
    searches = {
        use: tuple(name for name in names if name in searched[use])
        for use, names in params.tune.searches.items()
    }
    tuned = tune(replace(params.tune, searches=searches), train, frames)

    def settings(use: str, classifier: str) -> Mapping[str, Any]:
        result = tuned.get((use, classifier))
        return result.best.settings if isinstance(result, Search) else {}

    return settings


def _prior(params: RetrainParams) -> Callable[[str, str], tables.Labelled]:
    """Return what reads the simulated rows; they are simulated when they are first needed."""

    @cache
    def frames() -> tables.FrameReader:
        with TemporaryDirectory(prefix="barograph-") as folder:
            simulate(params.prior, Path(folder))
            simulated, _ = read_source(open_source("mongodump", str(Path(folder, "dump"))))
        sets = {use: params.train.features(use) for use in USES}
        return tables.frames_of(simulated, sets)

    return lambda use, feature_set: tables.labelled(frames()(use), feature_set)


def _save(folder: Path, name: str, trained: Mapping[str, Trained]) -> tuple[Path, Path]:
    """Write the models of a file and their twins; return both paths."""
    model, twin = folder / f"{name}.baro", folder / f"{name}.judged.baro"
    save_models(model, [trained[use].model for use in FILES[name]])
    save_models(twin, [trained[use].twin for use in FILES[name]])
    return model, twin


def _counts(history: History) -> tuple[int, int, int]:
    """Return how many candidates are real and noise, and the number of their series."""
    verdicts = history.candidates.verdict
    real = int((verdicts == Verdict.TRUE_POSITIVE.value).sum())
    decided = np.isin(verdicts, FINAL)
    series = history.candidates.series[decided]
    return real, int(decided.sum()) - real, int(np.unique(series).size)


def _facts(name: str, decision: ReleaseDecision) -> Iterator[str]:
    """Yield what was chosen, and the figures that a decision rests on, as text."""
    comparison = decision.get(BESIDE)
    if comparison is not None:
        new, old = (f"{np.mean(comparison[key]):.0%}" for key in ("reported", "reported_by_other"))
        changes = f"{comparison['changes']:,} changes by {comparison['labels']}"
        yield f"{new} of {changes} reported in time, {old} by the built-in pair"
    for use, facts in decision.get("uses", {}).items():
        if CHOICE in facts:
            yield f"{facts['classifier']} learned, as {facts[CHOICE]}"
        if "auc" in facts:
            prefix = "" if use == name else f"{use} "
            yield f"{prefix}AUC {facts['auc']:.3f}, {facts['other']} {facts['auc_of_other']:.3f}"
        if (shares := facts.get("agreement")) is not None:
            new, old = f"{shares['new']:.0%}", f"{shares['old']:.0%}"
            yield f"agreement with people {new}, {facts['other']} {old}"
