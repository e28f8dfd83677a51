"""Stage `explain`: what moves the models, over all candidates and for the most certain ones."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from barograph.learning import tables
from barograph.learning.limits import Count, Use, WholeNumber
from barograph.models.artifact import file_digest
from barograph.models.triage import USES, TriageModel, file_of
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS
from barograph.pipeline.train import LIBRARY
from barograph.studies.importance import (
    PATHS,
    SHAP,
    UNITS,
    Explanation,
    evenly_spaced,
    explain,
    importance_figure,
)

FOLDER = report.FOLDER / "explain"
KEYS = ["name", "candidate", "series", "index", "commit"]
LABEL = 24  # characters of a series name that the picture shows
LARGEST = 4  # features that the page names for each candidate


@dataclass(frozen=True)
class ExplainParams:
    """How much is explained.

    Attributes:
        use: The use whose most certain candidates are explained one by one.
        rows: Number of candidates, at most, that the means are over.
        features: Number of features that are drawn, the most important first.
        candidates: Number of candidates that are explained one by one.
    """

    use: Use
    rows: Count
    features: Count
    candidates: WholeNumber


def importance(use: str, params: ExplainParams) -> pd.DataFrame:
    """Return what moves the model of one use."""
    model = TriageModel.load(MODELS / file_of(use), use)
    rows = tables.judged_by(model, tables.read_for(use))
    chosen = rows[evenly_spaced(len(rows), params.rows)]
    return explain(model, LIBRARY / f"{use}.ubj", chosen).importance(use)


def most_certain(use: str, count: int) -> tuple[pd.DataFrame, Explanation]:
    """Return the candidates without a verdict that are most likely real, explained."""
    model = TriageModel.load(MODELS / file_of(use), use)
    untriaged = tables.untriaged(tables.read_for(use))
    rows = tables.judged_by(model, untriaged)
    probability = model.predict_proba(rows)[:, 1]
    first = np.lexsort((untriaged["candidate"], -probability))[:count]
    keys = untriaged[KEYS].iloc[first].assign(probability=probability[first])
    return keys.reset_index(drop=True), explain(model, LIBRARY / f"{use}.ubj", rows[first])


def page(
    means: pd.DataFrame, keys: pd.DataFrame, explanation: Explanation, params: ExplainParams
) -> str:
    """Render the importance for each use, and the most certain candidates one by one."""
    parts = [
        f"# What moves the models, profile {profile_name()}",
        f"Each feature's mean absolute part over at most {params.rows} candidates. {SHAP}: Shapley "
        f"values by XGBoost, in {UNITS[SHAP]}; base and parts add up to the log-odds. Other trees "
        f"are explained along their {PATHS}, in {UNITS[PATHS]}: features near the root of a tree "
        "get less of it than their Shapley value.",
        "![the most important features](importance.png)",
    ]
    for use, rows in means.groupby("use", sort=False):
        table = rows.head(params.features)[["feature", "mean_abs", "method"]].round(4)
        parts += [f"## {use}", report.markdown(table)]
    shown = keys.assign(base=explanation.base, largest_parts=explanation.largest(LARGEST)).round(4)
    version = file_digest(MODELS / file_of(params.use))
    parts += [
        f"## The most certain candidates of {params.use}, model {version}",
        report.markdown(shown) if len(shown) else "Every candidate has a verdict.",
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run the stage."""
    params = parameters(ExplainParams, "explain")
    means = pd.concat([importance(use, params) for use in USES], ignore_index=True)
    keys, explanation = most_certain(params.use, params.candidates)
    single = pd.DataFrame(explanation.parts, columns=explanation.names)
    report.write_csv(FOLDER / "importance.csv", means)
    candidates = pd.concat([keys.assign(base=explanation.base), single], axis=1)
    report.write_csv(FOLDER / "candidates.csv", candidates)
    drawn = means[means["use"] == params.use].head(params.features)
    labels = [
        f"{name[-LABEL:]} @{index}" for name, index in zip(keys["name"], keys["index"], strict=True)
    ]
    picture = FOLDER / "importance.png"
    importance_figure(drawn, explanation.names, explanation.parts, labels, picture)
    report.write_text(FOLDER / "explain.md", page(means, keys, explanation, params))
    metrics = {
        str(use): dict(zip(rows["feature"], rows["mean_abs"].tolist(), strict=True))
        for use, rows in means.groupby("use").head(params.features).groupby("use")
    }
    report.write_json(report.FOLDER / "explain.json", metrics)


if __name__ == "__main__":
    run(main)
