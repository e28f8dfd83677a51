"""Stage `classify`: what the model says of the candidates that nobody has triaged yet."""

from dataclasses import dataclass

import pandas as pd

from barograph.models.triage import TriageModel
from barograph.pipeline import report, tables
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS
from barograph.pipeline.train import POLICY

FOLDER = report.FOLDER / "classify"
PAPER_SHARE = 0.40  # Bauer et al. 2022, 3.3: 40 % of the commits not triaged were called real


@dataclass(frozen=True)
class ClassifyParams:
    """Which model classifies."""

    use: str


def classify(model: TriageModel, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the untriaged candidates with probability and class, the surest first."""
    waiting = tables.untriaged(frame)
    names = list(model.columns)
    probability = model.predict_proba(waiting[names].to_numpy(dtype="float64"))[:, 1]
    answer = waiting[["candidate", "series", "index", "commit", "verdict"]].assign(
        probability=probability, real=probability >= model.threshold
    )
    return answer.sort_values(["probability", "candidate"], ascending=[False, True])


def main() -> None:
    """Run the stage."""
    params = parameters(ClassifyParams, "classify")
    model = TriageModel.load(MODELS / f"{params.use}.baro")
    answer = classify(model, tables.read(POLICY[params.use]))
    report.write_csv(FOLDER / "classified.csv", answer)
    report.write_parquet(FOLDER / "classified.parquet", answer)
    share = float(answer["real"].mean()) if len(answer) else 0.0
    report.write_json(
        report.FOLDER / "classify.json",
        {"candidates": len(answer), "share_real": share, "share_real_in_paper": PAPER_SHARE},
    )


if __name__ == "__main__":
    run(main)
