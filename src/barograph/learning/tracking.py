"""Runs and registered models in MLflow; no other module uses it.

The tracking store is that of MLFLOW_TRACKING_URI, by default a SQLite file under data/. With
BAROGRAPH_MLFLOW=off, MLflow is not imported and nothing is recorded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SWITCH = "BAROGRAPH_MLFLOW"
STORE = Path("data/mlflow.db")
ARTIFACTS = Path("data/mlartifacts")
EXPERIMENT = "barograph"
DIGEST = "digest"  # tag of a registered version


class NullRun:
    """A run that records nothing, used if MLflow is switched off."""

    def parameters(self, values: Mapping[str, Any]) -> None:
        """Record parameters."""

    def metrics(self, values: Mapping[str, Any]) -> None:
        """Record metrics."""

    def keep(self, path: Path) -> None:
        """Record a file."""

    def register(self, name: str, path: Path, digest: str) -> None:
        """Register a file as the newest version of a model, with the alias candidate."""

    def promote(self, name: str, digest: str | None) -> None:
        """Give the version with this digest the alias champion; None takes the alias away."""


class MlflowRun(NullRun):
    """A run in the tracking store."""

    def __init__(self, client: Any, run_id: str) -> None:
        self._client = client
        self._run = run_id

    def parameters(self, values: Mapping[str, Any]) -> None:
        """Record parameters; nested values get dotted names."""
        for name, value in flattened(values).items():
            self._client.log_param(self._run, name, value)

    def metrics(self, values: Mapping[str, Any]) -> None:
        """Record the numbers among the values as metrics."""
        for name, value in flattened(values).items():
            if isinstance(value, (int, float)):
                self._client.log_metric(self._run, name, float(value))

    def keep(self, path: Path) -> None:
        """Record a file as an artifact of the run."""
        self._client.log_artifact(self._run, str(path))

    def register(self, name: str, path: Path, digest: str) -> None:
        """Register a file as the newest version of a model, with the alias candidate."""
        from mlflow.exceptions import MlflowException

        registered = _registered(name)
        self.keep(path)
        try:
            self._client.create_registered_model(registered)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        source = f"{self._client.get_run(self._run).info.artifact_uri}/{path.name}"
        tags = {DIGEST: digest}
        version = self._client.create_model_version(registered, source, run_id=self._run, tags=tags)
        self._client.set_registered_model_alias(registered, "candidate", version.version)

    def promote(self, name: str, digest: str | None) -> None:
        """Give the newest version with this digest the alias champion; None takes it away."""
        registered = _registered(name)
        versions = self._client.search_model_versions(f"name='{registered}'")
        numbers = [int(v.version) for v in versions if v.tags.get(DIGEST) == digest]
        if numbers:
            self._client.set_registered_model_alias(registered, "champion", str(max(numbers)))
        elif versions:  # the champion is built in, or was released with MLflow off
            self._client.delete_registered_model_alias(registered, "champion")


def record_rollback(name: str, digest: str | None) -> None:
    """Record that a model is the champion again; None is the built-in one."""
    with tracked(f"rollback {name}") as run:
        run.parameters({"use": name, "digest": digest or "built in"})
        run.promote(name, digest)


def _registered(name: str) -> str:
    return f"barograph-{name}"


@contextmanager
def tracked(name: str) -> Iterator[NullRun]:
    """Open a run; mark it as failed if the block raises an exception."""
    if os.environ.get(SWITCH, "").lower() == "off":
        yield NullRun()
        return
    client = _client()
    run = client.create_run(_experiment(client), run_name=name)
    try:
        yield MlflowRun(client, run.info.run_id)
    except BaseException:
        client.set_terminated(run.info.run_id, "FAILED")
        raise
    client.set_terminated(run.info.run_id)


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _client() -> Any:
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
