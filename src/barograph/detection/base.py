"""The contract of all detectors, and the check of their input."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Self, get_type_hints

import numpy as np
import numpy.typing as npt

from barograph.detection.numerics import mean_and_squares
from barograph.results.series import ChangePoint, Floats, Ints, Region, as_floats, require_finite
from barograph.results.sizes import near_levels
from barograph.runtime.compiled import choose, kernel
from barograph.runtime.errors import ConfigError, DataError

LARGEST = 1e100  # squares and sums of smaller values are finite

# What a parameter with this annotation takes, NumPy's numbers included, and how errors call it.
KINDS: dict[Any, tuple[Any, str]] = {
    int: (Integral, "a whole number"),
    int | None: (Integral | None, "a whole number"),
    float: (Real, "a number"),
    float | None: (Real | None, "a number"),
    bool: (bool, "True or False"),
}


@dataclass(frozen=True, slots=True)
class RawChangePoint:
    """A change point without its regions."""

    index: int
    statistic: float
    pvalue: float | None = None
    order: int | None = None
    probability: float | None = None
    q: float | None = None
    is_new: bool = False


@dataclass(frozen=True)
class Detector(ABC):
    """Base class of all detectors: a frozen dataclass whose fields are its parameters.

    A detector defines `shortest` and `find`. Its parameters are its identity and its repr.
    """

    def __post_init__(self) -> None:
        for name, kind, what in _checks(type(self)):
            value = getattr(self, name)
            require(isinstance(value, kind), name, value, what)

    @property
    @abstractmethod
    def shortest(self) -> int:
        """Fewest points the method needs; a shorter series has no change points."""

    def work(self, points: int) -> float:
        """Return the number of points that a fast detector searches in the same time."""
        return points

    @abstractmethod
    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the change points of at least `shortest` finite values, by ascending index."""

    def find_many(self, values: Floats, offsets: Ints) -> list[list[RawChangePoint]]:
        """Return the change points of many series: values[offsets[i]:offsets[i + 1]] is one."""
        parts = [values[a:b] for a, b in pairwise(offsets.tolist())]
        return [self.find(part) if part.size >= self.shortest else [] for part in parts]

    def detect(self, values: npt.ArrayLike) -> list[ChangePoint]:
        """Find the change points of a series.

        Args:
            values: One finite number per point.

        Returns:
            The change points by index (0-based, the first point of the new level), with the regions
            up to the neighbouring change points. An empty list if the series is shorter than the
            method needs.

        Raises:
            DataError: The values are not a list of numbers, or one is not finite or beyond 1e100.
        """
        numbers = checked(values)
        if numbers.size < self.shortest:
            return []
        choose(self.work(numbers.size))
        return describe(numbers, self.find(numbers))

    def fit_predict(self, values: npt.ArrayLike) -> Ints:
        """Return only the indices of the change points.

        Args:
            values: As in `detect`.

        Returns:
            Ascending, 0-based indices, each the first point of a new level.

        Example:
            >>> from barograph.detection import Hunter
            >>> Hunter().fit_predict([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20)
            array([60])
        """
        return np.array([point.index for point in self.detect(values)], dtype=np.int64)

    def get_params(self) -> dict[str, Any]:
        """Return the parameters by name.

        Example:
            >>> from barograph.detection import Pelt
            >>> Pelt().get_params()
            {'penalty': 3.0}
        """
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}

    def set_params(self, **parameters: Any) -> Self:
        """Return a copy with other parameters; the detector itself never changes.

        Args:
            **parameters: New values by name.

        Raises:
            ConfigError: A name is not a parameter, or a value is not allowed.

        Example:
            >>> from barograph.detection import Pelt
            >>> Pelt().set_params(penalty=5.0).penalty
            5.0
        """
        known = self.get_params()
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ConfigError(
                f"{type(self).__name__} has no parameter {', '.join(map(repr, unknown))}: allowed "
                f"are {', '.join(map(repr, known))}"
            )
        return replace(self, **parameters)


@dataclass(frozen=True)
class Nothing(Detector):
    """Report no change point: the baseline that other detectors have to beat.

    It scores well on series that people marked, because most of them hold few changes.

    Example:
        >>> Nothing().detect([1.0, 9.0])
        []
    """

    @property
    def shortest(self) -> int:
        """Zero: any series is long enough."""
        return 0

    def find(self, values: Floats) -> list[RawChangePoint]:  # noqa: ARG002
        """Return no change points."""
        return []


def describe(values: Floats, points: Sequence[RawChangePoint], first: int = 0) -> list[ChangePoint]:
    """Return change points with their indices in the whole series and their regions.

    Args:
        values: The known values of the series.
        points: The change points, by ascending index in `values`.
        first: The position of the first known value in the series.
    """
    if not points:
        return []
    edges = np.array([0, *(point.index for point in points), values.size])
    rows, sizes = (table.tolist() for table in _described(values, edges))
    around = [(b - a, *row) for (a, b), row in zip(pairwise(edges.tolist()), rows, strict=True)]
    return [
        ChangePoint(
            index=first + point.index,
            statistic=point.statistic,
            pvalue=point.pvalue,
            before=Region(*[*around[k], sizes[k][0]]),
            after=Region(*[*around[k + 1], sizes[k][1]]),
            order=point.order,
            probability=point.probability,
            q=point.q,
            is_trend=bool(sizes[k][2]),
            is_new=point.is_new,
        )
        for k, point in enumerate(points)
    ]


@kernel
def _described(values: Floats, edges: Ints) -> tuple[Floats, Floats]:
    """Return min, max, median, mean and variance of each stretch, and levels and trend between."""
    rows, sizes = np.empty((edges.size - 1, 5)), np.empty((edges.size - 2, 3))
    scratch = np.empty(values.size)
    for k in range(edges.size - 1):
        a, b = edges[k], edges[k + 1]
        size = b - a
        mean, squares = mean_and_squares(values, a, b, 0.0, scratch)
        ordered = np.sort(values[a:b])
        rows[k, 0], rows[k, 1] = ordered[0], ordered[-1]
        rows[k, 2] = (ordered[(size - 1) // 2] + ordered[size // 2]) / 2
        rows[k, 3] = mean
        rows[k, 4] = squares / (size - 1) if size > 1 else 0.0
    for k in range(edges.size - 2):
        a, split, b = edges[k], edges[k + 1], edges[k + 2]
        medians = rows[k, 2], rows[k + 1, 2]
        levels = near_levels(values[a:split], values[split:b], *medians)
        sizes[k, 0], sizes[k, 1], sizes[k, 2] = levels[0], levels[1], levels[2]
    return rows, sizes


def checked(values: npt.ArrayLike) -> Floats:
    """Return a series as an array of finite numbers up to 1e100.

    Raises:
        DataError: The values are not a list of numbers, or one is not finite or beyond 1e100.
    """
    numbers = as_floats(values)
    require_finite(numbers)
    if np.abs(numbers).max(initial=0.0) > LARGEST:
        index = int(np.argmax(np.abs(numbers) > LARGEST))
        raise DataError(f"values[{index}] is {numbers[index]}; allowed are -1e100 to 1e100")
    return numbers


@cache
def _checks(detector: type[Detector]) -> list[tuple[str, Any, str]]:
    """Return name and type of each simple parameter, and what it must be."""
    types = get_type_hints(detector)
    names = [entry.name for entry in fields(detector) if entry.init]
    return [(name, *KINDS[types[name]]) for name in names if types[name] in KINDS]


def require(condition: bool, name: str, value: object, rule: str) -> None:
    """Raise a `ConfigError` if a parameter breaks its rule."""
    if not condition:
        raise ConfigError(f"{name} is {value!r}: it must be {rule}")
