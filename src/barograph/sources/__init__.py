"""Sources of histories, and the loader that reads any of them.

>>> from barograph.sources import open_source, read_source
>>> history, report = read_source(open_source("mongodump", "dump"))  # doctest: +SKIP
"""

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from barograph.runtime.errors import ConfigError
from barograph.runtime.extras import needed
from barograph.sources.report import LoadReport, Place, Skip

if TYPE_CHECKING:
    from barograph.sources.loader import Files, read_source
    from barograph.sources.mongodump import Document, Source

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
    "open_source",
    "read_source",
]


def __getattr__(name: str) -> Any:
    """Import the loader and its interface on first use: most commands read only files."""
    modules = {"Document": "mongodump", "Source": "mongodump", "read_source": "loader"}
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
