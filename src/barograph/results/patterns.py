"""Patterns of names of series, as people type them."""

import json
import re
from fnmatch import translate
from functools import lru_cache

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')  # a part of a printed name; see `SeriesId.__str__`


def matches(pattern: str, name: str) -> bool:
    """Return whether a pattern matches the name of a series.

    The quotes around parts of a name may be left out, and a name matches itself, also with
    brackets.

    Args:
        pattern: A pattern, in which `*` stands for any text.
        name: The printed identity of a series.

    Example:
        >>> matches("db/canary/*", 'db/"canary/cpu"/ms'), matches("sort[8]", "sort[8]")
        (True, True)
    """
    plain = QUOTED.sub(lambda part: json.loads(part[0]), name)
    expression = _compiled(pattern)
    return any(text == pattern or expression.match(text) for text in (name, plain))


@lru_cache(2000)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))
