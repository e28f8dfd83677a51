"""Stage `tune`: a small seeded search for the settings of the classifiers, recorded in full.

It sees only what the twins of `train` learn from: not their validation rows, nor the held-out
series and commits.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from barograph.errors import ConfigError, NotEnoughDataError
from barograph.models.triage import USES
from barograph.models.tuning import SPACES, Search, search
from barograph.parallel import map_parallel
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.series import Floats, Ints
from barograph.training import tables
from barograph.training.candidates import TrainParams, held_out

FOLDER = report.FOLDER / "tune"
TABLE = FOLDER / "tuning.csv"
CHOSEN = FOLDER / "settings.json"
SHOWN = ["use", "classifier", "tried", "settings", "auc", "sd", "chosen"]


@dataclass(frozen=True)
class TuneParams:
    """What is tuned, and how long the search is.

    Attributes:
        searches: The classifiers that are tuned for each use.
        trials: Settings that are tried for each.
        folds: Of the cross-validation.
        seed: Of the search.
    """

    searches: dict[str, Any]
    trials: int
    folds: int
    seed: int

    def __post_init__(self) -> None:
        """Refuse what cannot be tuned."""
        for use, names in self.searches.items():
            if use not in USES:
                raise ConfigError(f"tune.searches: no use {use!r}; known: {list(USES)}")
            unknown = sorted(set(names) - set(SPACES))
            if unknown:
                raise ConfigError(
                    f"tune.searches.{use}: {unknown[0]!r} has nothing to tune; "
                    f"tuned are {sorted(SPACES)}"
                )


def searched(
    name: str,
    matrix: Floats,
    truth: Ints,
    groups: Ints,
    params: TuneParams,
    trees: int,
) -> Search | str:
    """Return the search, or why it is not possible."""
    try:
        return search(
            name,
            matrix,
            truth,
            groups,
            seed=params.seed,
            trees=trees,
            trials=params.trials,
            folds=params.folds,
        )
    except NotEnoughDataError as error:
        return str(error)


def tune(params: TuneParams, learned: TrainParams) -> dict[tuple[str, str], Search | str]:
    """Search for every use and classifier."""
    calls: dict[tuple[str, str], tuple[Any, ...]] = {}
    without: dict[tuple[str, str], Search | str] = {}
    for use, names in params.searches.items():
        try:
            part = _part(use, learned)
        except NotEnoughDataError as error:
            without |= dict.fromkeys(((use, name) for name in names), str(error))
        else:
            calls |= {(use, name): (name, *part, params, learned.trees) for name in names}
    results = map_parallel(searched, list(calls.values()), label="tune")
    return without | dict(zip(calls, results, strict=True))


def _part(use: str, learned: TrainParams) -> tuple[Floats, Ints, Ints]:
    rows = tables.labelled(tables.read_for(use), str(learned.feature_sets[use]))
    part = held_out(rows, learned.seed).train
    return rows.matrix[part], rows.truth[part], rows.identities[part]


def table_of(searches: dict[tuple[str, str], Search]) -> pd.DataFrame:
    """Return one row for each try: its settings, its folds, and whether it was chosen."""
    rows = [{"use": use} | row for (use, _), result in searches.items() for row in result.table()]
    # Another classifier's settings leave gaps, which would turn whole numbers into others.
    frame = pd.DataFrame(rows, columns=None if rows else SHOWN).convert_dtypes()
    varied = sorted(name for name in frame.columns if name.startswith("model__"))
    first = SHOWN[:3]
    return frame[[*first, *varied, *(n for n in frame.columns if n not in {*first, *varied})]]


def page(table: pd.DataFrame, without: dict[tuple[str, str], str], params: TuneParams) -> str:
    """Render what was tried, and what could not be tuned."""
    names = [name for name in table.columns if name.startswith("model__")]
    settings = [
        ", ".join(
            f"{name.rpartition('__')[2]} {row[name]}" for name in names if not pd.isna(row[name])
        )
        for row in table.to_dict("records")
    ]
    shown = table.assign(settings=settings).reindex(columns=SHOWN).round(4)
    marks = shown["chosen"].map({True: "yes", False: ""})
    parts = [
        f"# Settings that were tried, profile {profile_name()}",
        f"Mean AUC over {params.folds} folds that share no series, and its standard deviation, "
        f"seed {params.seed}. Try 0 has the settings of the catalogue, the others are drawn. "
        "No row that the models are judged on was used. `train` takes the chosen settings; "
        "`evaluate` keeps the catalogue's, since its splits test on these very rows. "
        "tuning.csv has every fold.",
        report.markdown(shown.assign(chosen=marks)),
        *(f"Not tuned, {use}, {name}: {why}." for (use, name), why in without.items()),
    ]
    return "\n\n".join(parts) + "\n"


def metrics_of(searches: dict[tuple[str, str], Search]) -> dict[str, Any]:
    """Return the AUC of the best and of the catalogue's settings, by use and classifier."""
    metrics: dict[str, Any] = {}
    for (use, name), result in searches.items():
        metrics.setdefault(use, {})[name] = {
            "auc": result.best.auc,
            "auc_of_catalogue": result.trials[0].auc,
            "tried": len(result.trials),
        }
    return metrics


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
    for (use, name), result in searches.items():
        chosen.setdefault(use, {})[name] = result.best.settings
    table = table_of(searches)
    report.write_csv(TABLE, table)
    report.write_text(FOLDER / "tuning.md", page(table, without, params))
    report.write_json(CHOSEN, chosen)
    report.write_json(report.FOLDER / "tune.json", metrics_of(searches))


if __name__ == "__main__":
    run(main)
