"""Find the series that the rows of a batch belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from barograph.series import LABELS, Ints, SeriesId
from barograph.sources.fields import FieldError, identity_of

ARGUMENT = "args."


def is_identity(name: str) -> bool:
    """Return whether a column is part of an identity."""
    return name in LABELS or name.split(".", maxsplit=1)[0] == "args"


class Kinds(NamedTuple):
    """The distinct rows of some columns.

    Attributes:
        values: The values of each distinct row.
        firsts: Where each distinct row occurs first.
        codes: For every row, the number of its distinct row.
    """

    values: list[dict[str, Any]]
    firsts: Ints
    codes: Ints


def distinct(columns: Mapping[str, pa.Array], count: int) -> Kinds:
    """Return the distinct rows of these columns."""
    codes = np.zeros(count, dtype=np.int64)
    firsts = np.zeros(min(count, 1), dtype=np.int64)
    for column in columns.values():
        encoded = column.dictionary_encode(null_encoding="encode")
        inner = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        # The codes are renumbered after each column, so that they never overflow.
        codes = codes * max(len(encoded.dictionary), 1) + inner
        _, firsts, codes = np.unique(codes, return_index=True, return_inverse=True)
    chosen = pa.array(firsts)
    values = {name: column.take(chosen).to_pylist() for name, column in columns.items()}
    rows = [{name: values[name][row] for name in values} for row in range(firsts.size)]
    return Kinds(rows, firsts, codes)


def identity(row: Mapping[str, Any]) -> SeriesId:
    """Return the identity in a row: labels, `args` as a JSON object, and `args.NAME` columns."""
    args = _object(row.get("args"))
    for name, value in row.items():
        if name.startswith(ARGUMENT) and value is not None:
            args[name.removeprefix(ARGUMENT)] = value
    return identity_of({**{name: row.get(name) for name in LABELS}, "args": args})


def _object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise FieldError("args", text, "args is not a JSON object")
    return found


def fields_of(found: SeriesId) -> dict[str, Any]:
    """Return an identity as the fields of a document."""
    names = {name: getattr(found, name) for name in LABELS}
    return {**names, "args": dict(found.args)}
