"""Stage `explain`: what moves the models, over all candidates and for the surest ones.

Boosted trees are explained by the Shapley values of the library's own model, which is kept beside
the artifact for this report alone; other models by their reasons along the decision paths.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from barograph.errors import ConfigError
from barograph.models.artifact import file_digest
from barograph.models.flat_boosted import FlatBoosted
from barograph.models.shapley import contributions
from barograph.models.triage import USES, TriageModel, file_of
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS
from barograph.pipeline.train import LIBRARY
from barograph.series import Floats
from barograph.studies.importance import importance_figure
from barograph.training import tables

FOLDER = report.FOLDER / "explain"
SHAP = "TreeSHAP"
PATHS = "decision paths"
UNITS = {SHAP: "log-odds, before calibration", PATHS: "probability"}
KEYS = ["candidate", "series", "index", "commit"]
TOLD = 4  # features that the page names for each candidate


@dataclass(frozen=True)
class ExplainParams:
    """How much is explained."""

    use: str  # whose surest candidates are explained one by one
    rows: int  # candidates, at most, that the means are over
    features: int  # drawn, the most important first
    candidates: int

    def __post_init__(self) -> None:
        """Refuse a use that no model is made for."""
        if self.use not in USES:
            raise ConfigError(f"explain.use is {self.use!r}; known uses: {list(USES)}")


@dataclass(frozen=True)
class Parts:
    """Rows explained: the base and the row's parts add up to what the model says."""

    method: str
    names: list[str]
    base: float
    parts: Floats

    def importance(self, use: str) -> pd.DataFrame:
        """Return each feature's mean absolute part, the greatest first."""
        mean = np.abs(self.parts).mean(axis=0)
        order = np.argsort(-mean, kind="stable")
        columns = {"use": use, "feature": np.array(self.names)[order], "mean_abs": mean[order]}
        return pd.DataFrame(columns).assign(method=self.method, unit=UNITS[self.method])


def explained(use: str, model: TriageModel, rows: Floats) -> Parts:
    """Return the parts of rows, by Shapley values where the model is of boosted trees."""
    library = LIBRARY / f"{use}.ubj"
    if isinstance(model.flat, FlatBoosted):
        base, parts = contributions(library.read_bytes(), model.flat, rows)
        return Parts(SHAP, list(model.columns), base, parts)
    base, parts = model.reasons(rows)
    return Parts(PATHS, list(model.reason_names), base, parts)


def spread_out(count: int, most: int) -> np.ndarray:
    """Return the numbers of at most so many rows, evenly spread over all."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def importance(use: str, params: ExplainParams) -> pd.DataFrame:
    """Return what moves the model of one use."""
    model = TriageModel.load(MODELS / file_of(use), use)
    rows = tables.judged_by(model, tables.read_for(use))
    return explained(use, model, rows[spread_out(len(rows), params.rows)]).importance(use)


def surest(use: str, count: int) -> tuple[pd.DataFrame, Parts]:
    """Return the untriaged candidates that are most probably real, and their parts."""
    model = TriageModel.load(MODELS / file_of(use), use)
    waiting = tables.untriaged(tables.read_for(use))
    rows = tables.judged_by(model, waiting)
    probability = model.predict_proba(rows)[:, 1]
    first = np.lexsort((waiting["candidate"], -probability))[:count]
    found = explained(use, model, rows[first])
    keys = waiting[KEYS].iloc[first].assign(probability=probability[first])
    return keys.reset_index(drop=True), found


def page(
    means: pd.DataFrame, keys: pd.DataFrame, found: Parts, version: str, params: ExplainParams
) -> str:
    """Render the importance for each use, and the surest candidates one by one."""
    parts = [
        f"# What moves the models, profile {profile_name()}",
        f"Each feature's mean absolute part over at most {params.rows} candidates. {SHAP}: Shapley "
        f"values by XGBoost, in {UNITS[SHAP]}; base and parts add up to the log-odds. Other "
        f"models are explained along their {PATHS}, in {UNITS[PATHS]}: features near the root of "
        "a tree get less of it than their Shapley value.",
        "![the most important features](importance.png)",
    ]
    for use, one in means.groupby("use", sort=False):
        table = one.head(params.features)[["feature", "mean_abs", "method"]].round(4)
        parts += [f"## {use}", report.markdown(table)]
    told = [_told(found.names, line) for line in found.parts]
    shown = keys.assign(base=found.base, largest_parts=told).round(4)
    parts += [
        f"## The surest candidates of {params.use}, model {version}",
        report.markdown(shown) if len(shown) else "Nothing waits for a person.",
    ]
    return "\n\n".join(parts) + "\n"


def _told(names: list[str], line: Floats) -> str:
    order = np.argsort(-np.abs(line), kind="stable")[:TOLD]
    return "; ".join(f"{names[k]} {line[k]:+.3f}" for k in order)


def main() -> None:
    """Run the stage."""
    params = parameters(ExplainParams, "explain")
    means = pd.concat([importance(use, params) for use in USES], ignore_index=True)
    keys, found = surest(params.use, params.candidates)
    single = pd.DataFrame(found.parts, columns=found.names)
    table = pd.concat([keys.assign(base=found.base), single], axis=1)
    report.write_csv(FOLDER / "importance.csv", means)
    report.write_csv(FOLDER / "candidates.csv", table)
    drawn = means[means["use"] == params.use].head(params.features)
    labels = [str(number) for number in keys["candidate"]]
    importance_figure(drawn, found.names, found.parts, labels, FOLDER / "importance.png")
    version = file_digest(MODELS / file_of(params.use))
    report.write_text(FOLDER / "explain.md", page(means, keys, found, version, params))
    first = means.groupby("use").head(params.features)
    metrics = {
        str(use): dict(zip(one["feature"], one["mean_abs"].tolist(), strict=True))
        for use, one in first.groupby("use")
    }
    report.write_json(report.FOLDER / "explain.json", metrics)


if __name__ == "__main__":
    run(main)
