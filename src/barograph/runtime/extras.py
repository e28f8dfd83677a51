"""Optional packages: which extra brings each, and the error that names it when one is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from barograph.runtime.errors import ConfigError

# Packages by the name that is imported, and the smallest extra of pyproject.toml that brings it.
PACKAGES: Mapping[str, str] = {
    "bson": "mongo",
    "dask": "scale",
    "distributed": "scale",
    "fastapi": "service",
    "httptools": "service",
    "matplotlib": "plot",
    "mlflow": "train",
    "pandas": "train",
    "pooch": "zenodo",
    "prometheus_client": "service",
    "psycopg": "postgres",
    "pyarrow": "parquet",
    "pydantic": "service",
    "pymongo": "mongo",
    "requests": "zenodo",
    "ruptures": "detectors",
    "scipy": "train",
    "sklearn": "models",
    "skops": "models",
    "statsmodels": "train",
    "tsfeatures": "train",
    "uvicorn": "service",
    "xgboost": "train",
}


@contextmanager
def needed(what: str, extra: str = "") -> Iterator[None]:
    """Name the extra if an import in the block fails because an optional package is missing.

    Args:
        what: What needs the package, as the subject of the message.
        extra: The extra to install. Defaults to the one in PACKAGES.

    Raises:
        ConfigError: An optional package is not installed.

    Example:
        >>> with needed("this page"):
        ...     raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")
        Traceback (most recent call last):
        barograph.runtime.errors.ConfigError: this page needs the package fastapi: \
pip install '.[service]' in a clone of Barograph
    """
    try:
        yield
    except ModuleNotFoundError as error:
        friendly = missing(error, what, extra)
        if friendly is None:
            raise
        raise friendly from None


def missing(error: ModuleNotFoundError, what: str, extra: str = "") -> ConfigError | None:
    """Return the error that names the command to install a package; None for other modules.

    Args:
        error: Names the module that could not be imported.
        what: What needs the package, as the subject of the message.
        extra: The extra to install. Defaults to the one in PACKAGES.
    """
    package = (error.name or "").partition(".")[0]
    if package not in PACKAGES:
        return None
    name = extra or PACKAGES[package]
    return ConfigError(f"{what} needs the package {package}: {install(name)}")


def install(extra: str) -> str:
    """Return how to install an extra: Barograph is installed from a clone.

    Example:
        >>> install("plot")
        "pip install '.[plot]' in a clone of Barograph"
    """
    return f"pip install '.[{extra}]' in a clone of Barograph"
