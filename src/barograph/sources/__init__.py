"""Where data comes from: one file per place, one loader for all.

>>> from barograph.sources import load, open_source
>>> report = load(open_source("mongodump", "dump"), "data/interim")  # doctest: +SKIP
"""

from barograph.sources.contract import Document, Place, Skip, Source
from barograph.sources.load import load
from barograph.sources.opening import open_source
from barograph.sources.report import LoadReport

__all__ = ["Document", "LoadReport", "Place", "Skip", "Source", "load", "open_source"]
