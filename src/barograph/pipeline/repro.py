"""Run the pipeline as one run of MLflow, and record what each stage did.

`python -m barograph.pipeline.repro TARGET...` runs `dvc repro` and opens a run that those of the
stages belong to. A stage that DVC skips, because nothing that it depends on has changed, gets a run
with the tag `cached`. Under `dvc repro` and `dvc exp run` alone, each stage has a run of its own.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from barograph.learning import tracking
from barograph.learning.tracking import Run
from barograph.pipeline import report
from barograph.pipeline.params import PARAMS, PROFILE, check
from barograph.runtime.errors import BarographError
from barograph.sources.formats.yaml_text import decode_yaml

PIPELINES = (Path("dvc.yaml"), Path("studies/dvc.yaml"))
# A run has the digest of the history; of a stage that does not read one, of what it wrote.
HISTORY = tuple(f"data/interim/{name}.parquet" for name in ("series", "points", "candidates"))
WRITTEN = {"simulate": ("data/raw/simulated",), "prior": ("data/prior/data/processed",)}
LOOKED_AT = (".csv", ".json", ".md", ".png")  # the files of a run
LARGEST = 8 << 20  # bytes of such a file
PLACES = ("data/reports", "data/release")


def now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def stage_of(main: Callable[[], object]) -> str:
    """Return the name of the stage that a function runs: that of its module."""
    module = sys.modules[main.__module__]
    name = module.__spec__.name if module.__spec__ is not None else main.__module__
    return name.rpartition(".")[2]


def record_stage(stage: str, known: Run | None, began: int) -> None:
    """Record the run of a stage that has ended; other modules are no stages and have none.

    Args:
        stage: The name of the module.
        known: What the stage adds to its parameters, metrics and reports.
        began: When it began.
    """
    if not tracking.is_on() or (declared := _stages().get(stage)) is None:
        return
    run = _run_of(stage, declared)
    files = [str(path) for path in _files_of(declared)]
    if known is not None:
        files += known.files
        run = replace(
            run,
            metrics={**run.metrics, **known.metrics},
            models=known.models,
            champions=known.champions,
        )
    tracking.record(replace(run, files=files, began=began, ended=now()))


def repro(targets: list[str]) -> int:
    """Run `dvc repro`, record the runs, and return its code.

    Args:
        targets: The stages; all of the pipeline, if empty.
    """
    command = [sys.executable, "-m", "dvc", "repro", *targets]
    if not tracking.is_on():
        return subprocess.run(command, check=False).returncode  # noqa: S603 - our own command
    parent, code = tracking.begin("repro"), 1
    try:
        environment = os.environ | {tracking.PARENT: parent}
        code = subprocess.run(command, env=environment, check=False).returncode  # noqa: S603
    finally:
        ran = tracking.waiting(parent)
        tracking.end(parent, _whole(targets), [*ran, *_cached(targets, ran, code)], failed=code > 0)
    return code


def _cached(targets: list[str], ran: list[Run], code: int) -> Iterator[Run]:
    """Yield runs of the stages that DVC skipped; after an error, nobody knows which."""
    names = {run.name for run in ran}
    for stage, declared in _asked_for(targets).items():
        if code == 0 and stage not in names:
            run = _run_of(stage, declared)
            yield replace(run, tags={**run.tags, "cached": "true"})


def _whole(targets: list[str]) -> Run:
    """Return what is known of the run of all stages: their parameters, and the AUC of each use."""
    parameters: dict[str, Any] = {}
    for declared in _asked_for(targets).values():
        parameters |= _parameters_of(declared)
    metrics = {f"auc.{use}": auc for use, auc in _json(report.FOLDER / "auc.json").items()}
    return Run("repro", parameters, metrics, _tags(HISTORY))


def _asked_for(targets: list[str]) -> dict[str, Mapping[str, Any]]:
    """Return the stages of the targets, or those of the pipeline."""
    stages = _stages() if targets else _stages(PIPELINES[:1])
    names = {target.rpartition(":")[2] for target in targets} or stages.keys()
    return {name: stage for name, stage in stages.items() if name in names}


def _stages(paths: tuple[Path, ...] = PIPELINES) -> dict[str, Mapping[str, Any]]:
    """Return what DVC knows of each stage, by name."""
    found: dict[str, Mapping[str, Any]] = {}
    for path in filter(Path.is_file, paths):
        found |= decode_yaml(path.read_text(encoding="utf-8"), str(path))["stages"]
    return found


def _run_of(stage: str, declared: Mapping[str, Any]) -> Run:
    """Return what is known of the run of a stage without running it."""
    metrics = _json(report.FOLDER / f"{stage}.json")
    tags = _tags(WRITTEN.get(stage, HISTORY)) | {"stage": stage}
    return Run(stage, _parameters_of(declared), metrics, tags)


def _parameters_of(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that a stage depends on; those of the profile add to the others."""
    document = decode_yaml(PARAMS.read_text(encoding="utf-8"), str(PARAMS))
    profile = str(document[PROFILE])
    values: dict[str, Any] = {}
    for entry in declared.get("params", ()):
        for name in next(iter(entry.values())) if isinstance(entry, Mapping) else (entry,):
            place = name.replace("${profile}", profile).split(".")
            value: Any = document
            for part in place:
                value = value.get(part, {}) if isinstance(value, Mapping) else {}
            key = ".".join(place[1:] if place[0] == profile else place)
            values |= tracking.flattened({key: value})
    return values


def _files_of(declared: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the tables and pictures that a stage writes."""
    outs = [out for kind in ("outs", "metrics", "plots") for out in declared.get(kind, ())]
    for out in outs:
        path = Path(out if isinstance(out, str) else next(iter(out)))
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside if str(path).startswith(PLACES) else ():
            if file.suffix in LOOKED_AT and file.is_file() and file.stat().st_size <= LARGEST:
                yield file


def _tags(data: tuple[str, ...]) -> dict[str, str]:
    """Return the commit, the digest of the data, and the experiment of DVC, as far as known."""
    experiment = os.environ.get("DVC_EXP_NAME", "")
    commit = os.environ.get("DVC_EXP_BASELINE_REV") or _commit()
    tags = {"mlflow.source.git.commit": commit, "dvc.experiment": experiment}
    tags["data.digest"] = _digest(data)
    return {name: tag for name, tag in tags.items() if tag}


def _commit() -> str:
    """Return the commit of the working tree; "" outside a repository."""
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return ""
    return done.stdout.strip()


def _digest(names: tuple[str, ...]) -> str:
    """Return a hash of files and folders; "" if there are none."""
    total, files = hashlib.sha256(), []
    for path in map(Path, names):
        files += sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in filter(Path.is_file, files):
        total.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:16] if files else ""


def _json(path: Path) -> dict[str, Any]:
    """Return the content of a file of metrics; empty without a file."""
    content: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {}
    return content


def main() -> None:
    """Check the parameters, run the pipeline, and record its runs."""
    try:
        check()
        sys.exit(repro(sys.argv[1:]))
    except (BarographError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
