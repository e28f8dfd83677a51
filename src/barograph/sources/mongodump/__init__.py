"""What mongodump leaves behind: a directory of BSON files, or one archive; gzipped or not."""

from barograph.sources.mongodump.source import MongoDump
from barograph.sources.mongodump.writer import DumpWriter, dump_writer, write_dump

__all__ = ["DumpWriter", "MongoDump", "dump_writer", "write_dump"]
