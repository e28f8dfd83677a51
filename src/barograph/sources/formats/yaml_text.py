"""Decode YAML of strangers: no objects, and bounded in size, depth and aliases."""

from __future__ import annotations

from typing import Any

import yaml

from barograph.errors import DataError

SIZE = 4 * 2**20  # characters of a document
ALIASES = 2_000  # uses of anchors
DEPTH = 100  # levels of nesting
NODES = 200_000  # values of a document, where an alias counts as all values that it stands for


# Written in C where PyYAML was built with libyaml. Its recursion is not limited, so the depth is
# checked before.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """The safe loader, which refuses merges that grow beyond the limits."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge the mappings of "<<" keys; nested merges may grow exponentially."""
        super().flatten_mapping(node)
        if len(node.value) > NODES // 10:
            raise _TooLargeError


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
        _check_events(text)
        found = yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader
        _count(found, {})
    except _TooLargeError:
        raise DataError(f"{name}: too many values or aliases") from None
    except RecursionError:
        raise DataError(f"{name}: nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" in line {mark.line + 1}" if mark else ""
        raise DataError(f"{name}: not valid YAML{place}: {error.problem}"[:300]) from None
    except (yaml.YAMLError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        # Odd scalars, such as "!!int ''", make the library raise other errors, too.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{name}: not valid YAML: {reason}"[:300]) from None
    return found


def _check_events(text: str) -> None:
    """Refuse text that is nested too deeply, or has too many aliases."""
    depth = aliases = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > DEPTH:
            raise RecursionError
        if aliases > ALIASES:
            raise _TooLargeError


def _count(value: Any, known: dict[int, int]) -> int:
    """Return the number of values, counting aliases as often as they are used.

    Args:
        value: A decoded value.
        known: The counts of the containers seen so far, by their id; 0 while being counted.
    """
    if not isinstance(value, dict | list):
        return 1
    total = known.get(id(value))
    if total == 0:  # it contains itself
        raise _TooLargeError
    if total is None:
        known[id(value)] = 0
        inner = value.values() if isinstance(value, dict) else value
        total = known[id(value)] = 1 + sum(_count(item, known) for item in inner)
    if total > NODES:
        raise _TooLargeError
    return total
