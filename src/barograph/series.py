"""The domain: series, points, regions, change points, candidates and verdicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.errors import DataError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Verdict(StrEnum):
    """What people say of a candidate."""

    TRUE_POSITIVE = "true_positive"
    FALSE_POSITIVE = "false_positive"
    NOT_TRIAGED = "not_triaged"
    UNDER_INVESTIGATION = "under_investigation"

    @property
    def is_final(self) -> bool:
        """Whether a person has decided: only these train a model."""
        return self in (Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE)


FINAL = tuple(verdict.value for verdict in Verdict if verdict.is_final)


class Direction(IntEnum):
    """Which way is better for a measurement."""

    LOWER_IS_BETTER = -1
    UNKNOWN = 0
    HIGHER_IS_BETTER = 1


@dataclass(frozen=True, slots=True)
class SeriesId:
    """The identity of one benchmark measurement over commits."""

    project: str
    variant: str
    task: str
    test: str
    measurement: str
    args: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> bytes:
        """Sixteen bytes that stand for this identity, the same on every machine."""
        fields = [self.project, self.variant, self.task, self.test, self.measurement, self.args]
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def __str__(self) -> str:
        """`project/variant/task/test/measurement`, as far as there are any, then the arguments."""
        parts = (self.project, self.variant, self.task, self.test, self.measurement)
        path = "/".join(part for part in parts if part)
        return path + "".join(f" {name}={value}" for name, value in self.args)


def normalize_args(args: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Return the arguments of a series as pairs of text, sorted by name.

    The values 8, 8.0 and "8" are equal; values that are neither text nor a number are compared
    by their JSON.

    Raises:
        DataError: An argument is not valid text, or is nested too deeply.
    """
    if not args:
        return ()
    try:
        pairs = [(str(name), canonical_text(value)) for name, value in args.items()]
        "".join(text for pair in pairs for text in pair).encode()
    except UnicodeEncodeError as error:
        raise DataError("not valid text") from error
    except RecursionError as error:
        raise DataError("nested too deeply") from error
    return tuple(sorted(pairs))


def canonical_text(value: object) -> str:
    """Return a value as text, the same for every type that a whole number was stored in."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (bool, list, Mapping)) or value is None:
        return json.dumps(value, sort_keys=True, default=str)
    return str(value)


class Point(NamedTuple):
    """One result: its place in the history, the commit it measured, and the value."""

    order: int
    commit: str
    value: float


@dataclass(frozen=True, slots=True)
class Region:
    """What the points between two change points look like."""

    count: int
    min: float
    max: float
    median: float
    mean: float
    variance: float

    @classmethod
    def of(cls, values: Floats) -> Region:
        """Describe a non-empty stretch of values; the variance is unbiased, 0 for one point."""
        return cls(
            count=values.size,
            min=float(values.min()),
            max=float(values.max()),
            median=float(np.median(values)),
            mean=float(values.mean()),
            variance=float(values.var(ddof=1)) if values.size > 1 else 0.0,
        )


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The first point of a new regime, as a detector saw it.

    `order` counts the discoveries of a method that finds one point after the other, from 0.
    """

    index: int
    statistic: float
    pvalue: float | None
    before: Region
    after: Region
    order: int | None = None
