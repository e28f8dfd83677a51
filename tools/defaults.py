"""Rebuild the models that are shipped with the package: `make defaults`.

The stages run in a folder of their own, with the profile `defaults` of params.yaml, from the
simulated history to the models. The pair of the online detector is then taught by real
histories: BAROGRAPH_HISTORIES names their folder, with the histories of public projects in `pool`
and those of SAP HANA in `sap_hana`, of which no mark is read. Each file is compared with the
shipped one and replaces it. Without the folder it is that of the simulated history, and nothing is
replaced.
The same versions of the libraries give the same bytes.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import barograph.models
from barograph.learning.online import pool
from barograph.models.triage import DEFAULTS, FILES, OnlineModels, TriageModel, load_models
from barograph.pipeline import characterise, load, simulate, subseries, train
from barograph.pipeline.params import in_folder, run
from barograph.runtime.errors import ArtifactError, ConfigError
from barograph.runtime.files import whole

FOLDER = Path("data/defaults")
SHIPPED = Path(barograph.models.__file__).parent / DEFAULTS
PROFILE = "defaults"
MAX_BYTES = 1_000_000  # of all files together
HISTORIES = "BAROGRAPH_HISTORIES"
STAGES = (simulate, load, subseries, characterise, train)


def taught(histories: Path) -> OnlineModels:
    """Return the pair that real histories teach."""
    sources = histories / "pool", histories / "sap_hana"
    learned = pool.teach([pool.read_pool(sources[0]), pool.read_marked_values(sources[1])])
    facts: dict[str, Any] = {
        "profile": PROFILE,
        "classifier": "xgboost",
        "calibration": "sigmoid",
        "trees": pool.TREES,
        "seed": 0,
        "goal": "3 false alarms in a thousand points",
        "histories": "of public projects and of SAP HANA, and simulated ones",
        "labels": "hindsight; no mark or verdict of a person",
        "protocol": "cross-validation over owners and groups of series",
        "sources": [*_projects(sources[0]), "SAP HANA (CC BY 4.0, values only)"],
    }
    pair = learned.online, learned.confirm
    return OnlineModels(*(replace(model, card={**facts, **model.card}) for model in pair))


def _projects(folder: Path) -> list[str]:
    """Return the projects that the pair learns from, with their licences."""
    table = pd.read_csv(folder / "projects.csv", usecols=["project", "licence"]).fillna("")
    teaches = ~table["licence"].str.startswith(pool.UNLICENSED)
    return [f"{project} ({licence})" for project, licence in table[teaches].to_numpy()]


def compare(built: Path, shipped: Path) -> list[str]:
    """Return one line for each new model: how it differs from the shipped one."""
    models = load_models(built)
    if not shipped.is_file():
        return [f"{use}: new, AUC {model.metrics['auc']:.4f}" for use, model in models.items()]
    if shipped.read_bytes() == built.read_bytes():
        return [f"{use}: unchanged, byte by byte" for use in models]
    return [_difference(use, model, shipped) for use, model in models.items()]


def compared(models: Path, shipped: Path, name: str) -> list[str]:
    """Return the lines of `compare` for one file of both folders."""
    return compare(models / f"{name}.baro", shipped / f"{name}.baro")


def _difference(use: str, new: TriageModel, shipped: Path) -> str:
    auc = f"{use}: differs, AUC {new.metrics['auc']:.4f}"
    try:
        old = TriageModel.load(shipped, use)
    except ArtifactError as error:
        return f"{auc}; the shipped one cannot be read: {error}"
    versions = sorted(n for n, v in new.versions.items() if old.versions.get(n) != v)
    libraries = f", built with other versions of {', '.join(versions)}" if versions else ""
    return f"{auc} after {old.metrics['auc']:.4f} on their held-out parts{libraries}"


def replace_shipped(models: Path, shipped: Path) -> list[str]:
    """Put the new files into the package, all or none, and return what changed.

    Raises:
        ConfigError: They are too large.
    """
    names = [f"{name}.baro" for name in FILES]
    size = sum((models / name).stat().st_size for name in names)
    if size > MAX_BYTES:
        raise ConfigError(f"the default models have {size} bytes; allowed are {MAX_BYTES}")
    lines = [line for name in FILES for line in compared(models, shipped, name)]
    for name in names:
        with whole(shipped / name) as draft:
            draft.write_bytes((models / name).read_bytes())
    return [*lines, f"{size} bytes in all; allowed are {MAX_BYTES}"]


def main() -> None:
    """Build and compare."""
    with in_folder(FOLDER, PROFILE):
        for stage in STAGES:
            sys.stderr.write(f"defaults: {stage.__name__.rpartition('.')[2]}\n")
            stage.main()
    models = FOLDER / train.FOLDER
    if folder := os.environ.get(HISTORIES):
        sys.stderr.write("defaults: teach\n")
        taught(Path(folder)).save(models / "online.baro")
        lines = replace_shipped(models, SHIPPED)
    else:
        lines = [line for name in FILES for line in compared(models, SHIPPED, name)]
        lines.append(f"{HISTORIES} names no folder of real histories: nothing was replaced")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    run(main)
