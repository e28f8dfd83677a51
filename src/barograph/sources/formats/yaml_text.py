"""Decode YAML of strangers: no objects, and bounded in size, depth and aliases.

The document is built from the events of the parser. PyYAML's own loader recurses without a limit
where it is written in C, resolves aliases without counting them, and takes twice the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from barograph.errors import DataError

SIZE = 4 * 2**20  # characters of a document
ALIASES = 2_000  # uses of anchors
DEPTH = 100  # levels of nesting
NODES = 200_000  # values of a document, where an alias counts as all values that it stands for
LONGEST = 1_000  # characters of a number, which is read in quadratic time
TAG = "tag:yaml.org,2002:"
NUMBERS = (TAG + "int", TAG + "float")
MERGE = object()  # the key "<<"
ODD = (ValueError, TypeError, LookupError, AttributeError, OverflowError)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _TooLargeError(Exception):
    """The document is beyond a limit."""


def decode_yaml(text: str, name: str) -> Any:
    r"""Decode a YAML document: mappings, lists, texts, numbers, truth values, dates and null.

    Args:
        text: The document.
        name: What the error calls it.

    Raises:
        DataError: The text is not valid YAML, or too large once its aliases are resolved.

    Example:
        >>> decode_yaml("a: &x [1, 2]\nb: *x", "config.yaml")
        {'a': [1, 2], 'b': [1, 2]}
    """
    if len(text) > SIZE:
        raise DataError(f"{name}: larger than {SIZE >> 20} MiB, which no configuration is")
    try:
        return _Builder().build(text)
    except _TooLargeError as error:
        raise DataError(f"{name}: {error}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" in line {mark.line + 1}" if mark else ""
        raise DataError(f"{name}: not valid YAML{place}: {error.problem}"[:300]) from None
    except (yaml.YAMLError, *ODD) as error:
        # Odd scalars, such as "!!int ''", make the library raise other errors, too.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{name}: not valid YAML: {reason}"[:300]) from None


@dataclass(slots=True)
class _Collection:
    """A list or a mapping that is being read: its values, or its keys and values in turn."""

    start: Any
    is_mapping: bool
    values: list[Any] = field(default_factory=list)
    size: int = 1

    def finished(self) -> list[Any] | dict[Any, Any]:
        """Return the list or the dictionary."""
        kind = "map" if self.is_mapping else "seq"
        if self.start.tag not in (None, "!", TAG + kind):
            raise _problem(f"tag {self.start.tag} is not supported", self.start)
        if not self.is_mapping:
            return self.values
        pairs = list(zip(self.values[::2], self.values[1::2], strict=True))
        if MERGE not in self.values[::2]:
            return dict(pairs)
        merged: dict[Any, Any] = {}
        for key, value in pairs:
            if key is MERGE:
                for part in reversed(value) if isinstance(value, list) else [value]:
                    if not isinstance(part, dict):
                        raise _problem("only mappings can be merged with <<", self.start)
                    merged |= part
        return merged | {key: value for key, value in pairs if key is not MERGE}


class _Builder:
    """Builds the value of a document."""

    def __init__(self) -> None:
        self._scalars = _Loader("")
        self._plain: dict[str, Any] = {}  # the values of plain scalars by their text
        self._open = [_Collection(None, False)]  # the document, and the collections in it
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliases = 0

    def build(self, text: str) -> Any:
        """Return the value of the only document."""
        event: Any  # the stubs know no attributes of events
        for event in yaml.parse(text, Loader=_Loader):
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._add(event.anchor, self._scalar(event), 1)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._open.append(_Collection(event, kind is yaml.MappingStartEvent))
                if len(self._open) > DEPTH:
                    raise _TooLargeError("nested too deeply")
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                collection = self._open.pop()
                self._add(collection.start.anchor, collection.finished(), collection.size)
            elif kind is yaml.AliasEvent:
                self._aliases += 1
                if event.anchor not in self._anchors:
                    raise _problem(f"undefined alias {event.anchor}", event)
                self._add(None, *self._anchors[event.anchor])
            elif kind is yaml.DocumentStartEvent and self._open[0].values:
                raise _problem("there is a second document", event)
        return self._open[0].values[0] if self._open[0].values else None

    def _add(self, anchor: str | None, value: Any, size: int) -> None:
        """Add a value to the innermost collection; an alias counts as all that it stands for."""
        parent = self._open[-1]
        parent.values.append(value)
        parent.size += size
        if anchor is not None:
            self._anchors[anchor] = value, size
        if parent.size > NODES or self._aliases > ALIASES:
            raise _TooLargeError("too many values or aliases")

    def _scalar(self, event: Any) -> Any:
        """Return the value of a scalar."""
        is_plain, _ = event.implicit
        if event.tag is None and not is_plain:
            return event.value
        if event.tag is None and event.value != "<<":
            if event.value not in self._plain:
                self._plain[event.value] = self._converted(event)
            return self._plain[event.value]
        parent = self._open[-1]
        is_key = parent.is_mapping and not len(parent.values) % 2
        is_merge = is_key and event.value == "<<" and is_plain and event.anchor is None
        return MERGE if is_merge else self._converted(event)

    def _converted(self, event: Any) -> Any:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._scalars.resolve(yaml.ScalarNode, event.value, event.implicit)
        if len(event.value) > LONGEST and tag in NUMBERS:
            raise _problem(f"a number of more than {LONGEST:,} characters", event)
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        return self._scalars.construct_object(node)


def _problem(text: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=text, problem_mark=event.start_mark)
