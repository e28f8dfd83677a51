"""Sources of histories, and the loader that turns any of them into the three tables.

>>> from barograph.sources import load, open_source
>>> report = load(open_source("mongodump", "dump"), "data/interim")  # doctest: +SKIP
"""

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from barograph.runtime.errors import ConfigError
from barograph.runtime.extras import needed
from barograph.sources.report import LoadReport, Place, Skip

if TYPE_CHECKING:
    from barograph.sources.base import Document, Source
    from barograph.sources.loader import Files, load, read_source

SOURCES = {
    "mongodump": ("barograph.sources.mongodump", "MongoDump"),
    "mongodb": ("barograph.sources.mongodb", "MongoDB"),
    "zenodo": ("barograph.sources.zenodo", "Zenodo"),
    "files": ("barograph.sources.loader", "Files"),
}
__all__ = [
    "Document",
    "LoadReport",
    "Place",
    "Skip",
    "Source",
    "load",
    "open_source",
    "read_source",
]


def __getattr__(name: str) -> Any:
    """Import the loader and its interface on first use: most commands read only files."""
    modules = {"Document": "base", "Source": "base", "load": "loader", "read_source": "loader"}
    if name not in modules:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"barograph.sources.{modules[name]}"), name)


def open_source(kind: str, location: str, **options: object) -> "Source | Files":
    """Open a source by its kind. Only its own module is imported.

    Args:
        kind: One of `SOURCES`.
        location: A path, a URI or a folder, as the kind defines it.
        **options: Keyword arguments of the source's class.

    Raises:
        ConfigError: The kind or an option does not exist.
    """
    if kind not in SOURCES:
        raise ConfigError(f"source: no kind {kind!r}; allowed: {', '.join(SOURCES)}")
    module, name = SOURCES[kind]
    with needed(f"the kind {kind}"):
        source_class = getattr(import_module(module), name)
    signature = inspect.signature(source_class)
    try:
        signature.bind(location, **options)
    except TypeError as error:
        allowed = list(signature.parameters)[1:]
        raise ConfigError(f"source {kind}: {error}; options: {allowed}") from error
    source: Source | Files = source_class(location, **options)
    return source
