"""Runs and registered models in MLflow, which mirrors the record of releases.

No other module uses MLflow. The tracking store is that of MLFLOW_TRACKING_URI, by default a SQLite
file under data/. With BAROGRAPH_MLFLOW=off, MLflow is not imported and nothing is recorded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SWITCH = "BAROGRAPH_MLFLOW"
STORE = Path("data/mlflow.db")
ARTIFACTS = Path("data/mlartifacts")
EXPERIMENT = "barograph"
DIGEST = "digest"  # tag of a registered version


def record_run(
    name: str,
    parameters: Mapping[str, Any],
    metrics: Mapping[str, Any],
    files: Sequence[Path],
    *,
    model: str = "",
    digest: str = "",
) -> None:
    """Record a run with its files.

    Args:
        name: Name of the run.
        parameters: Nested values get dotted names.
        metrics: The same; values that are no numbers are left out.
        files: The artifacts of the run.
        model: Register the first file as the newest version of this model, with the alias
            `candidate`.
        digest: The digest of that file.
    """
    if (client := _client()) is None:
        return
    run = client.create_run(_experiment(client), run_name=name).info
    for key, value in flattened(parameters).items():
        client.log_param(run.run_id, key, value)
    for key, value in flattened(metrics).items():
        if isinstance(value, (int, float)):
            client.log_metric(run.run_id, key, float(value))
    for path in files:
        client.log_artifact(run.run_id, str(path))
    if model:
        _register(client, _registered(model), f"{run.artifact_uri}/{files[0].name}", run, digest)
    client.set_terminated(run.run_id)


def _register(client: Any, registered: str, source: str, run: Any, digest: str) -> None:
    from mlflow.exceptions import MlflowException

    try:
        client.create_registered_model(registered)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    options = {"run_id": run.run_id, "tags": {DIGEST: digest}}
    version = client.create_model_version(registered, source, **options)
    client.set_registered_model_alias(registered, "candidate", version.version)


def promote(name: str, digest: str | None) -> None:
    """Give the newest version of a model with a digest the alias `champion`; None takes it away."""
    if (client := _client()) is None:
        return
    registered = _registered(name)
    versions = client.search_model_versions(f"name='{registered}'")
    numbers = [int(v.version) for v in versions if v.tags.get(DIGEST) == digest]
    if numbers:
        client.set_registered_model_alias(registered, "champion", str(max(numbers)))
    elif versions:  # the champion is built in, or was released with MLflow off
        client.delete_registered_model_alias(registered, "champion")


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _registered(name: str) -> str:
    return f"barograph-{name}"


def _client() -> Any:
    """Return the client of the tracking store; None if MLflow is switched off."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return None
    # No usage statistics about private data.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    return MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{STORE}")


def _experiment(client: Any) -> str:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is not None:
        return str(experiment.experiment_id)
    local = not os.environ.get("MLFLOW_TRACKING_URI")
    place = ARTIFACTS.resolve().as_uri() if local else None
    return str(client.create_experiment(EXPERIMENT, artifact_location=place))
