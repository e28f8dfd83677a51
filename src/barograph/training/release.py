"""Decide whether a new model may replace the released one; put it in service, or take it back.

Both sides are judged on held-out series and commits that neither has seen, by the twins that were
learned without them. A file with several models is replaced only if none of them got worse.

To put the former model back in service: `python -m barograph.training.release rollback NAME`.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from barograph.errors import ArtifactError, BarographError, DataError, NotEnoughDataError
from barograph.evaluation.comparison import compared
from barograph.models.triage import FILES, TABLES, TriageModel, load_models
from barograph.training import registry, tables
from barograph.training.candidates import held_out
from barograph.training.online.pair import Lesson, compare_with_champion
from barograph.training.online.pair_comparison import BESIDE
from barograph.training.registry import Index
from barograph.training.tracking import record_rollback, tracked

Decision = Mapping[str, Any]


@dataclass(frozen=True)
class ReleaseParams:
    """What a new model must reach on series and commits that it has not seen.

    Attributes:
        least_auc: Models below are never released.
        level: A new model counts as worse than the champion if p is below this.
        draws: Bootstrap draws of the comparison.
        seed: Of the bootstrap.
    """

    least_auc: float
    level: float
    draws: int
    seed: int


def release(
    name: str,
    model: Path,
    twin: Path,
    params: ReleaseParams,
    learned_from: Callable[[], Lesson] | None = None,
) -> dict[str, Any]:
    """Register a new model file, and promote it where it may be; return what was decided.

    Args:
        name: One of `FILES`.
        model: The new file.
        twin: The same models, learned without the held-out rows.
        params: What is required.
        learned_from: Returns what a pair learned from; called only for a pair that learned from
            hindsight.
    """
    models, index = load_models(model), Index.read(name)
    digest = index.keep(model, twin, "\n".join(card(part) for part in models.values()))
    if digest in index.withdrawn:
        decision: Decision = {"promoted": False, "why": "it was rolled back before"}
    elif digest == index.champion:
        decision = index.decisions[digest]  # what was decided when it was promoted
        index.serve(digest)  # its files may have been deleted since
    else:
        decision = decide(load_models(twin), index, params, learned_from)
    metrics = {use: dict(one.metrics) for use, one in models.items()}
    with tracked(f"release {name}") as run:
        run.parameters(asdict(params) | {"use": name, "digest": digest})
        run.metrics(metrics | dict(decision))
        run.register(name, model, digest)
        if decision["promoted"] and digest != index.champion:
            index.promoted(digest, decision).take_effect()
        run.promote(name, str(Index.read(name).champion))
    return {**decision, "candidate": digest, "metrics": metrics}


def decide(
    twins: Mapping[str, TriageModel],
    index: Index,
    params: ReleaseParams,
    learned_from: Callable[[], Lesson] | None = None,
) -> Decision:
    """Say whether new models may take the champion's place, and why."""
    if learned_from is not None and any(BESIDE in twin.card for twin in twins.values()):
        return _decide_pair(twins, index, params, learned_from)
    uses = {use: _decide_use(twin, index, params) for use, twin in twins.items()}
    rejected = {use: found for use, found in uses.items() if not found["promoted"]}
    reasons = {use: str(found["why"]) for use, found in (rejected or uses).items()}
    if len(set(reasons.values())) == 1 and len(reasons) == len(uses):
        why = next(iter(reasons.values()))
    else:
        why = "; ".join(f"{use}: {reason}" for use, reason in reasons.items())
    champion = {} if index.champion is None else {"champion": index.champion}
    return {"promoted": not rejected, "why": why, "uses": uses, **champion}


def _decide_use(twin: TriageModel, index: Index, params: ReleaseParams) -> dict[str, Any]:
    if (why := _below_least(twin, params)) is not None:
        return _decided(False, why)
    if index.champion is None:
        return _decided(True, "there was no champion")
    try:
        champion = TriageModel.load(index.folder(index.champion) / registry.TWIN, twin.use)
        comparison = compare(twin, champion, params)
    except NotEnoughDataError as error:
        return _decided(False, f"it cannot be compared with the champion: {error}")
    except (ArtifactError, DataError) as error:
        return _decided(True, f"the champion cannot be judged any more: {error}")
    if comparison["p_worse"] < params.level:
        return _decided(False, "worse than the champion", **comparison)
    return _decided(True, "not worse than the champion", **comparison)


def _decide_pair(
    twins: Mapping[str, TriageModel],
    index: Index,
    params: ReleaseParams,
    learned_from: Callable[[], Lesson],
) -> Decision:
    """Decide on a pair that learned from hindsight.

    It must report more changes than the shipped pair, and not fewer than the champion.
    """
    for twin in twins.values():
        if (why := _below_least(twin, params)) is not None:
            return _decided(False, f"{twin.use}: {why}")
    facts = {BESIDE: twins["online"].card[BESIDE]}
    if not facts[BESIDE]["is_better"]:
        return _decided(False, "reports no more changes than the shipped pair", **facts)
    if index.champion is None:
        return _decided(True, "reports more changes than the shipped pair", **facts)
    facts["champion"] = index.champion
    try:
        champion = load_models(index.folder(index.champion) / registry.TWIN)
        compared = compare_with_champion(learned_from(), twins, champion)
    except NotEnoughDataError as error:
        return _decided(False, f"it cannot be compared with the champion: {error}", **facts)
    except (ArtifactError, DataError) as error:
        return _decided(True, f"the champion cannot be judged any more: {error}", **facts)
    facts["beside_champion"] = compared.to_card()
    if compared.not_worse < params.level:
        return _decided(False, "worse than the champion", **facts)
    return _decided(True, "not worse than the champion", **facts)


def _below_least(twin: TriageModel, params: ReleaseParams) -> str | None:
    """Return why a model is never released; a model without held-out verdicts has no AUC."""
    auc = twin.metrics.get("auc", 1.0)
    return f"AUC {auc:.4f} is below {params.least_auc}" if auc < params.least_auc else None


def _decided(promoted: bool, why: str, **facts: Any) -> dict[str, Any]:
    return {"promoted": promoted, "why": why, **facts}


def compare(twin: TriageModel, champion: TriageModel, params: ReleaseParams) -> dict[str, float]:
    """Compare the twins of two models on the held-out rows, each with the features it needs.

    Raises:
        DataError: They were not learned without the same rows.
    """
    frame = tables.read_for(twin.use)
    new, old = (tables.labelled(frame, model.feature_set) for model in (twin, champion))
    if twin.card["seed"] != champion.card["seed"]:
        raise DataError(f"it held out other rows, by the seed {champion.card['seed']}")
    test = held_out(new, twin.card["seed"]).test
    return compared(
        new.truth[test],
        twin.predict_proba(new.matrix[test])[:, 1],
        champion.predict_proba(old.matrix[test])[:, 1],
        new.identities[test],
        seed=params.seed,
        draws=params.draws,
    )._asdict()


def card(model: TriageModel) -> str:
    """Render the card of a model for people."""
    facts: dict[str, Any] = {
        "use": model.use,
        "feature_set": model.feature_set,
        "data_hash": model.data_hash,
        "threshold": round(model.threshold, 4),
    }
    facts |= {name: value for name, value in model.card.items() if name not in TABLES}
    facts |= model.versions
    limits, protocol = facts.pop("limits", "-"), facts.pop("protocol", "-")
    lines = [f"# Model card: {model.use}", "", "## Data and settings", ""]
    lines += [f"- {name}: {value}" for name, value in sorted(facts.items())]
    lines += ["", "## Held out", "", f"Protocol: {protocol}.", ""]
    lines += [f"- {name}: {value:.4f}" for name, value in model.metrics.items()]
    return "\n".join([*lines, "", "## Limits", "", str(limits), ""])


def rollback(name: str) -> Index:
    """Put the model before the champion back in service, here and in MLflow.

    The one that is taken back stays in the registry, marked as withdrawn: it is never promoted
    again.

    Raises:
        ConfigError: There is no former model.
    """
    index = Index.read(name).rolled_back()
    index.take_effect()
    record_rollback(name, str(index.champion))
    return index


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m barograph.training.release",
        epilog="example: python -m barograph.training.release rollback label_free",
    )
    commands = parser.add_subparsers(required=True)
    back = commands.add_parser("rollback", help="put the former model back in service")
    back.add_argument("name", choices=FILES)
    try:
        index = rollback(parser.parse_args().name)
    except (BarographError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    sys.stdout.write(
        f"{index.name}: {index.champion} is in service again, {index.withdrawn[-1]} withdrawn\n"
    )


if __name__ == "__main__":
    main()
