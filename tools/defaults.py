"""Rebuild the models that are shipped with the package: `make defaults`.

The stages run in a folder of their own, with the profile `defaults` of params.yaml, from the
simulated history to the models. Each file is compared with the shipped one and replaces it. The
same versions of the libraries give the same bytes.
"""

import sys
from pathlib import Path

import barograph.models
from barograph.models.triage import DEFAULTS, FILES, TriageModel, load_models
from barograph.pipeline import characterise, load, simulate, subseries, train
from barograph.pipeline.params import in_folder, run
from barograph.runtime.errors import ArtifactError, ConfigError
from barograph.runtime.files import whole

FOLDER = Path("data/defaults")
SHIPPED = Path(barograph.models.__file__).parent / DEFAULTS
PROFILE = "defaults"
MAX_BYTES = 5_000_000  # of all files together
STAGES = (simulate, load, subseries, characterise, train)


def compare(built: Path, shipped: Path) -> list[str]:
    """Return one line for each new model: how it differs from the shipped one."""
    models = load_models(built)
    if not shipped.is_file():
        return [f"{use}: new, AUC {model.metrics['auc']:.4f}" for use, model in models.items()]
    if shipped.read_bytes() == built.read_bytes():
        return [f"{use}: unchanged, byte by byte" for use in models]
    return [_difference(use, model, shipped) for use, model in models.items()]


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
    lines = [line for name in names for line in compare(models / name, shipped / name)]
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
    sys.stdout.write("\n".join(replace_shipped(FOLDER / train.FOLDER, SHIPPED)) + "\n")


if __name__ == "__main__":
    run(main)
