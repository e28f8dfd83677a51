"""The one contract of all detectors, and the check of what they are given."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from barograph.detection.regions import regions
from barograph.errors import ConfigError, DataError
from barograph.series import ChangePoint, Floats, Ints, as_floats

Missing = Literal["error", "drop", "fill"]


@dataclass(frozen=True, slots=True)
class Found:
    """A change point before its regions are described; the index counts the kept points."""

    index: int
    statistic: float
    pvalue: float | None = None
    order: int | None = None


@dataclass(frozen=True, slots=True)
class Observations:
    """A series that is fit for a detector: every value finite, one entry per kept point.

    Attributes:
        values: the finite values.
        positions: where each of them stands in the series as it was given.
        times: seconds, or None.
        release: what the last stable release measured, NaN where there is none, or None.
    """

    values: Floats
    positions: Ints
    times: Floats | None = None
    release: Floats | None = None


@dataclass(frozen=True)
class Detector(ABC):
    """What every detector is: parameters, the shortest series it answers for, and `find`.

    A detector is a frozen dataclass, so its parameters are its identity and its repr.
    """

    missing: Missing = field(default="error", kw_only=True)

    def __post_init__(self) -> None:
        allowed("missing", self.missing, get_args(Missing))

    @property
    @abstractmethod
    def shortest(self) -> int:
        """The fewest points the method needs; a shorter series has no change points."""

    @abstractmethod
    def find(self, series: Observations) -> list[Found]:
        """Locate the change points of at least `shortest` finite values, by index ascending."""

    def find_many(self, values: Floats, offsets: Ints) -> list[list[Found]]:
        """Locate the change points of many series: values[offsets[i]:offsets[i + 1]] is one."""
        parts = [values[a:b] for a, b in pairwise(offsets.tolist())]
        return [
            self.find(Observations(part, np.arange(part.size)))
            if part.size >= self.shortest
            else []
            for part in parts
        ]

    def detect(
        self,
        values: npt.ArrayLike,
        *,
        times: npt.ArrayLike | None = None,
        release: npt.ArrayLike | None = None,
    ) -> list[ChangePoint]:
        """Find the change points of a series.

        Args:
            values: one number per point; see `missing` for NaN and infinity.
            times: when each point was measured, in seconds or as datetime64; few detectors ask.
            release: what the last stable release measured: one number, or one per point
                (NaN where there is none); few detectors ask.

        Returns:
            The change points by index (0-based, the first point of the new regime, counted in
            `values` as given), with the regions before and after up to the neighbouring change
            points. An empty list if the series is shorter than the method needs.
        """
        series = observe(values, missing=self.missing, times=times, release=release)
        if series.values.size < self.shortest:
            return []
        return describe(series, self.find(series))


def describe(series: Observations, found: Sequence[Found]) -> list[ChangePoint]:
    """Give change points their places in the series as given, and the regions around them."""
    if not found:
        return []
    around = regions(series.values, [point.index for point in found])
    return [
        ChangePoint(
            index=int(series.positions[point.index]),
            statistic=point.statistic,
            pvalue=point.pvalue,
            before=around[k],
            after=around[k + 1],
            order=point.order,
        )
        for k, point in enumerate(found)
    ]


def observe(
    values: npt.ArrayLike,
    *,
    missing: Missing = "error",
    times: npt.ArrayLike | None = None,
    release: npt.ArrayLike | None = None,
) -> Observations:
    """Check a series, and deal with NaN and infinity as `missing` says.

    "error" refuses them, "drop" leaves such points out, "fill" repeats the last finite value
    (points before the first finite one are left out: there is nothing to repeat).

    Raises:
        DataError: the values are not a list of numbers, one of them is not finite
            and `missing` is "error", or times or release do not match them.
    """
    given = as_floats(values)
    finite = np.isfinite(given)
    kept = last = np.arange(given.size)
    if not finite.all():
        kept, last = _kept(given, finite, missing)
        given = given[last]
    return Observations(
        values=given,
        positions=kept,
        times=None if times is None else _seconds(times, finite.size)[kept],
        release=None if release is None else _releases(release, finite.size)[kept],
    )


def _kept(given: Floats, finite: npt.NDArray[np.bool], missing: Missing) -> tuple[Ints, Ints]:
    """Return which points stay, and where the value of each stands."""
    if missing == "error":
        index = int(np.argmin(finite))
        raise DataError(
            f"values[{index}] is {given[index]}; every value must be finite, "
            'or make the detector with missing="drop" or missing="fill"'
        )
    kept = np.flatnonzero(np.logical_or.accumulate(finite) if missing == "fill" else finite)
    last = np.maximum.accumulate(np.where(finite, np.arange(given.size), 0))
    return kept, last[kept]


def allowed(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a parameter that is none of the choices."""
    if value not in choices:
        raise ConfigError(f"{name} is {value!r}: allowed are {', '.join(map(repr, choices))}")


def require(condition: bool, name: str, value: object, rule: str) -> None:
    """Refuse a parameter that breaks its rule."""
    if not condition:
        raise ConfigError(f"{name} is {value!r}: it must be {rule}")


def _seconds(times: npt.ArrayLike, size: int) -> Floats:
    given = np.asarray(times)
    if given.dtype.kind == "O":
        given = np.array([_without_zone(moment) for moment in given.tolist()])
    if given.dtype.kind in "MO":
        given = given.astype("datetime64[us]").astype(np.int64) / 1e6
    if given.shape != (size,):
        raise DataError(f"times has the shape {given.shape}: there are {size} values")
    return as_floats(given, "times")


def _without_zone(moment: Any) -> Any:
    """Return a moment in UTC: what NumPy knows of has no time zone."""
    zone = getattr(moment, "tzinfo", None)
    return moment if zone is None else moment.astimezone(UTC).replace(tzinfo=None)


def _releases(release: npt.ArrayLike, size: int) -> Floats:
    given = as_floats(np.atleast_1d(np.asarray(release)), "release")
    if given.size != size and np.ndim(release):
        raise DataError(
            f"release has {given.size} entries; give one number, or one for each of {size}"
        )
    return np.broadcast_to(given, (size,))
