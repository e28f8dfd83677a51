"""Stage `release`: the models that a service loads, each with its card, registered in MLflow.

A new file takes the place of the champion only if its models are not worse on the held-out series
and commits. A pair that learned from hindsight must also report more changes in time than the
shipped pair.
"""

from collections.abc import Mapping
from typing import Any

from barograph.learning.candidates import TrainParams, usable_verdicts
from barograph.learning.online.pair import Lesson, lesson
from barograph.learning.registry import SERVED
from barograph.learning.release import Evidence, ReleaseParams, release
from barograph.models.triage import FILES
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, run
from barograph.pipeline.train import FOLDER, TWINS
from barograph.results.history import History


def main() -> None:
    """Run the stage."""
    params = parameters(ReleaseParams, "release")
    evidence = Evidence(params, learned_from, must_gain=False)
    files = {name: (FOLDER / f"{name}.baro", TWINS / f"{name}.baro") for name in FILES}
    decisions = release(files, evidence)
    lines = [
        f"- {name}: {'released' if decision['promoted'] else 'not released'}; {decision['why']}."
        for name, decision in decisions.items()
    ]
    note = "Commands and service use the built-in model of a use without a file in this folder."
    report.write_page(SERVED / "release.md", "Released models", "\n".join(lines), note)
    report.write_json(report.FOLDER / "release.json", decisions)
    report.write_json(report.FOLDER / "auc.json", aucs(decisions))


def aucs(decisions: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the AUC of each use, which `dvc metrics show` prints in a line of 80 characters."""
    return {
        use: facts["auc"]
        for decision in decisions.values()
        for use, facts in decision["metrics"].items()
        if "auc" in facts
    }


def learned_from() -> Lesson:
    """Return what the online models learned from, to compare pairs by it."""
    params = parameters(TrainParams, "train")
    return lesson(History.read(INTERIM), usable_verdicts("online", params), params)


if __name__ == "__main__":
    run(main)
