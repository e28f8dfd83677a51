"""One way to open every source; each is imported only when it is asked for."""

from __future__ import annotations

import inspect
from importlib import import_module

from barograph.errors import ConfigError
from barograph.sources.contract import Source

KINDS = {
    "mongodump": ("barograph.sources.mongodump", "MongoDump"),
    "mongodb": ("barograph.sources.mongodb", "MongoDB"),
    "zenodo": ("barograph.sources.zenodo", "Zenodo"),
    "tabular": ("barograph.sources.tabular", "Tabular"),
}


def open_source(kind: str, location: str, **options: object) -> Source:
    """Open a source by its kind; the options are those of its class.

    Args:
        kind: One of `KINDS`.
        location: A path, a URI or a record number, as the kind has it.
        **options: Keyword arguments of the source's class.

    Raises:
        ConfigError: There is no such kind or option.
    """
    if kind not in KINDS:
        raise ConfigError(f"source: no kind {kind!r}; allowed: {', '.join(KINDS)}")
    module, name = KINDS[kind]
    make = getattr(import_module(module), name)
    signature = inspect.signature(make)
    try:
        signature.bind(location, **options)
    except TypeError as error:
        allowed = list(signature.parameters)[1:]
        raise ConfigError(f"source {kind}: {error}; options: {allowed}") from error
    source: Source = make(location, **options)
    return source
