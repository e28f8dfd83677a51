"""Stage `tune`: a small seeded search for the settings of the classifiers, recorded in full.

It sees only what the twins of `train` learn from: not their validation rows, nor the held-out
series and commits.
"""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from barograph.learning.candidates import TrainParams
from barograph.learning.tune import Search, TuneParams, tune
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name, run

FOLDER = report.FOLDER / "tune"
TABLE = FOLDER / "tuning.csv"
CHOSEN = FOLDER / "settings.json"
SHOWN = ["use", "classifier", "tried", "settings", "auc", "sd", "chosen"]


def table_of(searches: dict[tuple[str, str], Search]) -> pd.DataFrame:
    """Return one row for each try: its settings, its folds, and whether it was chosen."""
    rows = [{"use": use} | row for (use, _), result in searches.items() for row in result.table()]
    # Another classifier's settings leave gaps, which would turn whole numbers into others.
    frame = pd.DataFrame(rows, columns=None if rows else SHOWN).convert_dtypes()
    first = [*SHOWN[:3], *sorted(name for name in frame.columns if name.startswith("model__"))]
    return frame[[*first, *(name for name in frame.columns if name not in first)]]


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table for people: the settings of a try in one cell, and no single folds."""
    settings = table[[name for name in table.columns if name.startswith("model__")]]
    cells = [
        ", ".join(f"{str(name).rpartition('__')[2]} {v}" for name, v in row.dropna().items())
        for _, row in settings.iterrows()
    ]
    chosen = table["chosen"].map({True: "yes", False: ""})
    return table.assign(settings=cells, chosen=chosen).reindex(columns=SHOWN).round(4)


def chosen_for(use: str, classifier: str) -> Mapping[str, Any]:
    """Return the chosen settings; empty, for those of the catalogue, if nothing was tuned."""
    if not CHOSEN.is_file():
        return {}
    settings: Mapping[str, Any] = json.loads(CHOSEN.read_bytes()).get(use, {}).get(classifier, {})
    return settings


def main() -> None:
    """Run the stage."""
    params = parameters(TuneParams, "tune")
    tried = tune(params, parameters(TrainParams, "train"))
    searches = {key: result for key, result in tried.items() if isinstance(result, Search)}
    without = {key: result for key, result in tried.items() if isinstance(result, str)}
    chosen: dict[str, dict[str, Mapping[str, Any]]] = {}
    metrics: dict[str, dict[str, Any]] = {}
    for (use, name), result in searches.items():
        chosen.setdefault(use, {})[name] = result.best.settings
        metrics.setdefault(use, {})[name] = {
            "auc": result.best.auc,
            "auc_of_catalogue": result.trials[0].auc,
            "tried": len(result.trials),
        }
    table = table_of(searches)
    report.write_csv(TABLE, table)
    report.write_page(
        FOLDER / "tuning.md",
        f"Settings that were tried, profile {profile_name()}",
        f"Mean AUC over {params.folds} folds that share no series, and its standard deviation, "
        f"seed {params.seed}. Try 0 has the settings of the catalogue, the others are drawn. "
        "No row that the models are judged on was used. `train` takes the chosen settings; "
        "`evaluate` keeps the catalogue's, since its splits test on these very rows. "
        "tuning.csv has every fold.",
        shown(table),
        *(f"Not tuned, {use}, {name}: {why}." for (use, name), why in without.items()),
    )
    report.write_json(CHOSEN, chosen)
    report.write_json(report.FOLDER / "tune.json", metrics)


if __name__ == "__main__":
    run(main)
