"""Sources of histories, and the loader that turns any of them into the three tables.

>>> from barograph.sources import load, open_source
>>> report = load(open_source("mongodump", "dump"), "data/interim")  # doctest: +SKIP
"""

from barograph.sources.base import Document, Place, Skip, Source, open_source
from barograph.sources.load import load
from barograph.sources.report import LoadReport

__all__ = ["Document", "LoadReport", "Place", "Skip", "Source", "load", "open_source"]
