"""Read the body of a request: bounded as it arrives, and bounded as it unpacks."""

import zlib

from starlette.requests import Request

from barograph.service.errors import Refused

GZIP = 16 + zlib.MAX_WBITS  # zlib's way to say: a gzip header, and no other
STEP = 1 << 20


async def read_body(request: Request, most: int, most_unpacked: int) -> bytes:
    """Return the body, unpacked where it is gzip.

    Raises:
        Refused: it is larger than allowed, or packed in a way that is not known, or damaged.
    """
    told = request.headers.get("content-length", "0")
    if told.isdecimal() and int(told[:20]) > most:
        raise too_large(most)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise too_large(most)
        parts.append(part)
    packed = b"".join(parts)
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding == "identity":
        return packed
    if coding == "gzip":
        return unpack(packed, most_unpacked)
    raise Refused(415, f"Content-Encoding: {coding!r:.40} is not known; allowed: gzip, identity")


def too_large(most: int) -> Refused:
    """Say how large a body may be."""
    return Refused(413, f"the body is larger than {most} bytes; send it in several requests")


def unpack(packed: bytes, most: int) -> bytes:
    """Unpack gzip, members one behind the other too, and never more than allowed."""
    parts, left = [], most
    while packed:
        member = zlib.decompressobj(GZIP)
        while not member.eof:
            try:
                part = member.decompress(packed, min(STEP, left + 1))
            except zlib.error as error:
                raise Refused(400, f"the body is not gzip: {error}") from error
            packed = member.unconsumed_tail
            left -= len(part)
            if left < 0:
                raise too_large(most)
            parts.append(part)
            if not part and not packed and not member.eof:
                raise Refused(400, "the body is not gzip: it breaks off")
        packed = member.unused_data
    return b"".join(parts)
