"""Stage `tune`: a small seeded search for the settings of the classifiers, recorded in full.

Only what the twins of `train` learn from is looked at: not their validation, nor the series and
commits that are held out to judge them.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from barograph.errors import ConfigError, NotEnoughDataError
from barograph.models.triage import USES
from barograph.models.tuning import SPACES, Search, search
from barograph.parallel import map_parallel
from barograph.pipeline import report, settings
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.series import Floats, Ints
from barograph.training import tables
from barograph.training.candidates import TrainParams, held_out

PAGE = settings.FOLDER / "tuning.md"
SHOWN = ["use", "classifier", "tried", "settings", "auc", "sd", "chosen"]


@dataclass(frozen=True)
class TuneParams:
    """What is tuned, and how long is searched."""

    searches: dict[str, Any]  # the classifiers that are tuned for each use
    trials: int
    folds: int
    seed: int

    def __post_init__(self) -> None:
        """Refuse what cannot be tuned before anything is."""
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
    """Return the search, or why there are too few verdicts for one."""
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
    """Search for every use and classifier, or say why not."""
    calls = {
        (use, name): (name, *_part(use, learned), params, learned.trees)
        for use, names in params.searches.items()
        for name in names
    }
    results = map_parallel(searched, list(calls.values()), label="tune")
    return dict(zip(calls, results, strict=True))


def _part(use: str, learned: TrainParams) -> tuple[Floats, Ints, Ints]:
    rows = tables.labelled(tables.read_for(use), str(learned.feature_sets[use]))
    part = held_out(rows, learned.seed).train
    return rows.matrix[part], rows.truth[part], rows.identities[part]


def table_of(found: dict[tuple[str, str], Search]) -> pd.DataFrame:
    """Return one row a try, with its settings, its folds, and whether it was chosen."""
    rows = [{"use": use} | row for (use, _), one in found.items() for row in one.table()]
    # Another classifier's settings leave gaps, which would turn whole numbers into others.
    frame = pd.DataFrame(rows, columns=None if rows else SHOWN).convert_dtypes()
    varied = sorted(name for name in frame.columns if name.startswith("model__"))
    first = SHOWN[:3]
    return frame[[*first, *varied, *(n for n in frame.columns if n not in {*first, *varied})]]


def page(table: pd.DataFrame, without: dict[tuple[str, str], str], params: TuneParams) -> str:
    """Render what was tried, and what could not be."""
    names = [name for name in table.columns if name.startswith("model__")]
    told = [
        ", ".join(
            f"{name.rpartition('__')[2]} {row[name]}" for name in names if not pd.isna(row[name])
        )
        for row in table.to_dict("records")
    ]
    shown = table.assign(settings=told).reindex(columns=SHOWN).round(4)
    marks = shown["chosen"].map({True: "yes", False: ""})
    parts = [
        f"# Settings that were tried, profile {profile_name()}",
        f"Mean AUC over {params.folds} folds that share no series, and its standard deviation over "
        f"them, seed {params.seed}. Try 0 has the settings of the catalogue, the others are drawn. "
        "Nothing that the models are judged on was looked at. `train` takes the chosen ones; "
        "`evaluate` keeps the catalogue's, since its splits test on these very rows. "
        "tuning.csv has every fold.",
        report.markdown(shown.assign(chosen=marks)),
        *(f"Not tuned, {use}, {name}: {why}." for (use, name), why in without.items()),
    ]
    return "\n\n".join(parts) + "\n"


def metrics_of(found: dict[tuple[str, str], Search]) -> dict[str, Any]:
    """Return by use and classifier what the best and the catalogue's settings reach."""
    metrics: dict[str, Any] = {}
    for (use, name), one in found.items():
        metrics.setdefault(use, {})[name] = {
            "auc": one.best.auc,
            "auc_of_catalogue": one.trials[0].auc,
            "tried": len(one.trials),
        }
    return metrics


def main() -> None:
    """Run the stage."""
    params = parameters(TuneParams, "tune")
    tried = tune(params, parameters(TrainParams, "train"))
    found = {key: one for key, one in tried.items() if isinstance(one, Search)}
    without = {key: one for key, one in tried.items() if isinstance(one, str)}
    chosen: dict[str, dict[str, settings.Settings]] = {}
    for (use, name), one in found.items():
        chosen.setdefault(use, {})[name] = one.best.settings
    table = table_of(found)
    report.write_csv(settings.TABLE, table)
    report.write_text(PAGE, page(table, without, params))
    settings.write(chosen)
    report.write_json(report.FOLDER / "tune.json", metrics_of(found))


if __name__ == "__main__":
    run(main)
