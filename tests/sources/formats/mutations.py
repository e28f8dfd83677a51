"""Damage to files: flipped bytes, cuts, copies, huge numbers, other types, deep nesting."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

DEEP = 100_000
DIGITS = "9" * 5_000
SURROGATE = "\ud800"
VALUES: tuple[Any, ...] = (
    None, True, False, [], {}, "", "x", 0, -1, 1e308, -1e308, 10**30, -(10**30), 10**400, 1e-320,
    float("nan"), float("inf"), SURROGATE, "NaN", "1e999", "1970-01-01", "9999-12-31",
    "x" * 5_000, [[]], [None], {"": None}, {"a": {"b": [1]}}, "\x00", "\u2028", DIGITS,
)  # fmt: skip
TOKENS = tuple(
    token.encode("utf-8", "surrogatepass")
    for token in (
        *"{}[]\",:\\\n\t;<>&\x00-", "null", "NaN", "-Infinity", "1e999", "\\ud800", SURROGATE,
        DIGITS, "0x1", "\r", "\r\n", "\ufeff", "<!DOCTYPE a [<!ENTITY b 'c'>]>", "&b;", "\x85",
    )
)  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
HUGE = (b"1e999", b"-1e999", b"1" + b"0" * 400, b"0", b"-0", b"1e-999", b"", DIGITS.encode())


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return the content with one to three random mutations."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        content = chance.choice(MUTATIONS)(content, chance)
    return content


def flipped(content: bytes, chance: random.Random) -> bytes:
    """Flip bits of a few bytes."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 8) if data else 0):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def cut(content: bytes, chance: random.Random) -> bytes:
    """Cut the end off, or a part out."""
    start = _place(content, chance)
    return content[:start] + (content[_place(content, chance) :] if chance.random() < 0.5 else b"")


def copied(content: bytes, chance: random.Random) -> bytes:
    """Copy a part to another place."""
    start, stop = sorted((_place(content, chance), _place(content, chance)))
    part = content[start : min(stop, start + 2_000)]
    place = _place(content, chance)
    return content[:place] + part * chance.choice((1, 1, 2, 50)) + content[place:]


def inserted(content: bytes, chance: random.Random) -> bytes:
    """Insert a token that a parser may stumble over, or random bytes."""
    place = _place(content, chance)
    token = chance.choice(TOKENS) if chance.random() < 0.8 else chance.randbytes(8)
    return content[:place] + token + content[place:]


def renumbered(content: bytes, chance: random.Random) -> bytes:
    """Replace a number by a huge, empty or strange one."""
    numbers = list(NUMBER.finditer(content))
    if not numbers:
        return content
    number = chance.choice(numbers)
    return content[: number.start()] + chance.choice(HUGE) + content[number.end() :]


def nested(content: bytes, chance: random.Random) -> bytes:
    """Insert very deep nesting."""
    place = _place(content, chance)
    # Recognition looks at up to 64 KiB of brackets, which takes longer than all else together.
    depth = chance.choice((10, 100, 500, 1_000, 2_000)) if chance.random() < 0.95 else DEEP
    opening, closing = chance.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"(", b")"))
    )
    inner = chance.choice((b"", b"1", b"null"))
    closed = closing * depth if chance.random() < 0.7 else b""
    return content[:place] + opening * depth + inner + closed + content[place:]


def retyped(content: bytes, chance: random.Random) -> bytes:
    """Replace, remove, rename or repeat a value of the JSON, or of one of its lines."""
    try:
        documents = [json.loads(content)]
    except (ValueError, RecursionError):
        try:
            documents = [json.loads(line) for line in content.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            return flipped(content, chance)
    if not documents:
        return content
    index = chance.randrange(len(documents))
    documents[index] = _changed(documents[index], chance)
    return b"\n".join(_dumped(document) for document in documents)


def _dumped(document: Any) -> bytes:
    try:
        return json.dumps(document).encode()
    except (ValueError, RecursionError):
        return b"[" * DEEP


def _changed(document: Any, chance: random.Random) -> Any:
    """Return a document with another value at a random place."""
    containers = [container for container in _containers(document) if container]
    if not containers or chance.random() < 0.02:
        return chance.choice(VALUES)
    container = chance.choice(containers)
    key = chance.choice(list(container) if isinstance(container, dict) else range(len(container)))
    action = chance.random()
    if action < 0.7:
        container[key] = chance.choice(VALUES)
    elif action < 0.85:
        del container[key]
    elif isinstance(container, list):
        container.insert(key, container[chance.randrange(len(container))])
    else:
        container[chance.choice(("", "value", "name", "x" * 300, SURROGATE))] = container.pop(key)
    return document


def _containers(document: Any) -> list[Any]:
    """Return all objects and arrays of a document."""
    containers, waiting = [], [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (dict, list)):
            containers.append(value)
            waiting.extend(value.values() if isinstance(value, dict) else value)
    return containers


def _place(content: bytes, chance: random.Random) -> int:
    return chance.randint(0, len(content))


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flipped, cut, copied, inserted, renumbered, renumbered, nested, retyped, retyped, retyped,
)  # fmt: skip
