"""What is recorded of a stage in MLflow: parameters, metrics, tables and pictures."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from barograph.learning import tracking
from barograph.learning.tracking import Run, flattened
from barograph.models.artifact import file_digest
from barograph.pipeline import report
from barograph.sources.formats.yaml_text import decode_yaml

PARAMS = Path("params.yaml")
PROFILE = "profile"
PIPELINE, STUDIES = Path("dvc.yaml"), Path("studies/dvc.yaml")
# A run has the digest of the history; of a stage that does not read one, of what it wrote.
HISTORY = tuple(f"data/interim/{name}.parquet" for name in ("series", "points", "candidates"))
WRITTEN = {"simulate": ("data/raw/simulated",), "prior": ("data/prior/data/processed",)}
LOOKED_AT = (".csv", ".json", ".md", ".png")  # the files of a run


def now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def record_stage(main: Callable[[], object], known: Run | None, began: int) -> None:
    """Record the run of a stage that has ended; a module that is no stage has none.

    Args:
        main: What ran; its module names the stage.
        known: What is recorded besides parameters, metrics and reports.
        began: When it began.
    """
    spec = sys.modules[main.__module__].__spec__
    name = (spec.name if spec is not None else main.__module__).rpartition(".")[2]
    if not tracking.is_on() or (stage := stages(PIPELINE, STUDIES).get(name)) is None:
        return
    own, known = run_of(name, stage), known or Run(name)
    reports = [*(report.FOLDER / name).rglob("*"), report.FOLDER / f"{name}.json"]
    shown = [str(path) for path in sorted(reports) if path.suffix in LOOKED_AT and path.is_file()]
    metrics, files = flattened(own.metrics) | flattened(known.metrics), [*shown, *known.files]
    whole = replace(known, name=name, parameters=own.parameters, metrics=metrics, tags=own.tags)
    tracking.record(replace(whole, files=files, began=began, ended=now()))


def stages(*paths: Path) -> dict[str, Mapping[str, Any]]:
    """Return what DVC knows of each stage of some files, by name."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in filter(Path.is_file, paths):
        found |= decode_yaml(path.read_text(encoding="utf-8"), str(path))["stages"]
    return found


def run_of(name: str, stage: Mapping[str, Any]) -> Run:
    """Return what is known of the run of a stage without running it."""
    tags = tags_of(WRITTEN.get(name, HISTORY)) | {"stage": name}
    return Run(name, parameters_of(stage), metrics_of(f"{name}.json"), tags)


def parameters_of(stage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a stage depends on; those of the profile add to the others."""
    document = decode_yaml(PARAMS.read_text(encoding="utf-8"), str(PARAMS))
    profile = str(document[PROFILE])
    values: dict[str, Any] = {}
    for entry in stage.get("params", ()):
        for name in next(iter(entry.values())) if isinstance(entry, Mapping) else (entry,):
            place = name.replace("${profile}", profile).split(".")
            value: Any = document
            for part in place:
                value = value.get(part, {}) if isinstance(value, Mapping) else {}
            key = ".".join(place[1:] if place[0] == profile else place)
            values |= flattened({key: value})
    return values


def metrics_of(name: str) -> dict[str, Any]:
    """Return the content of a file of metrics; empty without the file."""
    path = report.FOLDER / name
    content: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return content


def tags_of(data: tuple[str, ...]) -> dict[str, str]:
    """Return the commit, the digest of the data, and the experiment of DVC, as far as known."""
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        head = done.stdout.strip()
    except OSError:  # git is not installed
        head = ""
    tags = {
        "mlflow.source.git.commit": os.environ.get("DVC_EXP_BASELINE_REV") or head,
        "dvc.experiment": os.environ.get("DVC_EXP_NAME", ""),
        "data.digest": _digest(data),
    }
    return {name: tag for name, tag in tags.items() if tag}


def _digest(names: tuple[str, ...]) -> str:
    """Return a hash of files and folders."""
    total = hashlib.sha256()
    for path in map(Path, names):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                total.update(f"{file.name} {file_digest(file)}\n".encode())
    return total.hexdigest()[:16]
