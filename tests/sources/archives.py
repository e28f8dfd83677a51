"""Build mongodump archives with simple code, to test the reader."""

from collections.abc import Mapping, Sequence
from typing import Any

import bson

MAGIC = bytes([0x6D, 0xE2, 0x99, 0x81])
TERMINATOR = b"\xff\xff\xff\xff"


def plain_crc(data: bytes) -> int:
    """CRC-64 with ECMA-182's polynomial, bit by bit."""
    word = 2**64 - 1
    for byte in data:
        word ^= byte
        for _ in range(8):
            word = (word >> 1) ^ (0xC96C5795D7870F42 if word & 1 else 0)
    return word ^ (2**64 - 1)


def signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word


def header(collection: str, *, eof: bool = False, crc: int = 0, database: str = "perf") -> bytes:
    fields = {"db": database, "collection": collection, "EOF": eof, "CRC": bson.Int64(crc)}
    return bson.encode(fields)


def block(collection: str, documents: Sequence[bytes], database: str = "perf") -> bytes:
    return header(collection, database=database) + b"".join(documents) + TERMINATOR


def closing(collection: str, documents: Sequence[bytes], database: str = "perf") -> bytes:
    crc = signed(plain_crc(b"".join(documents)))
    return header(collection, eof=True, crc=crc, database=database) + TERMINATOR


def prelude(collections: Sequence[str], database: str = "perf") -> bytes:
    top = {
        "concurrent_collections": 4,
        "version": "0.1",
        "server_version": "4.4.6",
        "tool_version": "100.3.1",
    }
    parts = [bson.encode(top)]
    for name in collections:
        metadata = {"db": database, "collection": name, "metadata": "{}", "size": 0, "type": ""}
        parts.append(bson.encode(metadata))
    return MAGIC + b"".join(parts) + TERMINATOR


def archive(
    series: Sequence[Mapping[str, Any]], change_points: Sequence[Mapping[str, Any]], step: int = 2
) -> bytes:
    """An archive whose collections alternate every few documents, a third one among them."""
    collections = {
        "time_series": [bson.encode(fields) for fields in series],
        "users": [bson.encode({"name": "x"})] * 3,
        "change_points": [bson.encode(fields) for fields in change_points],
    }
    blocks = [prelude(list(collections))]
    for start in range(0, max(map(len, collections.values())), step):
        for name, documents in collections.items():
            if documents[start : start + step]:
                blocks.append(block(name, documents[start : start + step]))
    blocks += [closing(name, documents) for name, documents in collections.items()]
    return b"".join(blocks)
