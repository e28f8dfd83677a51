"""Write the three Parquet tables of any source, or read it into a history.

A source of documents may be larger than memory: its points are written in groups of series, and
then its candidates are placed at the points of one group after the other.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from barograph.results.history import History
from barograph.results.parquet import (
    TABLES,
    candidate_columns,
    point_columns,
    read_group,
    series_columns,
    table_writer,
)
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError
from barograph.runtime.files import published
from barograph.sources.base import SeriesColumns, Source
from barograph.sources.files import Files
from barograph.sources.formats.base import Judgement
from barograph.sources.formats.candidates import FIRST_POINT, place_candidates
from barograph.sources.points import UNNAMED, read_candidate, read_series
from barograph.sources.report import KINDS, LoadReport, Place, Skip, check_share

ProgressCallback = Callable[[str, int], None]
Candidate = tuple[int, Place, Judgement]  # the number of the series, and where it was read

GROUP = 1 << 18  # points; about 20 MB in memory
REPORTED = 50_000  # candidates between two calls of the progress


def load(
    source: Source | Files,
    folder: str | Path,
    *,
    max_skipped_share: float = 0.05,
    progress: ProgressCallback | None = None,
) -> LoadReport:
    """Read a source once and write `series`, `points` and `candidates`, all three or none.

    Memory holds all of result files; of other sources one hash for each series, the candidates,
    and a group of points.

    Args:
        source: From `open_source`, or any other `Source`.
        folder: The folder for the tables. It is created if missing; older tables are replaced.
        max_skipped_share: The maximum share of the series, of the points and of the candidates
            that may be skipped as unusable. Above it nothing is written.
        progress: Called now and then with what is being read, and how many were read so far.

    Raises:
        DataError: The input is damaged, has no series, or too much of it is unusable.
        SourceError: The source cannot be reached, or the connection broke off.
        ConfigError: The share is not between 0 and 1.
    """
    check_share(max_skipped_share)
    if isinstance(source, Files):
        history, report = _read_files(source, max_skipped_share)
        history.write(folder)
        return report
    report = LoadReport(source.name)
    with published(folder, TABLES) as draft:
        numbers, groups = _write_series(source, draft, report, progress)
        report.check_shares(("series", "points"), max_skipped_share)
        if not numbers:
            raise DataError(f"{source.name}: contains no time series")
        _write_candidates(_candidates(source, numbers, report, progress), groups, draft, report)
        report.check_shares(KINDS, max_skipped_share)
    return report


def read_source(
    source: Source | Files, *, max_skipped_share: float = 0.05
) -> tuple[History, LoadReport]:
    """Read a source once into memory; return the history, and what was read and skipped.

    Args:
        source: From `open_source`, or any other `Source`.
        max_skipped_share: As for `load`.

    Raises:
        DataError: The input is damaged, has no series, or too much of it is unusable.
        SourceError: The source cannot be reached, or the connection broke off.
        ConfigError: The share is not between 0 and 1.
    """
    check_share(max_skipped_share)
    if isinstance(source, Files):
        return _read_files(source, max_skipped_share)
    with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
        report = load(source, folder, max_skipped_share=max_skipped_share)
        return History.read(folder), report


def _read_files(source: Files, max_skipped_share: float) -> tuple[History, LoadReport]:
    """Read result files into a history, and count what is in it."""
    files = source.read()
    history, report = files.history, files.report
    report.read["series"] += len(history)
    verdicts = Counter(history.candidates.verdict.tolist())
    report.labels, report.verdicts = verdicts, Counter(verdicts)
    sizes = len(history), history.values.size, len(history.candidates)
    report.kept = Counter(dict(zip(KINDS, sizes, strict=True)))
    report.check_shares(KINDS, max_skipped_share)
    return history, report


def _write_series(
    source: Source, folder: Path, report: LoadReport, progress: ProgressCallback | None
) -> tuple[dict[bytes, int], list[int]]:
    """Write series and points.

    Returns:
        The number of each identity, and the numbers of series between which the groups lie.
    """
    numbers: dict[bytes, int] = {}
    groups = [0]
    with (
        table_writer(folder, "series") as write_series,
        table_writer(folder, "points") as write_points,
    ):
        for group in _groups(_unseen(_columns(source, report), numbers, report)):
            write_series(series_columns(group.ids, group.directions, ()))
            write_points(point_columns(vars(group), groups[-1]))
            groups.append(groups[-1] + len(group))
            report.kept["points"] += group.values.size
            if progress:
                progress("points", report.read["points"])
    report.kept["series"] = groups[-1]
    return numbers, groups


def _groups(columns: Iterator[SeriesColumns]) -> Iterator[History]:
    """Join columns of series until they have enough points."""
    waiting: list[SeriesColumns] = []
    size = 0
    for part in columns:
        waiting.append(part)
        size += part.values.size
        if size >= GROUP:
            yield _joined(waiting)
            waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[SeriesColumns]) -> History:
    counts = np.concatenate([part.counts for part in parts])
    return History(
        ids=[identity for part in parts for identity in part.ids],
        directions=np.array([sign for part in parts for sign in part.directions], dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        orders=np.concatenate([part.orders for part in parts]),
        values=np.concatenate([part.values for part in parts]),
        commits=Texts.concatenate([part.commits for part in parts]),
        times=np.concatenate([part.times for part in parts]),
    )


def _columns(source: Source, report: LoadReport) -> Iterator[SeriesColumns]:
    """Turn the items of the source into columns, and count them."""
    for item in source.time_series():
        if isinstance(item, SeriesColumns):
            report.read["series"] += len(item.ids)
            report.read["points"] += item.values.size
            yield item
            continue
        report.read["series"] += 1
        if isinstance(item, Skip):
            report.skip("series", item)
            continue
        columns = read_series(item, report)
        if columns is not None:
            yield columns


def _unseen(
    columns: Iterator[SeriesColumns], numbers: dict[bytes, int], report: LoadReport
) -> Iterator[SeriesColumns]:
    """Number the series; skip and count those with an identity that was read before."""
    for part in columns:
        fresh = np.ones(len(part.ids), dtype=bool)
        for place, identity in enumerate(part.ids):
            digest = identity.digest
            if digest not in numbers:
                numbers[digest] = len(numbers)
                continue
            fresh[place] = False
            skip = Skip(
                Place(part.file, part.first + place),
                "project/variant/task/test/measurement/args",
                str(identity),
                "an earlier series has the same identity",
            )
            report.skip("series", skip)
            report.skip("points", skip, int(part.counts[place]))
        if fresh.any():
            yield part if fresh.all() else part.only(fresh)


def _candidates(
    source: Source,
    numbers: dict[bytes, int],
    report: LoadReport,
    progress: ProgressCallback | None,
) -> list[Candidate]:
    """Read the candidates, sorted by the numbers of their series; count those without a series."""
    candidates: list[Candidate] = []
    for item in source.change_points():
        if isinstance(item, Skip):
            report.read["candidates"] += 1
            report.skip("candidates", item)
            continue
        read = read_candidate(item, numbers, report)
        if read is not None:
            candidates.append((read[0], item.place, read[1]))
            if progress and len(candidates) % REPORTED == 0:
                progress("candidates", report.read["candidates"])
    candidates.sort(key=itemgetter(0))
    return candidates


def _write_candidates(
    candidates: list[Candidate], groups: list[int], folder: Path, report: LoadReport
) -> None:
    """Place the candidates at the points of their groups, and count those without a point."""

    def group_of(candidate: Candidate) -> int:
        return bisect_right(groups, candidate[0]) - 1

    with table_writer(folder, "candidates") as write:
        for number, members in groupby(candidates, group_of):
            first, count = groups[number], groups[number + 1] - groups[number]
            points = read_group(folder, number, first, count)
            nameless = History([UNNAMED] * count, np.zeros(count, dtype=np.int64), **points)
            series, places, judgements = zip(*members, strict=True)
            owners = [k - first for k in series]
            kept, unplaced, corrected = place_candidates(nameless, owners, judgements)
            write(candidate_columns(kept, first))
            report.kept["candidates"] += len(kept)
            report.verdicts.update(kept.verdict.tolist())
            report.corrected.update(corrected)
            for k, why in unplaced:
                report.skip("candidates", _unplaced(places[k], judgements[k], why))


def _unplaced(place: Place, judgement: Judgement, why: str) -> Skip:
    reason = (
        "the first point of its series" if why == FIRST_POINT else "no such point in its series"
    )
    value = judgement.commit if judgement.order is None else judgement.order
    return Skip(place, judgement.where, value, reason)
