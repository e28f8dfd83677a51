"""Stage `release`: the models that a service loads, each with its card, registered in MLflow."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barograph.files import whole
from barograph.models.triage import TriageModel
from barograph.pipeline import report
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.tracking import tracked
from barograph.pipeline.train import FOLDER as MODELS
from barograph.pipeline.train import POLICY

FOLDER = Path("data/release")


@dataclass(frozen=True)
class ReleaseParams:
    """What a model must reach on series and commits it has not seen."""

    least_auc: float


def card(model: TriageModel) -> str:
    """Render the model card for people."""
    facts = {**model.card, "use": model.use, "threshold": round(model.threshold, 4)}
    held_out: dict[str, float] = facts.pop("held_out")
    lines = [f"# Model card: {model.use}", ""]
    lines += [f"- {name}: {value}" for name, value in sorted(facts.items())]
    lines += ["", "Held out (grouped by series and commit):", ""]
    lines += [f"- {name}: {value:.4f}" for name, value in held_out.items()]
    return "\n".join([*lines, ""])


def main() -> None:
    """Run the stage."""
    params = parameters(ReleaseParams, "release")
    released: dict[str, Any] = {}
    for use in POLICY:
        model = TriageModel.load(MODELS / f"{use}.baro")
        good = model.card["held_out"]["auc"] >= params.least_auc
        released[use] = {"released": good, **model.card["held_out"]}
        if not good:
            continue
        with whole(FOLDER / f"{use}.baro") as draft:
            shutil.copyfile(MODELS / f"{use}.baro", draft)
        with whole(FOLDER / f"{use}.md") as draft:
            draft.write_text(card(model), encoding="utf-8")
        with tracked(f"release {use}") as run:
            run.parameters(dict(model.card) | {"use": use, "threshold": model.threshold})
            run.metrics(released[use])
            run.register(use, FOLDER / f"{use}.baro")
    report.write_json(report.FOLDER / "release.json", released)


if __name__ == "__main__":
    run(main)
