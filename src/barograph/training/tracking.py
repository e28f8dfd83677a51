"""MLflow, and nothing else here speaks to it: what was trained, how good it was, where it is.

The store is the one that MLFLOW_TRACKING_URI names, by default a SQLite file under data/. With
BAROGRAPH_MLFLOW=off nothing is imported and nothing recorded; the stages do the same work.
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
DIGEST = "digest"  # the tag that names the content of a registered version


class Silent:
    """A run that records nothing: what stages get with MLflow switched off."""

    def parameters(self, values: Mapping[str, Any]) -> None:
        """Record what went in."""

    def metrics(self, values: Mapping[str, Any]) -> None:
        """Record what came out."""

    def keep(self, path: Path) -> None:
        """Record a file."""

    def register(self, use: str, path: Path, digest: str) -> None:
        """Make a file the newest version of the registered model of a use: the candidate."""

    def promote(self, use: str, digest: str) -> None:
        """Give the version of that digest the alias champion."""


class Recorded(Silent):
    """A run in the tracking store."""

    def __init__(self, client: Any, run_id: str) -> None:
        self._client = client
        self._run = run_id

    def parameters(self, values: Mapping[str, Any]) -> None:
        """Record what went in; nested values as dotted names."""
        for name, value in flattened(values).items():
            self._client.log_param(self._run, name, value)

    def metrics(self, values: Mapping[str, Any]) -> None:
        """Record the numbers among the values."""
        for name, value in flattened(values).items():
            if isinstance(value, (int, float)):
                self._client.log_metric(self._run, name, float(value))

    def keep(self, path: Path) -> None:
        """Record a file as an artifact of the run."""
        self._client.log_artifact(self._run, str(path))

    def register(self, use: str, path: Path, digest: str) -> None:
        """Make a file the newest version of the registered model of a use: the candidate."""
        from mlflow.exceptions import MlflowException

        name = _registered(use)
        self.keep(path)
        try:
            self._client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        source = f"{self._client.get_run(self._run).info.artifact_uri}/{path.name}"
        tags = {DIGEST: digest}
        version = self._client.create_model_version(name, source, run_id=self._run, tags=tags)
        self._client.set_registered_model_alias(name, "candidate", version.version)

    def promote(self, use: str, digest: str) -> None:
        """Give the newest version of that digest the alias champion."""
        name = _registered(use)
        found = self._client.search_model_versions(f"name='{name}'")
        numbers = [int(v.version) for v in found if v.tags.get(DIGEST) == digest]
        if numbers:  # a model released with MLflow off has no version there
            self._client.set_registered_model_alias(name, "champion", str(max(numbers)))


def promoted(use: str, digest: str) -> None:
    """Record outside of a stage that a model is the champion again."""
    with tracked(f"rollback {use}") as recorded:
        recorded.parameters({"use": use, "digest": digest})
        recorded.promote(use, digest)


def _registered(use: str) -> str:
    return f"barograph-{use}"


@contextmanager
def tracked(name: str) -> Iterator[Silent]:
    """Open a run, and close it as failed where the work inside fails."""
    if os.environ.get(SWITCH, "").lower() == "off":
        yield Silent()
        return
    client = _client()
    run = client.create_run(_experiment(client), run_name=name)
    try:
        yield Recorded(client, run.info.run_id)
    except BaseException:
        client.set_terminated(run.info.run_id, "FAILED")
        raise
    client.set_terminated(run.info.run_id)


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turn nested mappings into one with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _client() -> Any:
    # What is trained here is nobody else's business.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    return MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{STORE}")


def _experiment(client: Any) -> str:
    found = client.get_experiment_by_name(EXPERIMENT)
    if found is not None:
        return str(found.experiment_id)
    local = not os.environ.get("MLFLOW_TRACKING_URI")
    place = ARTIFACTS.resolve().as_uri() if local else None
    return str(client.create_experiment(EXPERIMENT, artifact_location=place))
