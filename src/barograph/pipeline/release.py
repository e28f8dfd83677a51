"""Stage `release`: the models that a service loads, each with its card, registered in MLflow.

A new model takes the place of the champion only where it is not worse on the held-out series and
commits. Neither side has seen those: both are judged by the twins that learned without them. What
was made as a pair is promoted as a pair, or not at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from barograph.errors import ArtifactError, DataError
from barograph.evaluation.comparison import compared
from barograph.models.triage import TABLES, USES, TriageModel
from barograph.pipeline import report
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS
from barograph.pipeline.train import TWINS
from barograph.training import registry, tables
from barograph.training.candidates import held_out
from barograph.training.registry import Index
from barograph.training.tracking import tracked


@dataclass(frozen=True)
class ReleaseParams:
    """What a model must reach on series and commits it has not seen."""

    least_auc: float
    level: float  # how small p must be for a new model to count as worse
    draws: int
    seed: int


def card(model: TriageModel) -> str:
    """Render the model card for people."""
    facts: dict[str, Any] = {
        "use": model.use,
        "feature_set": model.feature_set,
        "data_hash": model.data_hash,
    }
    told = {name: value for name, value in model.card.items() if name not in TABLES}
    facts |= {"threshold": round(model.threshold, 4), **told, **model.versions}
    limits, protocol = facts.pop("limits", "-"), facts.pop("protocol", "-")
    lines = [f"# Model card: {model.use}", "", "## Data and settings", ""]
    lines += [f"- {name}: {value}" for name, value in sorted(facts.items())]
    lines += ["", "## Held out", "", f"Protocol: {protocol}.", ""]
    lines += [f"- {name}: {value:.4f}" for name, value in model.metrics.items()]
    return "\n".join([*lines, "", "## Limits", "", str(limits), ""])


def decision(use: str, twin: TriageModel, index: Index, params: ReleaseParams) -> dict[str, Any]:
    """Say whether a new model may take the champion's place, and why."""
    auc = twin.metrics["auc"]
    if auc < params.least_auc:
        return {"promoted": False, "why": f"AUC {auc:.4f} is below {params.least_auc}"}
    if index.champion is None:
        return {"promoted": True, "why": "there was no champion"}
    try:
        champion = TriageModel.load(index.folder(index.champion) / registry.TWIN)
        found = _compared(use, twin, champion, params)
    except (ArtifactError, DataError) as error:
        return {"promoted": True, "why": f"the champion cannot be judged any more: {error}"}
    better = found["p_worse"] >= params.level
    why = "not worse than the champion" if better else "worse than the champion"
    return {"promoted": better, "why": why, "champion": index.champion, **found}


def _compared(
    use: str, twin: TriageModel, champion: TriageModel, params: ReleaseParams
) -> dict[str, float]:
    """Compare the two twins on the held-out rows, each with the features it knows."""
    frame = tables.read_for(use)
    new, old = (tables.labelled(frame, model.feature_set) for model in (twin, champion))
    if twin.card["seed"] != champion.card["seed"]:
        raise DataError(f"it held out other rows, by the seed {champion.card['seed']}")
    test = held_out(new, twin.card["seed"]).test
    truth, series = new.truth[test], new.identities[test]
    newer = twin.predict_proba(new.matrix[test])[:, 1]
    older = champion.predict_proba(old.matrix[test])[:, 1]
    found = compared(truth, newer, older, series, seed=params.seed, draws=params.draws)
    return found._asdict()


@dataclass(frozen=True)
class Candidate:
    """A new model that is kept, and whether it may take the champion's place."""

    index: Index
    digest: str
    model: TriageModel
    decision: Mapping[str, Any]


def considered(use: str, params: ReleaseParams) -> Candidate:
    """Keep the new model of one use, and decide on it alone."""
    model, twin = (TriageModel.load(folder / f"{use}.baro") for folder in (MODELS, TWINS))
    index = Index.read(use)
    digest = index.keep(MODELS / f"{use}.baro", TWINS / f"{use}.baro", card(model))
    if digest in index.withdrawn:
        found: Mapping[str, Any] = {"promoted": False, "why": "it was rolled back before"}
    elif digest == index.champion:
        found = index.decisions[digest]  # what was decided when it was promoted
    else:
        found = decision(use, twin, index, params)
    pair = {"pair": model.card["pair"]} if "pair" in model.card else {}
    return Candidate(index, digest, model, {**found, **pair})


def together(made: Sequence[Candidate]) -> list[Candidate]:
    """Hold back what was made to decide with a model that is not promoted: both, or none."""
    back = {
        one.decision["pair"]: f"{one.model.use}, its pair, is not: {one.decision['why']}"
        for one in made
        if "pair" in one.decision and not one.decision["promoted"]
    }
    return [
        replace(one, decision={**one.decision, "promoted": False, "why": why})
        if one.decision["promoted"]
        and one.digest != one.index.champion
        and (why := back.get(one.decision.get("pair")))
        else one
        for one in made
    ]


def release(one: Candidate, params: ReleaseParams) -> dict[str, Any]:
    """Register a new model, and promote it where it may be."""
    use, found, index = one.model.use, one.decision, one.index
    if one.digest == index.champion:
        index.serve(one.digest)  # its files may have been deleted since
    with tracked(f"release {use}") as recorded:
        recorded.parameters(asdict(params) | {"use": use, "digest": one.digest})
        recorded.metrics(dict(one.model.metrics) | dict(found))
        recorded.register(use, MODELS / f"{use}.baro", one.digest)
        if found["promoted"] and one.digest != index.champion:
            index.promoted(one.digest, found).take_effect()
        recorded.promote(use, str(Index.read(use).champion))
    return {**found, "candidate": one.digest, "metrics": dict(one.model.metrics)}


def main() -> None:
    """Run the stage."""
    params = parameters(ReleaseParams, "release")
    made = together([considered(use, params) for use in USES])
    released = {one.model.use: release(one, params) for one in made}
    report.write_json(report.FOLDER / "release.json", released)


if __name__ == "__main__":
    run(main)
