"""Sources of histories, and the loader that turns any of them into the three tables.

>>> from barograph.sources import load, open_source
>>> report = load(open_source("mongodump", "dump"), "data/interim")  # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

from barograph.extras import needed
from barograph.sources.base import Document, Place, Skip, Source, open_source
from barograph.sources.report import LoadReport

if TYPE_CHECKING:
    from barograph.sources.loader import load

__all__ = ["Document", "LoadReport", "Place", "Skip", "Source", "load", "open_source"]


def __getattr__(name: str) -> Any:
    """Import the loader on first use, because only it needs pyarrow."""
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needed("loading into tables"):
        from barograph.sources.loader import load

    return load
