"""Stage `release`: the models that a service loads, each with its card, registered in MLflow.

A new file takes the place of the champion only if its models are not worse on the held-out series
and commits, unless `release.classifier` names its classifier. A pair that learned from hindsight
must also report more changes in time than the shipped pair.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from barograph.learning.candidates import TrainParams, usable_verdicts
from barograph.learning.choice import path_of
from barograph.learning.online.pair import Lesson, lesson
from barograph.learning.registry import SERVED, Index
from barograph.learning.release import Evidence, ReleaseParams, release
from barograph.learning.tracking import Run
from barograph.models.triage import FILES
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, released_classifier, run
from barograph.pipeline.train import FOLDER, TWINS
from barograph.results.history import History


def main() -> Run:
    """Run the stage; return the models to register, and those in service."""
    params, classifier = parameters(ReleaseParams, "release"), released_classifier()
    places = {name: [path_of(each, name, classifier) for each in (FOLDER, TWINS)] for name in FILES}
    named = [name for name, (model, _) in places.items() if model.parent != FOLDER]
    evidence = Evidence(params, learned_from, must_gain=False, named=named)
    decisions = release({name: (model, twin) for name, (model, twin) in places.items()}, evidence)
    lines = [line for name, decision in decisions.items() for line in lines_of(name, decision)]
    note = "Commands and service use the built-in model of a use without a file in this folder."
    report.write_page(SERVED / "release.md", "Released models", "\n".join(lines), note)
    report.write_json(report.FOLDER / "release.json", decisions)
    report.write_json(report.FOLDER / "auc.json", aucs(decisions))
    sys.stdout.write("\n".join(lines) + "\n")
    return Run(
        "release",
        files=[str(path) for path in sorted(SERVED.glob("*.md"))],
        models={name: str(model) for name, (model, _) in places.items()},
        champions={name: Index.read(name).champion for name in places},
    )


def lines_of(name: str, decision: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for a decision, and one for each comparison that it rests on."""
    outcome = "released" if decision["promoted"] else "not released"
    yield f"- {name}: {outcome}; {decision['why']}."
    for use, facts in decision.get("uses", {}).items():
        if "auc" in facts and "difference" in facts:
            gain = "{difference:+.3f} (90 % interval {low:+.3f} to {high:+.3f})".format(**facts)
            aucs_of = f"AUC {facts['auc']:.3f}, {facts['other']} {facts['auc_of_other']:.3f}"
            count = facts["real"] + facts["noise"]
            yield f"  - {use}, {facts['classifier']}: {aucs_of}, gain {gain} on {count:,} verdicts."


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
