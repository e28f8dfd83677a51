"""Stage `classify`: score the candidates without a verdict."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from barograph.learning import tables
from barograph.learning.choice import path_of
from barograph.learning.limits import OpenFraction, Use, WholeNumber
from barograph.models.artifact import file_digest
from barograph.models.calibration import UNSURE
from barograph.models.reasons import explain, paragraph
from barograph.models.triage import TriageModel, file_of
from barograph.pipeline import report
from barograph.pipeline.params import parameters, released_classifier, run
from barograph.results.series import FINAL
from barograph.runtime.parallel import map_parallel, row_ranges

MODELS = Path("data/models")
FOLDER = report.FOLDER / "classify"
PAPER_SHARE = 0.40  # Bauer et al. 2022, 3.3: 40 % of the commits not triaged were called real
ANSWERS = {0: "noise", 1: "real", UNSURE: "unsure, a person should decide"}
CHUNK = 5000  # candidates in one call
KEYS = ["name", "candidate", "series", "index", "commit", "verdict"]


@dataclass(frozen=True)
class ClassifyParams:
    """How candidates are classified.

    Attributes:
        use: The use of the model.
        coverage: The coverage of the prediction sets.
        reasons: Maximum number of sentences that explain each candidate.
    """

    use: Use
    coverage: OpenFraction
    reasons: WholeNumber


def classify(path: Path, untriaged: pd.DataFrame, params: ClassifyParams) -> pd.DataFrame:
    """Return candidates with the probability, class and reasons that a model gives them."""
    model = TriageModel.load(path, params.use)
    rows = tables.columns(untriaged, model.feature_set)
    probability = model.predict_proba(rows)[:, 1]
    real = probability >= model.threshold
    sets = model.predict_set(rows, params.coverage)
    sets[sets != real] = UNSURE  # the sets do not use the threshold
    return untriaged[KEYS].assign(
        probability=probability,
        real=real,
        answer=[ANSWERS[int(index)] for index in sets],
        reasons=[paragraph(reasons) for reasons in explain(model, rows, limit=params.reasons)],
        model=file_digest(path),
    )


def main() -> None:
    """Run the stage."""
    params = parameters(ClassifyParams, "classify")
    path = path_of(MODELS, Path(file_of(params.use)).stem, released_classifier())
    untriaged = tables.read_for(params.use).loc[lambda frame: ~frame["verdict"].isin(FINAL)]
    parts = row_ranges(len(untriaged), 1, smallest=1, largest=CHUNK, parts=1) or [slice(0)]
    calls = [(path, untriaged[part], params) for part in parts]
    table = pd.concat(map_parallel(classify, calls, label="classify"))
    table = table.sort_values(["probability", "candidate"], ascending=[False, True])
    report.write_csv(FOLDER / "classified.csv", table)
    report.write_parquet(FOLDER / "classified.parquet", table)
    share = float(table["real"].mean()) if len(table) else 0.0
    counts = table["answer"].value_counts()
    metrics: dict[str, Any] = {
        "candidates": len(table),
        "share_real": share,
        "share_real_in_paper": PAPER_SHARE,
        "answers": {name: int(counts.get(name, 0)) for name in ANSWERS.values()},
    }
    report.write_json(report.FOLDER / "classify.json", metrics)


if __name__ == "__main__":
    run(main)
