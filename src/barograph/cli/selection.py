"""Which results a job judges: those since a commit, or those of the newest commits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barograph.runtime.errors import DataError
from barograph.sources.git import is_commit

if TYPE_CHECKING:
    from barograph.results.series import Series

SHOWN = 3  # commits that an error names


@dataclass(frozen=True)
class Selection:
    """The results that a job judges.

    Attributes:
        counts: Number of newest results of each series.
        new: The names of the series that have no earlier result.
        missing: The names of the series that have no such result.
        branch: Number of results of each series that are of the judged branch.
    """

    counts: list[int]
    new: list[str]
    missing: list[str]
    branch: list[int]

    @classmethod
    def of(
        cls,
        series: Sequence[Series],
        newest: int = 1,
        since: str | None = None,
        branch: Sequence[int] | None = None,
    ) -> Selection:
        """Return what a job judges.

        Args:
            series: All series.
            newest: Number of newest commits of each project.
            since: The commit, or order, after which all results are asked about, instead.
            branch: Number of results of each series that are of the judged branch, the only ones
                that are judged; None without one.

        Raises:
            DataError: There is no such commit.
        """
        counts = _since(series, since) if since is not None else _newest(series, newest)
        if branch is not None:
            counts = [min(pair) for pair in zip(counts, branch, strict=True)]
        named = [*zip(series, counts, strict=True)]
        return cls(
            counts,
            [str(entry.id) for entry, count in named if count and count == len(entry)],
            [str(entry.id) for entry, count in named if not count],
            [0] * len(series) if branch is None else [*branch],
        )


def order_of(series: Sequence[Series], commit: str) -> int | None:
    """Return the highest order of a commit, which may be given by the start of its name."""
    orders = [
        int(order)
        for entry in series
        for order, name in zip(entry.orders.tolist(), entry.commits, strict=True)
        if name == commit or is_commit(name, commit) or (not name and str(order) == commit)
    ]
    return max(orders, default=None)


def _since(series: Sequence[Series], since: str) -> list[int]:
    order = order_of(series, since)
    if order is None:
        last = max(series, key=lambda entry: int(entry.orders[-1]), default=None)
        names = [] if last is None else [_key(last, k) for k in range(len(last))[-SHOWN:]]
        raise DataError(
            f"--since {since:.60}: no result is of this commit; the newest are "
            f"{', '.join(map(str, names)) or 'none'}"
        )
    return [int((entry.orders > order).sum()) for entry in series]


def _newest(series: Sequence[Series], newest: int) -> list[int]:
    """Count the results of the newest commits, for each project by itself.

    Without names, commits are known by their order. If fewer than half of the series have the
    newest order, orders are those of single results, such as times: then the newest results of
    each series are asked about.
    """
    projects: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(series):
        if len(entry):
            projects[entry.id.project].append(number)
    counts = [0] * len(series)
    for numbers in projects.values():
        orders: dict[Hashable, int] = {}
        for number in numbers:
            entry = series[number]
            for k in range(max(0, len(entry) - newest), len(entry)):
                key = _key(entry, k)
                orders[key] = max(orders.get(key, int(entry.orders[k])), int(entry.orders[k]))
        last = set(sorted(orders, key=orders.__getitem__)[-newest:])
        trailing = [_trailing(series[number], last) for number in numbers]
        newest_keys = [_key(series[number], -1) for number in numbers]
        key = max(last, key=orders.__getitem__)
        if isinstance(key, int) and 2 * newest_keys.count(key) < len(numbers):
            trailing = [min(newest, len(series[number])) for number in numbers]
        for number, count in zip(numbers, trailing, strict=True):
            counts[number] = count
    return counts


def _key(series: Series, place: int) -> Hashable:
    """Return the name of a commit, or its order."""
    return series.commits[place] or int(series.orders[place])


def _trailing(series: Series, keys: set[Hashable]) -> int:
    """Return how many of the last results of a series are of some commits."""
    count = 0
    while count < len(series) and _key(series, len(series) - 1 - count) in keys:
        count += 1
    return count
