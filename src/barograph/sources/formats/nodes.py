"""Walk decoded JSON: a value of the right type, or a `FieldError` that names its place.

`Node` is a value with its place. The functions below it read values whose places are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

from barograph.series import Direction, canonical_text
from barograph.sources.base import Place, Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import InputFile
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.numbers import number, numeric

SHOWN_KEY = 60  # characters of a key that messages show
DIRECTIONS = {
    **dict.fromkeys(("lower", "smaller", "less", "down", "min", "minimize"), -1),
    **dict.fromkeys(("higher", "bigger", "larger", "greater", "more", "up", "max", "maximize"), 1),
    **dict.fromkeys(("unknown", "none", "neither"), 0),
}  # fmt: skip


class Node:
    """A value of decoded JSON, or of a line of text, and its place in the file.

    What a method cannot return, because the value is missing or of another type, is a `FieldError`
    that names the place.

    Args:
        value: The value; None if it is missing.
        where: Its place, such as "benchmarks[2].stats"; empty for the whole document. Or the node
            that holds it: then the place is made when an error or a result needs it.
        key: Its key or index in that node.

    Example:
        >>> Node({"stats": {"median": 2}})["stats"]["median"].measured()
        (2.0, 'stats.median')
        >>> [(name, node.where) for name, node in Node({"p50": 1}, "metrics").items()]
        [('p50', 'metrics.p50')]
    """

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: Any, where: str | Node = "", key: str | int = "") -> None:
        self.value = value
        self._parent, self._key = where, key

    @property
    def where(self) -> str:
        """Its place."""
        if not isinstance(self._parent, str):
            self._parent = at(self._parent.where, self._key)
        return self._parent

    def __getitem__(self, key: str) -> Node:
        """Return the value of a key of an object."""
        value = self.value
        if type(value) is not dict:
            value = self.mapping()
        return Node(value.get(key), self, key)

    def __contains__(self, key: str) -> bool:
        """Return whether an object has a key."""
        return key in self.mapping()

    def get(self, key: str, default: Any) -> Node:
        """Return the value of a key, or the default if it is missing, null or empty."""
        node = self[key]
        node.value = node.value or default
        return node

    def first(self, keys: Iterable[str]) -> Node:
        """Return the value of the first of some keys that is there."""
        nodes = [self[key] for key in keys]
        return next((node for node in nodes if node.value is not None), nodes[0])

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield the keys of an object, which must be valid text, and their values."""
        for key, value in self.mapping().items():
            node = Node(value, self, key)
            yield key if type(key) is str and key.isascii() else text(key, node.where), node

    def entries(self) -> Iterator[Node]:
        """Return the entries of an array."""
        return (Node(value, self, index) for index, value in enumerate(self.array()))

    def array(self) -> list[Any]:
        """Return an array."""
        if type(self.value) is list:
            return self.value
        return array(self.value, self.where or "(file)")

    def mapping(self) -> dict[str, Any]:
        """Return an object."""
        if type(self.value) is dict:
            return self.value
        return mapping(self.value, self.where or "(file)")

    def text(self) -> str:
        """Return a text."""
        if type(self.value) is str and self.value.isascii():
            return self.value
        return text(self.value, self.where)

    def optional_text(self) -> str:
        """Return a text, empty if it is missing (null)."""
        return "" if self.value is None else self.text()

    def label(self) -> str:
        """Return a text, number or truth value as a part of an identity."""
        return label(self.value, self.where)

    def optional_label(self) -> str:
        """Return a part of an identity, empty if it is missing (null)."""
        return "" if self.value is None else label(self.value, self.where)

    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Return an object as the arguments of an identity, sorted by name."""
        return arguments(self.mapping(), self.where)

    def number(self) -> float:
        """Return a finite number."""
        if type(self.value) is float and isfinite(self.value):
            return self.value
        return number(self.value, self.where)

    def numeric(self) -> float:
        """Return a finite number, or the one that a text is."""
        if type(self.value) is float and isfinite(self.value):
            return self.value
        return numeric(self.value, self.where)

    def measured(self) -> tuple[float, str]:
        """Return a finite number and its place, which are fields of `Result` in this order."""
        return number(self.value, self.where), self.where

    def time(self) -> int:
        """Return a time in milliseconds since 1970; a missing one is `UNKNOWN_TIME`."""
        return time_ms(self.value, self.where)

    def direction(self, keys: Iterable[str]) -> Direction:
        """Return the direction that the first of some keys of an object states."""
        return direction_in(self.mapping(), keys, self.where)

    def skip(self, file: InputFile, reason: str) -> Skip:
        """Return the record of a value that a format leaves out.

        Args:
            file: The file that is read.
            reason: Why: one of a few short texts, as skips are counted by reason.
        """
        return skipped(file, self.where, self.value, reason)


def at(where: str, key: str | int) -> str:
    """Return the place of an entry: `where.key`, or `where[3]` for an index.

    A place may begin with a file, "steps.json: ", which ends with a blank.

    Example:
        >>> at(at("entries", "Suite"), 3)
        'entries.Suite[3]'
    """
    if isinstance(key, int):
        return f"{where}[{key}]"
    shown = key if len(key) <= SHOWN_KEY else f"{key[:SHOWN_KEY]}..."
    return f"{where}.{shown}" if where and where[-1] != " " else f"{where}{shown}"


def mapping(value: object, where: str) -> dict[str, Any]:
    """Return a value that must be a JSON object.

    Raises:
        FieldError: It is not an object.
    """
    if isinstance(value, dict):
        return value
    raise FieldError(where, value, "is missing" if value is None else "is not an object")


def array(value: object, where: str) -> list[Any]:
    """Return a value that must be a JSON array.

    Raises:
        FieldError: It is not an array.
    """
    if isinstance(value, list):
        return value
    raise FieldError(where, value, "is missing" if value is None else "is not an array")


def text(value: object, where: str) -> str:
    """Return a value that must be text.

    Raises:
        FieldError: It is not text, or not valid Unicode.
    """
    if not isinstance(value, str):
        raise FieldError(where, value, "is missing" if value is None else "is not text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # JSON can hold lone surrogates, which no table can
            raise FieldError(where, value, "is not valid text") from None
    return value


def optional_text(value: object, where: str) -> str:
    """Return a value that must be text or missing (None); missing text is empty.

    Raises:
        FieldError: It is neither.
    """
    return "" if value is None else text(value, where)


def label(value: object, where: str) -> str:
    """Return a text, number or truth value as a part of an identity: 8, 8.0 and "8" are equal.

    Raises:
        FieldError: It is something else.

    Example:
        >>> label(8.0, "params.size"), label(True, "params.fast")
        ('8', 'true')
    """
    if isinstance(value, (int, float)):
        return canonical_text(value)
    return text(value, where)


def arguments(values: Mapping[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a benchmark as the arguments of an identity, sorted by name.

    Raises:
        FieldError: A name is not valid text, or a value is an object or an array.
    """
    pairs = ((text(name, where), label(value, at(where, name))) for name, value in values.items())
    return tuple(sorted(pairs))


def direction(text: str, field: str) -> Direction:
    """Return the direction that a text names.

    Args:
        text: The text, such as "lower", "smaller_is_better" or "-1".
        field: Its key or column; `lower_is_better` and the like may be true or false.

    Raises:
        FieldError: It names no direction.

    Example:
        >>> direction("smaller_is_better", "direction").name, direction("1", "direction").name
        ('LOWER_IS_BETTER', 'HIGHER_IS_BETTER')
        >>> direction("true", "lower_is_better").name, direction("0", "lowerIsBetter").name
        ('LOWER_IS_BETTER', 'HIGHER_IS_BETTER')
    """
    stated = _direction_of(text, field.rpartition(".")[2])
    if stated is None:
        allowed = "direction is not -1, 0, 1, lower_is_better, higher_is_better or unknown"
        raise FieldError(field, text, allowed)
    return stated


@lru_cache(256)  # most metrics of a file state one of two
def _direction_of(text: str, key: str) -> Direction | None:
    word = text.strip().lower().replace("-", "_").replace(" ", "_") if text[:1] != "-" else text
    if not word:
        return Direction.UNKNOWN
    column = key.lower().replace("_", "")
    if column.endswith("isbetter") and word in ("true", "false", "1", "0", "yes", "no", "t", "f"):
        way = -1 if column.startswith(("lower", "smaller", "less")) else 1
        return Direction(way if word in ("true", "1", "yes", "t") else -way)
    word = word.removesuffix("_is_better").removesuffix("isbetter").removesuffix("_better")
    if word in ("-1", "0", "1", "-1.0", "0.0", "1.0", "+1"):
        return Direction(int(float(word)))
    return Direction(DIRECTIONS[word]) if word in DIRECTIONS else None


def direction_in(fields: Mapping[str, Any], keys: Iterable[str], where: str) -> Direction:
    """Return the direction that the first of some keys states; unknown if none is there."""
    for key in keys:
        if fields.get(key) is not None:
            here = at(where, key)
            return direction(label(fields[key], here), here)
    return Direction.UNKNOWN


def project_of_url(url: str) -> str:
    """Return the project that the address of a repository names, without the host.

    Example:
        >>> project_of_url("https://github.com/acme/parser.git")
        'acme/parser'
    """
    path = re.sub(r"^(?:[a-z+]+://)?(?:[^/@]*@)?[^/:]+[:/](?:\d+/)?", "", url.strip())
    return path.removesuffix("/").removesuffix(".git") or url.strip()


def skipped(file: InputFile, where: str, value: object, reason: str) -> Skip:
    """Return the record of a value that a format leaves out.

    Args:
        file: The file that is read.
        where: The place of the value in it.
        value: The value.
        reason: Why it is left out: one of a few short texts, as skips are counted by reason.
    """
    return Skip(Place(file.name, 0), where, value, reason, "points")
