"""A record of Zenodo, downloaded, checked and unpacked into a cache folder."""

from barograph.sources.zenodo.record import ANNOTATED, MONGODB, Record
from barograph.sources.zenodo.source import Zenodo

__all__ = ["ANNOTATED", "MONGODB", "Record", "Zenodo"]
