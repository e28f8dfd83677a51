"""Stage `release`: the models that a service loads, each with its card, registered in MLflow.

A new model takes the place of the champion only where it is not worse on the held-out series and
commits. Neither side has seen those: both are judged by the twins that learned without them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from barograph.errors import ArtifactError, DataError
from barograph.evaluation.comparison import compared
from barograph.models.triage import TABLES, USES, TriageModel
from barograph.pipeline import registry, report, tables
from barograph.pipeline.params import parameters
from barograph.pipeline.registry import Index
from barograph.pipeline.stage import run
from barograph.pipeline.tracking import tracked
from barograph.pipeline.train import FOLDER as MODELS
from barograph.pipeline.train import TWINS
from barograph.pipeline.training import held_out


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


def release(use: str, params: ReleaseParams) -> dict[str, Any]:
    """Register the new model of one use, and promote it where it may be."""
    model, twin = (TriageModel.load(folder / f"{use}.baro") for folder in (MODELS, TWINS))
    index = Index.read(use)
    digest = index.keep(MODELS / f"{use}.baro", TWINS / f"{use}.baro", card(model))
    if digest in index.withdrawn:
        found: Mapping[str, Any] = {"promoted": False, "why": "it was rolled back before"}
    elif digest == index.champion:
        # What was decided when it was promoted; the files may have been deleted since.
        found = index.decisions[digest]
        index.serve(digest)
    else:
        found = decision(use, twin, index, params)
    with tracked(f"release {use}") as recorded:
        recorded.parameters(asdict(params) | {"use": use, "digest": digest})
        recorded.metrics(dict(model.metrics) | dict(found))
        recorded.register(use, MODELS / f"{use}.baro", digest)
        if found["promoted"] and digest != index.champion:
            index.promoted(digest, found)
        recorded.promote(use, str(Index.read(use).champion))
    return {**found, "candidate": digest, "metrics": dict(model.metrics)}


def main() -> None:
    """Run the stage."""
    params = parameters(ReleaseParams, "release")
    released = {use: release(use, params) for use in USES}
    report.write_json(report.FOLDER / "release.json", released)


if __name__ == "__main__":
    run(main)
