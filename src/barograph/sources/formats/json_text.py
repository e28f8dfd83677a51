"""Decode JSON of strangers: as a whole, or an array entry by entry, which bounds the memory."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable
from json import detect_encoding
from typing import Any

import msgspec

from barograph.runtime.errors import DataError

CUT_OFF = "Input data was truncated"  # what msgspec says
MEBIBYTE = 1 << 20
SMALL = 1024  # bytes of a value of an object that is decoded with it
PARTS = msgspec.json.Decoder(list[msgspec.Raw] | dict[str, msgspec.Raw])


class EndsEarlyError(DataError):
    """JSON that is cut off."""


def decode_json(text: str | bytes | msgspec.Raw, name: str) -> Any:
    """Decode JSON; NaN and Infinity, which many tools write, become None.

    Args:
        text: The JSON.
        name: What the error calls it: a file, or a file with a line.

    Raises:
        DataError: The text is not valid JSON, or nested too deeply.
        EndsEarlyError: The text is only the beginning of valid JSON.
    """
    is_collecting = gc.isenabled()
    gc.disable()  # a search for cycles among millions of fresh lists takes as long as the decoding
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        message = str(error)
    except UnicodeDecodeError:  # which says where in its string the byte is
        message = ""
    except RecursionError:
        raise DataError(f"{name}: nested too deeply") from None
    finally:
        if is_collecting:
            gc.enable()
    content = text if isinstance(text, str) else bytes(text)
    try:
        # `json.loads` decodes bytes that stand for lone surrogates, which are no valid text.
        content = content if isinstance(content, str) else content.decode(detect_encoding(content))
        decoded = json.loads(content, parse_constant=lambda _name: None)
        return _valid_texts(decoded) if "\\ud" in content.lower() else decoded
    except RecursionError:
        raise DataError(f"{name}: nested too deeply") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}: not valid {error.encoding.upper()} at byte {error.start}"
        ) from None
    except ValueError:
        if message != CUT_OFF:
            raise DataError(f"{name}: not valid JSON: {message}") from None
        raise _ends_early(name, content) from None


def _ends_early(name: str, text: str | bytes | msgspec.Raw) -> EndsEarlyError:
    content = text.encode() if isinstance(text, str) else bytes(text)
    lines = content.count(b"\n") + 1
    place = f"byte {len(content):,}" + (f" in line {lines:,}" if lines > 1 else "")
    return EndsEarlyError(f"{name}: not valid JSON: it ends early, at {place}")


def split_json(text: bytes | msgspec.Raw, name: str, largest: int | None = None) -> Any:
    """Decode the outermost array or object only, and large objects in it likewise.

    Args:
        text: The JSON.
        name: What the error calls it.
        largest: Number of bytes of a value that may be decoded as a whole; None for any.

    Returns:
        A list or a dictionary whose values are `msgspec.Raw`, for `decode_json` or this function.
        Small values of an object are decoded, and so is all that only the lenient decoder reads.

    Raises:
        DataError: The text is not valid JSON, nested too deeply, or an entry of an array is too
            large.
        EndsEarlyError: The text is only the beginning of valid JSON.

    Example:
        >>> parts = split_json(b'[{"p50": 1}, 2]', "runs.json")
        >>> [decode_json(part, "runs.json") for part in parts]
        [{'p50': 1}, 2]
    """
    try:
        parts = PARTS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if str(error) == CUT_OFF and largest is not None and memoryview(text).nbytes > largest:
            raise _ends_early(name, text) from None
        require_small([text], name, largest)
        return decode_json(text, name)
    if isinstance(parts, list):
        require_small(parts, name, largest)
        return parts
    return {key: _part(part, name, largest) for key, part in parts.items()}


def _part(part: msgspec.Raw, name: str, largest: int | None) -> Any:
    """Return a value of an object: decoded if it is small, split if it is too large for that."""
    size = memoryview(part).nbytes
    if size <= SMALL:
        return decode_json(part, name)
    return part if largest is None or size <= largest else split_json(part, name, largest)


def require_small(values: Iterable[Any], name: str, largest: int | None) -> None:
    """Refuse values that would take too much memory: decoded, one takes many times its size.

    Args:
        values: The values as text or `msgspec.Raw`; others are decoded already.
        name: What the error calls them.
        largest: Number of bytes of a value; None for any.

    Raises:
        DataError: A value is larger.
    """
    if largest is None:
        return
    texts = (value for value in values if isinstance(value, (bytes, msgspec.Raw)))
    size = max((memoryview(text).nbytes for text in texts), default=0)
    if size > largest:
        raise DataError(
            f"{name}: a JSON value of {size / MEBIBYTE:,.0f} MiB must be decoded as a whole; at "
            f"most {largest / MEBIBYTE:,g} MiB are allowed, a quarter of --max-size MIB"
        )


def _valid_texts(value: Any) -> Any:
    """Return a decoded value with replacement characters for lone surrogates, which JSON allows."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_valid_texts(entry) for entry in value]
    if isinstance(value, dict):
        return {_valid_texts(name): _valid_texts(entry) for name, entry in value.items()}
    return value
