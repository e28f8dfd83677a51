"""Decode YAML of strangers: no objects, and bounded in size, depth and aliases.

PyYAML's loader recurses without a limit where it is written in C, and resolves aliases without
counting them, so the events of the parser are looked at first.
"""

from __future__ import annotations

from typing import Any

import yaml

from barograph.runtime.errors import DataError

SIZE = 4 * 2**20  # characters of a document
ALIASES = 2_000  # uses of anchors
DEPTH = 100  # levels of nesting
NODES = 200_000  # values of a document, where an alias counts as all values that it stands for
LONGEST = 1_000  # characters of a number, which is read in quadratic time
TAG = "tag:yaml.org,2002:"
NUMBERS = (TAG + "int", TAG + "float")
COLLECTIONS = (TAG + "map", TAG + "seq")
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
        _check(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - it makes no objects
    except _TooLargeError as error:
        raise DataError(f"{name}: {error}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" in line {mark.line + 1}" if mark else ""
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise DataError(f"{name}: not valid YAML{place}: {problem}"[:300]) from None
    except (yaml.YAMLError, *ODD) as error:
        # Odd scalars, such as "!!int ''", make the library raise other errors, too.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{name}: not valid YAML: {reason}"[:300]) from None


def _check(text: str) -> None:
    """Refuse a document that would recurse too deeply, or take much time or memory."""
    loader = _Loader("")
    sizes = [0]  # of the collections that are open
    starts: list[Any] = []
    anchors: dict[str, int] = {}
    aliases = 0
    event: Any  # the stubs know no attributes of events
    for event in yaml.parse(text, Loader=_Loader):
        anchor, size = getattr(event, "anchor", None), 1
        if isinstance(event, yaml.CollectionStartEvent):
            if event.tag not in (None, "!", *COLLECTIONS):
                raise _problem(f"tag {event.tag} is not supported", event)
            starts.append(event)
            sizes.append(1)
            if len(starts) > DEPTH:
                raise _TooLargeError("nested too deeply")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = starts.pop().anchor, sizes.pop()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise _problem(f"undefined alias {event.anchor}", event)
            anchor, size, aliases = None, anchors[event.anchor], aliases + 1
        elif isinstance(event, yaml.ScalarEvent) and len(event.value) > LONGEST:
            tag = event.tag or loader.resolve(yaml.ScalarNode, event.value, event.implicit)
            if tag in NUMBERS:
                raise _problem(f"a number of more than {LONGEST:,} characters", event)
        sizes[-1] += size
        if anchor is not None:
            anchors[anchor] = size
        if sizes[-1] > NODES or aliases > ALIASES:
            raise _TooLargeError("too many values or aliases")


def _problem(text: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=text, problem_mark=event.start_mark)
