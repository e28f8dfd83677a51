"""Decode YAML of strangers: no objects, and bounded in size, depth and aliases.

The loader is the one in Python: that in C recurses without a limit.
"""

from __future__ import annotations

from typing import Any

import yaml

from barograph.runtime.errors import DataError

SIZE = 2**19  # characters of a document
NODES = 200_000  # values of a document, where an alias counts as all values that it stands for
LONGEST = 1_000  # characters of a number, which is read in quadratic time
TAG = "tag:yaml.org,2002:"
NUMBERS = (TAG + "int", TAG + "float")
COLLECTIONS = (TAG + "map", TAG + "seq")
ODD = (ValueError, TypeError, LookupError, AttributeError, OverflowError)


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
        raise DataError(f"{name}: larger than {SIZE >> 10} KiB, which no configuration is")
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is not None and _size(node, {}) > NODES:
            raise DataError(f"{name}: too many values or aliases")
        return None if node is None else loader.construct_document(node)
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


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of values in a node, given those of the nodes that were seen before."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = NODES + 1  # of a node that holds itself
    size = 1
    if isinstance(node, yaml.ScalarNode):
        if node.tag in NUMBERS and len(node.value) > LONGEST:
            raise _problem(f"a number of more than {LONGEST:,} characters", node)
    elif node.tag not in COLLECTIONS:
        raise _problem(f"tag {node.tag} is not supported", node)
    elif isinstance(node, yaml.MappingNode):
        size += sum(_size(inner, known) for pair in node.value for inner in pair)
    else:
        size += sum(_size(inner, known) for inner in node.value)
    known[id(node)] = size
    return size


def _problem(text: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=text, problem_mark=node.start_mark)
