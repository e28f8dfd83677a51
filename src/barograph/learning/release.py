"""Decide whether a new model may replace the released one; put it in service, or take it back.

Both sides are judged on held-out series and commits that neither has seen, by the twins that were
learned without them. Where nothing was released yet, the built-in model is the champion; while
verdicts are scarce, it is compared on all of them (`cross_fit`). `retrain` and the service release
models that are better beyond chance, the pipeline those that are not worse. A file with several
models is released only if that holds for each of them.

To put the former model, or at last the built-in one, back in service:
`python -m barograph.learning.release rollback NAME`, with `--release-to FOLDER` if it was released
elsewhere.
"""

import argparse
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from barograph.learning import registry, tables
from barograph.learning.candidates import KEPT
from barograph.learning.choice import CHOICE
from barograph.learning.comparison import (
    CROSS_FIT,
    Comparison,
    ScoredRows,
    auc,
    compared,
    is_better,
    judgements_compared,
)
from barograph.learning.learners import BEST
from barograph.learning.limits import Count, Fraction, ReleasedName, Seed, WholeNumber
from barograph.learning.online.pair import BESIDE, COMPARABLE, VERDICTS, Lesson, beside_champion
from barograph.learning.protocols import stable_split
from barograph.learning.registry import SERVED, Index
from barograph.learning.tracking import Run, record
from barograph.models.artifact import file_digest
from barograph.models.triage import FILES, TriageModel, load_models
from barograph.runtime.errors import (
    ArtifactError,
    BarographError,
    ConfigError,
    DataError,
    NotEnoughDataError,
)

CHOSEN = "classifier", CHOICE  # entries of a card that belong to a decision
BUILT_IN, CHAMPION = "the built-in model", "the champion"
ReleaseDecision = Mapping[str, Any]
Challenger = tuple[
    str, str, ReleaseDecision
]  # name and digest of a file, and what was decided on it


@dataclass(frozen=True)
class ReleaseParams:
    """What a new model must reach on series and commits that it has not seen.

    Attributes:
        least_auc: Models below are never released.
        level: In the pipeline, a model is worse than the champion if p is below this.
        draws: Bootstrap draws of the comparison.
        seed: Seed of the bootstrap.
        least_verdicts: The minimum number of verdicts of each kind that two models are compared on.
        margin: In the pipeline, a model is also worse if its gain is below minus this.
        classifier: What is released: the `best` of train.classifiers, or one of them by name. The
            pipeline releases a classifier that is named even if it is worse.
    """

    least_auc: Fraction
    draws: Count
    seed: Seed
    level: Fraction = 0.05
    least_verdicts: WholeNumber = 10
    margin: Fraction = 0.01
    classifier: ReleasedName = BEST


@dataclass(frozen=True)
class Evidence:
    """What decides on new models.

    Attributes:
        params: What is required.
        frames: Returns the feature table of a use.
        learned_from: Returns what a pair learned from; called only for a pair that learned from
            hindsight.
        must_gain: Whether a model is released only if it is better; else if it is not worse.
        named: The files whose models the user named, which are released even if they are worse.
    """

    params: ReleaseParams
    learned_from: Callable[[], Lesson]
    frames: tables.FrameReader = tables.read_for
    must_gain: bool = True
    named: Collection[str] = ()


def release(
    files: Mapping[str, tuple[Path, Path]], evidence: Evidence
) -> dict[str, dict[str, Any]]:
    """Register new model files, and put those in service that may be; return what was decided.

    Those that are promoted are put in service together.

    Args:
        files: The new file of each name of `FILES`, and the same models learned without the
            held-out rows.
        evidence: What decides on them.
    """
    decided = list(challengers(files, evidence))
    chosen = {name: digest for name, digest, decision in decided if decision["promoted"]}
    release_challengers(SERVED, chosen, {name: decision for name, _, decision in decided})
    decisions: dict[str, dict[str, Any]] = {}
    for name, digest, decision in decided:
        model = files[name][0]
        metrics = {use: dict(fitted.metrics) for use, fitted in load_models(model).items()}
        decisions[name] = {**decision, "candidate": digest, "metrics": metrics}
    return decisions


def challengers(
    files: Mapping[str, tuple[Path, Path]],
    evidence: Evidence,
    served: Path = SERVED,
    *,
    keep: bool = True,
) -> Iterator[Challenger]:
    """Yield name, digest and decision of new model files; those that are promoted may be released.

    A file that was decided on before stays so.

    Args:
        files: As for `release`.
        evidence: What decides on them.
        served: The folder of the champions.
        keep: Whether files with something learned are stored in the registry.
    """
    if keep:
        registry.resume(served)
    for name, (model, twin) in files.items():
        index, twins, digest = Index.read(name, served), load_models(twin), file_digest(model)
        if keep and not any(KEPT in learned.card for learned in twins.values()):
            index.keep(model, twin)
        if digest in index.withdrawn:
            decision: ReleaseDecision = {"promoted": False, "why": "it was rolled back before"}
        elif digest == index.champion:
            decision = index.decisions[digest]
        else:
            decision = decide(twins, index, evidence)
        yield name, digest, decision


def decide(twins: Mapping[str, TriageModel], index: Index, evidence: Evidence) -> ReleaseDecision:
    """Say whether new models may take the champion's place, and why."""
    if any(BESIDE in twin.card for twin in twins.values()):
        return _decide_pair(twins, index, evidence)
    uses = {use: _decide_use(twin, index, evidence) for use, twin in twins.items()}
    rejected = {use: facts for use, facts in uses.items() if not facts["promoted"]}
    reasons = {use: str(facts["why"]) for use, facts in (rejected or uses).items()}
    why = "; ".join(f"{use}: {reason}" for use, reason in reasons.items())
    if len(set(reasons.values())) == 1 and len(reasons) == len(uses):
        why = next(iter(reasons.values()))
    champion = {} if index.champion is None else {"champion": index.champion}
    return {"promoted": not rejected, "why": why, "uses": uses, **champion}


def _decide_use(twin: TriageModel, index: Index, evidence: Evidence) -> dict[str, Any]:
    if KEPT in twin.card:
        return _decided(False, f"nothing was learned: {twin.card[KEPT].partition(': ')[2]}")
    if (why := _below_least(twin, evidence.params.least_auc)) is not None:
        return _decided(False, why)
    decision = _compared_use(twin, index, evidence)
    if index.name not in evidence.named:
        return decision
    return decision | {"promoted": True, "why": f"release.classifier names it; {decision['why']}"}


def _compared_use(twin: TriageModel, index: Index, evidence: Evidence) -> dict[str, Any]:
    """Decide by the comparison with the champion."""
    try:
        facts, gain = _comparison(twin, index, evidence)
    except (ArtifactError, DataError) as error:
        return _not_comparable(index, error, evidence)
    facts = {**facts, **{name: twin.card[name] for name in CHOSEN if name in twin.card}}
    least = evidence.params.least_verdicts
    if gain is None or min(facts["real"], facts["noise"]) < least:
        known = f"{facts['real']} real and {facts['noise']} noise"
        why = f"too few verdicts to tell: {known}, {least} of each are needed"
        return _decided(False, why, **facts)
    other = BUILT_IN if index.champion is None else CHAMPION
    shown = f"AUC on {facts['real'] + facts['noise']:,} verdicts"
    return _decided(*_by_rule(gain, other, shown, evidence), **facts)


def _comparison(
    twin: TriageModel, index: Index, evidence: Evidence
) -> tuple[Mapping[str, Any], Comparison | None]:
    """Return the facts of a comparison, and the gain; None without verdicts of both kinds.

    While verdicts are scarce, both sides are known by their gains over the built-in model.
    """
    facts, champion, lead = twin.card.get(CROSS_FIT), None, None
    if index.champion is not None:
        champion = TriageModel.load(index.folder(index.champion) / registry.TWIN, twin.use)
        lead = _gain(champion.card.get(CROSS_FIT, {}))
    if facts is None or (champion is not None and lead is None):
        facts = compare(twin, champion, evidence)
        return facts | {"other": BUILT_IN if champion is None else CHAMPION}, _gain(facts)
    gain = _gain(facts)
    if lead is None or gain is None:
        return facts | {"other": BUILT_IN}, gain
    return facts | {"other": BUILT_IN, "lead_of_champion": lead.difference}, gain.over(lead)


def _gain(facts: Mapping[str, Any]) -> Comparison | None:
    """Return the comparison among some facts; None if there were no verdicts to compare by."""
    numbers = (facts.get(name, 0) for name in Comparison._fields)
    return Comparison(*numbers) if "difference" in facts else None


def _decide_pair(
    twins: Mapping[str, TriageModel], index: Index, evidence: Evidence
) -> ReleaseDecision:
    """Decide on a pair that learned from hindsight: it must be better than the built-in pair."""
    for twin in twins.values():
        if (why := _below_least(twin, evidence.params.least_auc)) is not None:
            return _decided(False, f"{twin.use}: {why}")
    beside = twins["online"].card[BESIDE]
    facts, gain = {BESIDE: beside}, _gain(beside)
    if gain is None or (evidence.must_gain and beside["labels"] != VERDICTS):
        why = f"fewer than {COMPARABLE} confirmed changes to compare the pair by"
        return _decided(False, why, **facts)
    shown = f"share of {beside['changes']:,} changes reported in time"
    promoted, why = is_better(gain, "the built-in pair", shown)
    if not promoted or index.champion is None:
        return _decided(promoted, why, **facts)
    facts["champion"] = index.champion
    try:
        champion = load_models(index.folder(index.champion) / registry.TWIN)
        entry, gain = beside_champion(evidence.learned_from(), twins, champion)
    except (ArtifactError, DataError) as error:
        return _not_comparable(index, error, evidence) | facts
    facts["beside_champion"] = entry
    shown = f"share of {entry['changes']:,} changes reported in time"
    return _decided(*_by_rule(gain, CHAMPION, shown, evidence), **facts)


def _by_rule(gain: Comparison, other: str, shown: str, evidence: Evidence) -> tuple[bool, str]:
    """Decide by a gain. In the pipeline, few verdicts seldom show that a loss is significant."""
    if evidence.must_gain:
        return is_better(gain, other, shown)
    if gain.p_worse < evidence.params.level:
        return False, f"worse than {other}"
    if gain.difference < -(margin := evidence.params.margin):
        return False, f"worse than {other} by more than {margin:g}"
    return True, f"not worse than {other}"


def _below_least(twin: TriageModel, least: float) -> str | None:
    """Return why a model is never released; a model without held-out verdicts has no AUC."""
    auc = twin.metrics.get("auc", 1.0)
    return f"AUC {auc:.4f} is below {least}" if auc < least else None


def _not_comparable(index: Index, error: Exception, evidence: Evidence) -> dict[str, Any]:
    """Keep the champion; only the pipeline replaces one that cannot be read or applied."""
    other, way_out = BUILT_IN, ""
    if index.champion is not None:
        other = f"{CHAMPION}, {index.served / index.name}.baro"
        command = f"python -m barograph.learning.release rollback {index.name}"
        to = "" if index.served == SERVED else f" --release-to {quote(str(index.served))}"
        way_out = f"; to return to the model before it: {command}{to}"
    lasts = evidence.must_gain or isinstance(error, NotEnoughDataError)
    return _decided(not lasts, f"it cannot be compared with {other}: {error}{way_out}")


def _decided(promoted: bool, why: str, **facts: Any) -> dict[str, Any]:
    return {"promoted": promoted, "why": why, **facts}


def compare(twin: TriageModel, champion: TriageModel | None, evidence: Evidence) -> dict[str, Any]:
    """Compare two models on held-out rows that neither has seen, each with the features it needs.

    Args:
        twin: A new model, learned without the held-out rows.
        champion: Its twin; None is the built-in model, which has seen none of the rows.
        evidence: What they are compared on.

    Returns:
        The number of rows by kind, the AUC of both, and the comparison.

    Raises:
        DataError: A card does not name the seed of the held-out rows.
        NotEnoughDataError: There are no rows of both kinds to compare on.
    """
    other = champion or TriageModel.default(twin.use)
    frame = evidence.frames(twin.use)
    new, old = (tables.labelled(frame, model.feature_set) for model in (twin, other))
    test = np.ones(new.truth.size, dtype=np.bool_)
    for model in (twin, champion):
        if model is not None and model.card.get("histories") != "simulated":
            if "held_out_seed" not in model.card:
                raise DataError("the card does not name the seed of its held-out verdicts")
            split = stable_split(new.identities, new.commits, model.card["held_out_seed"])
            test &= np.isin(np.arange(test.size), split.test)
    truth, counts = new.truth[test], new.verdicts(test)
    if min(counts.values()) == 0:
        verdicts, real = sum(counts.values()), counts["real"]
        raise NotEnoughDataError(f"{verdicts} held-out verdicts, {real} of them real")
    ours, others = (m.predict_proba(r.matrix[test])[:, 1] for m, r in ((twin, new), (other, old)))
    groups = new.identities[test]
    seed, draws = evidence.params.seed, evidence.params.draws
    comparison = compared(truth, ours, others, groups, seed=seed, draws=draws)
    aucs = {"auc": auc(truth, ours), "auc_of_other": auc(truth, others)}
    judged = ScoredRows(ours, twin.threshold), ScoredRows(others, other.threshold)
    means = judgements_compared(truth, *judged, groups, seed=seed, draws=draws)
    return counts | aucs | comparison._asdict() | means


def release_challengers(
    served: Path, digests: Mapping[str, str], decisions: Mapping[str, ReleaseDecision]
) -> None:
    """Put files in service together that were registered and compared before.

    Args:
        served: The folder of the champions.
        digests: The digest of each file.
        decisions: The decisions on these files, and maybe on others.

    Raises:
        ConfigError: A file may not be released, or is not compared with today's champion; none is
            released then.
        DataError: Another process releases or rolls back for a minute.
    """
    with registry.changing(served):
        indices = [
            _promoted(Index.read(name, served), digest, decisions[name])
            for name, digest in digests.items()
        ]
        registry.put_in_service(indices, served)


def _promoted(index: Index, digest: str, decision: ReleaseDecision) -> Index:
    """Return the index with a file in service; the files of a champion may have been deleted."""
    if digest == index.champion:
        return index
    if not decision["promoted"]:
        raise ConfigError(f"{index.name}: not released: {decision['why']}")
    if digest in index.withdrawn:
        raise ConfigError(f"{index.name}: {digest} was rolled back before")
    if index.champion != decision.get("champion"):
        raise ConfigError(f"{index.name}: another model was released since the comparison; retrain")
    return index.promoted(digest, decision)


def rollback(name: str, served: Path = SERVED) -> Index:
    """Do `registry.roll_back`, and record it in MLflow, which knows the pipeline's models alone."""
    index = registry.roll_back(name, served)
    if served == SERVED:
        facts = {"use": name, "digest": index.champion or "built in"}
        record(Run(f"rollback {name}", facts, champions={name: index.champion}))
    return index


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m barograph.learning.release",
        description="Put the former model back in service.",
        epilog="example: python -m barograph.learning.release rollback label_free",
    )
    parser.add_argument("action", choices=["rollback"])
    parser.add_argument("name", choices=FILES)
    where = "folder that the models were released to (default: %(default)s)"
    parser.add_argument("--release-to", type=Path, default=SERVED, metavar="FOLDER", help=where)
    arguments = parser.parse_args()
    try:
        index = rollback(arguments.name, arguments.release_to)
    except (BarographError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    again = index.champion or BUILT_IN
    sys.stdout.write(
        f"{index.name}: {again} is in service again, {index.withdrawn[-1]} withdrawn\n"
    )


if __name__ == "__main__":
    main()
