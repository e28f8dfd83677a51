"""A live MongoDB, read through pymongo."""

from barograph.sources.mongodb.address import Address
from barograph.sources.mongodb.source import MongoDB

__all__ = ["Address", "MongoDB"]
