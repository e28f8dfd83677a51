"""The domain: series, regions, change points and verdicts, and the check of arrays."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.runtime.errors import DataError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LABELS = ("project", "variant", "task", "test", "measurement")  # of a series, besides args
UNKNOWN_TIME = int(np.iinfo(np.int64).min)  # times are milliseconds since 1970
# The years 1 to 9999, which every reader of the tables supports.
TIME_RANGE = (-62_135_596_800_000, 253_402_300_799_999)
MIN_CHANGE = 0.5  # percent of the level before: what is smaller fails no job by default
LARGEST_ORDER = 2**53  # JSON and spreadsheets read larger whole numbers inexactly
ORDER_HINT = "orders are at most 2^53 large; number the commits, or give times in milliseconds"
TOO_LARGE = "an integer too large for a float"


class Verdict(StrEnum):
    """What people say about a candidate."""

    TRUE_POSITIVE = "true_positive"
    FALSE_POSITIVE = "false_positive"
    NOT_TRIAGED = "not_triaged"
    UNDER_INVESTIGATION = "under_investigation"
    UNSURE = "unsure"

    @property
    def word(self) -> str:
        """The word that people read and may type.

        Example:
            >>> [verdict.word for verdict in Verdict]
            ['real', 'noise', 'not triaged', 'under investigation', 'unsure']
        """
        return WORDS.get(self, self.value.replace("_", " "))

    @property
    def is_final(self) -> bool:
        """Whether a person has decided: only these verdicts train a model."""
        return self in (Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE)


WORDS = {Verdict.TRUE_POSITIVE: "real", Verdict.FALSE_POSITIVE: "noise"}
FINAL = tuple(verdict.value for verdict in Verdict if verdict.is_final)


class Direction(IntEnum):
    """Which way is better for a measurement."""

    LOWER_IS_BETTER = -1
    UNKNOWN = 0
    HIGHER_IS_BETTER = 1


@dataclass(frozen=True, slots=True)
class SeriesId:
    """The identity of a series: five labels, and arguments sorted by name."""

    project: str
    variant: str
    task: str
    test: str
    measurement: str
    args: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Sort the arguments, so that equal series have equal digests."""
        if len(self.args) > 1:
            object.__setattr__(self, "args", tuple(sorted(self.args)))

    @classmethod
    def from_row(cls, row: Mapping[Any, Any]) -> SeriesId:
        """Return the identity in a table row with the five labels and `args` as JSON."""
        args = tuple(json.loads(row["args"]).items()) if row["args"] != "{}" else ()
        return cls(**{label: row[label] or "" for label in LABELS}, args=args)

    @property
    def labels(self) -> dict[str, str]:
        """The five labels by name."""
        return {label: getattr(self, label) for label in LABELS}

    @property
    def args_json(self) -> str:
        """The arguments as a JSON object, as tables hold them."""
        return json.dumps(dict(self.args), ensure_ascii=False) if self.args else "{}"

    @property
    def digest(self) -> bytes:
        """A hash of 16 bytes, the same on every machine."""
        fields = [self.project, self.variant, self.task, self.test, self.measurement, self.args]
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def __str__(self) -> str:
        """Return the labels as a path, followed by the arguments; no two identities print equally.

        A test alone is its name. Up to five parts mean: test and measurement; project, test and
        measurement; project, task, test and measurement; all labels. In a longer path than the
        labels need, "-" is an empty label; "task: test" is a test without a project. Parts that
        would be ambiguous, such as those with "/", are in quotes.

        Example:
            >>> print(SeriesId("db", "", "", "insert", "ops"), SeriesId("db", "", "", "insert", ""))
            db/insert/ops db/insert/-
            >>> print(SeriesId("", "", "", "a/b", ""), SeriesId("", "", "io", "read", "p99"))
            "a/b" io: read/p99
        """
        labels = {name: part for name, part in self.labels.items() if part}
        shape = next(shape for shape in SHAPES if labels.keys() <= set(shape))
        path = "/".join(_quoted(labels[name]) if name in labels else "-" for name in shape)
        if "task" in labels and not (self.project or self.variant):
            test = _quoted(self.test) if self.test else "-"
            measurement = f"/{_quoted(self.measurement)}" if self.measurement else ""
            path = f"{_quoted(self.task)}: {test}{measurement}"
        return path + "".join(
            f" {_quoted(name, '=')}={_quoted(value)}" for name, value in self.args
        )


# The labels of a path by the number of its parts.
SHAPES = (
    ("test",),
    ("test", "measurement"),
    ("project", "test", "measurement"),
    ("project", "task", "test", "measurement"),
    LABELS,
)
# What makes a part of a path ambiguous: a sign of the path, a space at an end, or an argument.
AMBIGUOUS = re.compile(r'[/"\\]|: |:$|^-?$|^\s|\s$|[^\S ]|\s.*=|=.*\s')


def _quoted(part: str, sign: str = "/") -> str:
    """Return a part of a path, in quotes if it could be read otherwise or holds a sign."""
    unclear = sign in part or AMBIGUOUS.search(part)
    return json.dumps(part, ensure_ascii=False) if unclear else part


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


@dataclass(frozen=True, eq=False, repr=False)
class Series:
    """The results of one measurement over commits, one entry per point.

    Detectors and other functions that take an array of values take a series, too.

    Attributes:
        id: The identity.
        orders: The place of each point's commit in the project's history, ascending.
        values: The measured values.
        commits: The commit of each point, "" where unknown; empty if all are unknown.
        times: Milliseconds since 1970, `UNKNOWN_TIME` where unknown; None if all are unknown.
        direction: Which way is better.
        unit: The unit of the values; empty if unknown.

    Example:
        >>> identity = SeriesId("db", "linux", "nightly", "insert", "ops_per_sec")
        >>> series = Series(identity, np.array([7, 9]), np.array([4.5, 4.6]), ["8674f78", "dc79d7"])
        >>> series
        Series(db/linux/nightly/insert/ops_per_sec, 2 points)
        >>> series.commits[1], float(np.asarray(series).max())
        ('dc79d7', 4.6)
    """

    id: SeriesId
    orders: Ints
    values: Floats
    commits: Sequence[str] = ()
    times: Ints | None = None
    direction: Direction = Direction.UNKNOWN
    unit: str = ""

    def __post_init__(self) -> None:
        """Make the arrays read-only views, and check that they are equally long."""
        for name, dtype in (("orders", np.int64), ("values", np.float64), ("times", np.int64)):
            array = getattr(self, name)
            if array is not None:
                array = np.asarray(array, dtype=dtype).view()
                array.flags.writeable = False
                object.__setattr__(self, name, array)
        sizes = [self.orders.size, self.values.size]
        sizes += [len(self.commits)] if len(self.commits) else []
        sizes += [] if self.times is None else [self.times.size]
        if len(set(sizes)) != 1:
            raise DataError(f"series {self.id}: the arrays must be equally long, not {sizes}")

    def __repr__(self) -> str:
        """Return the identity and the number of points."""
        return f"Series({self.id}, {len(self):,} point{'s' * (len(self) != 1)})"

    def __len__(self) -> int:
        """Return the number of points."""
        return self.values.size

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the values, so that a series can stand for its array."""
        return np.array(self.values, dtype=dtype, copy=copy)

    def index_of(self, order: int) -> int:
        """Return the index of the first point at `order` or later."""
        return int(np.searchsorted(self.orders, order))

    def orders_around(self, index: int, count: int) -> list[int]:
        """Return the orders of up to `count` points on each side of the point at an index."""
        before = self.orders[max(0, index - count) : index]
        return [*before.tolist(), *self.orders[index + 1 : index + 1 + count].tolist()]


@dataclass(frozen=True, slots=True)
class Region:
    """Statistics of the points between two change points, as one of them has them on its side.

    `level` is the level beside that change point (see `sizes`); the rest is of all points.
    """

    count: int
    min: float
    max: float
    median: float
    mean: float
    variance: float
    level: float

    @classmethod
    def of(cls, values: Floats, level: float | None = None) -> Region:
        """Describe at least one value; the variance is unbiased, and 0 for a single value.

        The level is by default the median of all.
        """
        return cls(
            count=values.size,
            min=float(values.min()),
            max=float(values.max()),
            median=float(np.median(values)),
            mean=float(values.mean()),
            variance=float(values.var(ddof=1)) if values.size > 1 else 0.0,
            level=float(np.median(values)) if level is None else level,
        )


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The first point of a new level, as a detector reports it.

    Attributes:
        index: The 0-based index in the values as given.
        statistic: The detector's own measure of the change.
        pvalue: The p-value; None if the method has none.
        before: The points from the previous change point to just before this one.
        after: The points from this change point to just before the next one.
        order: The number of the discovery, from 0, of a method that finds one point after the
            other.
        probability: How likely a person would call the change real; None if no model judged it.
        q: The energy statistic Q of E-Divisive and Hunter; None of other methods.
        is_trend: Whether the results beside the change contradict each other about its sign.
        is_new: Whether the default method found it with at most ten results after it, so that the
            next ones may still move or withdraw it.

    Example:
        >>> before, after = Region.of(np.array([4.0, 6.0])), Region.of(np.array([9.0]))
        >>> point = ChangePoint(2, 1.5, None, before, after, probability=0.9)
        >>> point.index, point.before.mean, point.after.mean, point.probability
        (2, 5.0, 9.0, 0.9)
    """

    index: int
    statistic: float
    pvalue: float | None
    before: Region
    after: Region
    order: int | None = None
    probability: float | None = None
    q: float | None = None
    is_trend: bool = False
    is_new: bool = False


def as_floats(values: npt.ArrayLike, name: str = "values") -> Floats:
    """Return a C-contiguous, writable, one-dimensional float64 array, a view where possible.

    Args:
        values: Numbers; None, pandas' NA and what a masked array masks become NaN.
        name: What error messages call the values.

    Raises:
        DataError: The values are not one-dimensional, or one of them is not a number.
    """
    if isinstance(values, np.ndarray) and hasattr(values, "filled"):  # `asarray` drops the mask
        values = np.where(np.ma.getmaskarray(values), np.array(None), np.ma.getdata(values))
    try:
        raw = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{name} must be one-dimensional: {error}") from error
    if raw.ndim == 0:
        raise DataError(f"{name} is {f'{values!r}':.60}; it must be a list or an array of numbers")
    if raw.ndim != 1:
        raise DataError(f"{name} must be one-dimensional, but has the shape {raw.shape}")
    if raw.dtype.kind not in "iufb" and raw.size:
        raw = _convert(raw, name)
    if raw.dtype == np.float64 and raw.flags.carray:
        return raw
    # Numba compiles again for a read-only array, which costs more than this copy.
    return np.require(raw, np.float64, ["C", "A", "W"])


def _convert(raw: npt.NDArray[Any], name: str) -> Floats:
    """Convert objects one at a time, to name the first that is not a number; text is not."""
    converted = np.empty(raw.size)
    for index, value in enumerate(raw if raw.dtype.kind in "Mm" else raw.tolist()):
        try:
            if isinstance(value, (str, bytes, complex)) or raw.dtype.kind in "Mm":
                raise TypeError
            converted[index] = np.nan if is_na(value) else float(value)
        except OverflowError as error:
            raise DataError(f"{name}[{index}] is {TOO_LARGE}") from error
        except (TypeError, ValueError) as error:
            raise DataError(f"{name}[{index}] is {value!r:.40}; it must be a number") from error
    return converted


def is_na(value: object) -> bool:
    """Return whether a value is None or the NA of pandas, which is no number of any kind."""
    return value is None or type(value).__name__ == "NAType"


def require_finite(array: Floats, name: str = "values", columns: Sequence[str] = ()) -> None:
    """Raise a `DataError` that names the first NaN or infinity in an array.

    Args:
        array: An array of any shape.
        name: What the message calls the array.
        columns: Names of the columns of a matrix.
    """
    finite = np.isfinite(array)
    if finite.all():
        return
    index = np.unravel_index(int(np.argmin(finite)), array.shape)
    place = [columns[int(k)] if axis and columns else str(k) for axis, k in enumerate(index)]
    raise DataError(f"{name}[{', '.join(place)}] is {array[index]}; every value must be finite")
