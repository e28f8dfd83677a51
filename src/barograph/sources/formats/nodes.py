"""Decoded JSON with its place, for formats whose files are small."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from barograph.sources.formats.access import arguments, array, at, label, mapping, text
from barograph.sources.formats.numbers import number


@dataclass(slots=True)
class Node:
    """A value of decoded JSON, or of a line of text, and its place in the file.

    What a method cannot return, because the value is missing or of another type, is a `FieldError`
    that names the place.

    Args:
        value: The value; None if it is missing.
        where: Its place, such as "benchmarks[2].stats"; empty for the whole document.

    Example:
        >>> Node({"stats": {"median": 2}})["stats"]["median"].measured()
        (2.0, 'stats.median')
    """

    value: Any
    where: str = ""

    def __getitem__(self, key: str) -> Node:
        """Return the value of a key of an object."""
        value, where = self.value, self.where
        if type(value) is not dict:
            value = mapping(value, where)
        return Node(value.get(key), at(where, key))

    def __contains__(self, key: str) -> bool:
        """Return whether an object has a key."""
        return key in mapping(self.value, self.where)

    def get(self, key: str, default: Any) -> Node:
        """Return the value of a key, or the default if it is missing, null or empty."""
        node = self[key]
        node.value = node.value or default
        return node

    def entries(self) -> Iterator[Node]:
        """Return the entries of an array."""
        values = array(self.value, self.where or "(file)")
        return (Node(value, f"{self.where}[{index}]") for index, value in enumerate(values))

    def mapping(self) -> dict[str, Any]:
        """Return an object."""
        return mapping(self.value, self.where)

    def text(self) -> str:
        """Return a text."""
        return text(self.value, self.where)

    def label(self) -> str:
        """Return a text, number or truth value as a part of an identity."""
        return label(self.value, self.where)

    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Return an object as the arguments of an identity, sorted by name."""
        return arguments(mapping(self.value, self.where), self.where)

    def measured(self) -> tuple[float, str]:
        """Return a finite number and its place, which are fields of `Result` in this order."""
        return number(self.value, self.where), self.where
