"""Rebuild the models that are shipped with the package: `make defaults`.

The stages run in a folder of their own, with the profile `defaults` of params.yaml, from the
simulated history to the models. Each model is compared with the one that is shipped so far, and
takes its place. The same versions of the libraries give the same bytes.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from barograph.errors import ArtifactError, ConfigError
from barograph.files import whole
from barograph.models.triage import DEFAULTS, FILES, USES, TriageModel, file_of
from barograph.pipeline import characterise, load, report, simulate, subseries, train
from barograph.pipeline.params import PARAMS
from barograph.pipeline.stage import run
from barograph.training.tracking import SWITCH

FOLDER = Path("data/defaults")
SHIPPED = Path(__file__).resolve().parent.parent / "models" / DEFAULTS
PROFILE = "defaults"
LARGEST = 5_000_000  # bytes, all models together
STAGES = (simulate, load, subseries, characterise, train)


@contextmanager
def place(folder: Path, profile: str = PROFILE) -> Iterator[None]:
    """Work in a folder of its own, with a profile of its own and without MLflow."""
    document = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
    document["profile"] = profile
    report.write_text(folder / PARAMS, yaml.safe_dump(document))
    before, switch = Path.cwd(), os.environ.get(SWITCH)
    os.chdir(folder)
    os.environ[SWITCH] = "off"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop(SWITCH)
        if switch is not None:
            os.environ[SWITCH] = switch


def difference(use: str, built: Path, shipped: Path) -> str:
    """Say in one line how a new model differs from the shipped one."""
    new = TriageModel.load(built, use)
    if not shipped.is_file():
        return f"{use}: new, AUC {new.metrics['auc']:.4f}"
    if shipped.read_bytes() == built.read_bytes():
        return f"{use}: the same, byte by byte"
    try:
        old = TriageModel.load(shipped, use)
    except ArtifactError as error:
        return f"{use}: differs, AUC {new.metrics['auc']:.4f}; the shipped one is no use: {error}"
    versions = sorted(n for n, v in new.versions.items() if old.versions.get(n) != v)
    made = f", made with other versions of {', '.join(versions)}" if versions else ""
    return (
        f"{use}: differs, AUC {new.metrics['auc']:.4f} after {old.metrics['auc']:.4f} "
        f"on their held-out parts{made}"
    )


def replace_shipped(models: Path, shipped: Path) -> list[str]:
    """Put the new models into the package, all or none, and say what changed."""
    size = sum((models / f"{name}.baro").stat().st_size for name in FILES)
    if size > LARGEST:
        raise ConfigError(f"the default models have {size} bytes; allowed are {LARGEST}")
    said = [difference(use, models / file_of(use), shipped / file_of(use)) for use in USES]
    for name in FILES:
        with whole(shipped / f"{name}.baro") as draft:
            shutil.copyfile(models / f"{name}.baro", draft)
    return [*said, f"{size} bytes together, {LARGEST} are allowed"]


def main() -> None:
    """Build and compare."""
    with place(FOLDER):
        for stage in STAGES:
            sys.stderr.write(f"defaults: {stage.__name__.rpartition('.')[2]}\n")
            stage.main()
    sys.stdout.write("\n".join(replace_shipped(FOLDER / train.FOLDER, SHIPPED)) + "\n")


if __name__ == "__main__":
    run(main)
