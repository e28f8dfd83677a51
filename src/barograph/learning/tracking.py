"""Runs and registered models in MLflow, which mirrors the record of releases.

No other module uses MLflow. The tracking store is that of MLFLOW_TRACKING_URI, by default a SQLite
file under data/. With BAROGRAPH_MLFLOW=off, MLflow is not imported and nothing is recorded.

MLflow takes seconds to import. While a run is open that others belong to, processes only write
theirs down, and the one that opened it records all of them when it ends.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from barograph.learning import tables
from barograph.models.artifact import file_digest
from barograph.models.triage import TriageModel, load_models
from barograph.results.series import Floats
from barograph.runtime.errors import DataError
from barograph.runtime.files import whole

SWITCH = "BAROGRAPH_MLFLOW"
PARENT = "BAROGRAPH_MLFLOW_PARENT"  # the open run that those of this process belong to
STORE = Path("data/mlflow.db")
ARTIFACTS = Path("data/mlartifacts")
WAITING = Path("data/mlflow-waiting")  # the runs that are written down, by the open one
EXPERIMENT = "barograph"
DIGEST = "digest"  # tag of a registered version
BATCH = 100  # parameters or metrics that are logged at once
NOT_IN_NAMES = re.compile(r"[^\w\-. :/]", re.ASCII)  # what MLflow refuses in names of metrics
EXAMPLES = 3  # rows of the example of a model's input


@dataclass(frozen=True)
class Run:
    """What is recorded of a run.

    Attributes:
        name: Its name.
        parameters: Nested values get dotted names.
        metrics: The same; values that are no numbers are left out.
        tags: Its tags.
        files: Its artifacts: tables, pictures and models.
        models: Model files to register, by name. Each is the newest version from now on, with the
            alias `candidate`.
        champions: By name, the digest of the file in service; None for the built-in one.
        began: When it began, in milliseconds since 1970; None for now.
        ended: When it ended.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    champions: Mapping[str, str | None] = field(default_factory=dict)
    began: int | None = None
    ended: int | None = None


def is_on() -> bool:
    """Return whether runs are recorded."""
    return os.environ.get(SWITCH, "").lower() != "off"


def record(run: Run) -> None:
    """Record a run; while the one that it belongs to is open, write it down."""
    if not is_on():
        return
    parent = os.environ.get(PARENT)
    if parent and (folder := _root() / WAITING / parent).is_dir():
        with whole(folder / f"{run.name}.json") as draft:
            draft.write_text(json.dumps(asdict(run)), encoding="utf-8")
    else:
        _log(_client(), run, parent)


def begin(name: str) -> str:
    """Open a run that others belong to, and return its id, which PARENT hands to them."""
    client = _client()
    parent = str(client.create_run(_experiment(client), run_name=name).info.run_id)
    (_root() / WAITING / parent).mkdir(parents=True)
    return parent


def waiting(parent: str) -> list[Run]:
    """Return the runs that were written down for an open one, in the order of their ends."""
    texts = [path.read_bytes() for path in (_root() / WAITING / parent).glob("*.json")]
    return sorted((Run(**json.loads(text)) for text in texts), key=lambda run: run.ended or 0)


def end(parent: str, run: Run, others: Sequence[Run], *, failed: bool) -> None:
    """Record the runs that belong to an open one, then what is known of it, and close it.

    Args:
        parent: The id of the open run.
        run: What is known of it.
        others: The runs that belong to it.
        failed: Whether it failed.
    """
    client = _client()
    for other in others:
        _log(client, other, parent)
    _fill(client, client.get_run(parent).info, run)
    client.set_terminated(parent, "FAILED" if failed else "FINISHED")
    rmtree(_root() / WAITING / parent)


def _log(client: Any, run: Run, parent: str | None) -> None:
    tags = {"mlflow.parentRunId": parent} if parent else {}
    info = client.create_run(_experiment(client), run.began, tags, run.name).info
    _fill(client, info, run)
    for name, digest in run.champions.items():
        _promote(client, _registered(name), digest)
    client.set_terminated(info.run_id, end_time=run.ended)


def _fill(client: Any, info: Any, run: Run) -> None:
    """Log parameters, metrics, tags and files, and register the models."""
    from mlflow.entities import Metric, Param

    moment = run.ended or info.start_time
    params = [Param(name, str(value)) for name, value in flattened(run.parameters).items()]
    metrics = [
        Metric(NOT_IN_NAMES.sub("_", name), float(value), moment, 0)
        for name, value in flattened(run.metrics).items()
        if isinstance(value, (int, float))
    ]
    for start in range(0, max(len(params), len(metrics)), BATCH):
        part = slice(start, start + BATCH)
        client.log_batch(info.run_id, metrics=metrics[part], params=params[part])
    for name, tag in run.tags.items():
        client.set_tag(info.run_id, name, tag)
    for path in map(Path, run.files):
        client.log_artifact(info.run_id, str(path), path.parent.as_posix().removeprefix("data/"))
    for name, file in run.models.items():
        _register(client, name, Path(file), info)


def _register(client: Any, name: str, file: Path, info: Any) -> None:
    """Register a model file, with its signature and an example of its input."""
    import mlflow.pyfunc
    from mlflow.exceptions import MlflowException
    from mlflow.models import infer_signature

    registered, place = _registered(name), f"registered/{name}"
    served = _load_pyfunc(str(file))
    example = _example(served.model)
    with TemporaryDirectory(prefix="barograph-") as folder:
        mlflow.pyfunc.save_model(
            f"{folder}/model",
            loader_module=__name__,
            data_path=str(file),
            signature=infer_signature(example, served.predict(example)),
            input_example=example,
            pip_requirements=["barograph[models]"],
        )
        client.log_artifacts(info.run_id, f"{folder}/model", place)
    try:
        client.create_registered_model(registered)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    options = {"run_id": info.run_id, "tags": {DIGEST: file_digest(file)}}
    version = client.create_model_version(registered, f"{info.artifact_uri}/{place}", **options)
    client.set_registered_model_alias(registered, "candidate", version.version)


class Served(NamedTuple):
    """A model as MLflow serves it: a table of features in, probabilities of a real change out."""

    model: TriageModel

    def predict(self, frame: pd.DataFrame, params: Any = None) -> Floats:  # noqa: ARG002 - MLflow's
        """Return the probability of a real change for each row of features."""
        probability: Floats = self.model.predict_proba(frame)[:, 1]
        return probability


def _load_pyfunc(path: str) -> Served:
    """Load the first model of a file; MLflow finds this function by its name."""
    return Served(next(iter(load_models(path).values())))


def _example(model: TriageModel) -> pd.DataFrame:
    """Return rows of features of a model; of zeros without a feature table."""
    try:
        rows = tables.columns(tables.read_for(model.use).head(EXAMPLES), model.feature_set)
    except DataError:
        rows = np.zeros((1, len(model.columns)))
    return pd.DataFrame(rows, columns=list(model.columns))


def _promote(client: Any, registered: str, digest: str | None) -> None:
    """Give the newest version with a digest the alias `champion`; None takes it away."""
    versions = client.search_model_versions(f"name='{registered}'")
    numbers = [int(v.version) for v in versions if v.tags.get(DIGEST) == digest]
    if numbers:
        client.set_registered_model_alias(registered, "champion", str(max(numbers)))
    elif versions:  # the champion is built in, or was released with MLflow off
        client.delete_registered_model_alias(registered, "champion")


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one with dotted names.

    Example:
        >>> flattened({"train": {"trees": 100}, "profile": "quick"})
        {'train.trees': 100, 'profile': 'quick'}
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _registered(name: str) -> str:
    return f"barograph-{name}"


def _root() -> Path:
    """Return the folder of the project; DVC runs queued experiments in copies of it."""
    return Path(os.environ.get("DVC_ROOT", ""))


def _client() -> Any:
    """Return the client of the tracking store."""
    # No usage statistics about private data.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)  # MLflow sets it when it is imported
    return MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{_root() / STORE}")


def _experiment(client: Any) -> str:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is not None:
        return str(experiment.experiment_id)
    local = not os.environ.get("MLFLOW_TRACKING_URI")
    place = (_root() / ARTIFACTS).resolve().as_uri() if local else None
    return str(client.create_experiment(EXPERIMENT, artifact_location=place))
