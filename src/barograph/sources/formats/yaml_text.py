"""Decode YAML of strangers: no objects, no aliases, and bounded in size.

The loader is the one in Python: that in C recurses without a limit.
"""

from __future__ import annotations

from typing import Any

import yaml

from barograph.runtime.errors import DataError

SIZE = 2**19  # characters of a document
ODD = (ValueError, TypeError, LookupError, AttributeError, OverflowError)


def decode_yaml(text: str, name: str) -> Any:
    r"""Decode a YAML document: mappings, lists, texts, numbers, truth values, dates and null.

    Args:
        text: The document.
        name: What the error calls it.

    Raises:
        DataError: The text is not valid YAML, too large, or has aliases.

    Example:
        >>> decode_yaml("a: [1, 2]\nb: {c: true}", "config.yaml")
        {'a': [1, 2], 'b': {'c': True}}
    """
    if len(text) > SIZE:
        raise DataError(f"{name}: larger than {SIZE >> 10} KiB, which no configuration is")
    try:
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                reason = "aliases are not read; repeat the value"
                mark: Any = event.start_mark
                raise yaml.MarkedYAMLError(problem=reason, problem_mark=mark)
        return yaml.safe_load(text)
    except RecursionError:
        raise DataError(f"{name}: nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f" in line {mark.line + 1}" if mark else ""
        problem = ", ".join(filter(None, (error.context, error.problem)))
        raise DataError(f"{name}: not valid YAML{place}: {problem}"[:300]) from None
    except (yaml.YAMLError, *ODD) as error:
        # Odd scalars, such as "!!int ''", make the library raise other errors, too.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{name}: not valid YAML: {reason}"[:300]) from None
