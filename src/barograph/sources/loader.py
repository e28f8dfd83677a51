"""Read any source into a history, or write its three Parquet tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from barograph.errors import ConfigError, DataError
from barograph.history import History
from barograph.series import SeriesId
from barograph.sources.base import SeriesColumns, Source
from barograph.sources.files import Files
from barograph.sources.formats.base import Judgement
from barograph.sources.formats.candidates import FIRST_POINT, place_candidates
from barograph.sources.points import read_candidate, read_series
from barograph.sources.report import KINDS, LoadReport, Place, Skip
from barograph.texts import Texts

ProgressCallback = Callable[[str, int], None]

REPORTED = 50_000  # points or candidates between two calls of the progress


def load(
    source: Source | Files,
    folder: str | Path,
    *,
    max_skipped_share: float = 0.05,
    progress: ProgressCallback | None = None,
) -> LoadReport:
    """Read a source once and write `series`, `points` and `candidates`, all three or none.

    Args:
        source: From `open_source`, or any other `Source`.
        folder: The folder for the tables. It is created if missing; older tables are replaced.
        max_skipped_share: As for `read_source`. Above it nothing is written.
        progress: As for `read_source`.

    Raises:
        DataError: The input is damaged, has no series, or too much of it is unusable.
        SourceError: The source cannot be reached, or the connection broke off.
    """
    history, report = read_source(source, max_skipped_share=max_skipped_share, progress=progress)
    history.write(folder)
    return report


def read_source(
    source: Source | Files,
    *,
    max_skipped_share: float = 0.05,
    progress: ProgressCallback | None = None,
) -> tuple[History, LoadReport]:
    """Read a source once into memory; return the history, and what was read and skipped.

    Args:
        source: From `open_source`, or any other `Source`.
        max_skipped_share: The maximum share of the series, of the points and of the candidates
            that may be skipped as unusable.
        progress: Called now and then with what is being read, and how many were read so far.

    Raises:
        DataError: The input is damaged, has no series, or too much of it is unusable.
        SourceError: The source cannot be reached, or the connection broke off.
    """
    if not 0 <= max_skipped_share <= 1:
        raise ConfigError(f"max_skipped_share: {max_skipped_share}; allowed: 0 to 1")
    if isinstance(source, Files):
        files = source.read()
        history, report = files.history, files.report
        report.read["series"] += len(history)
        report.labels = Counter(history.candidates.verdict.tolist())
    else:
        report = LoadReport(source.name)
        history = _history(source, report, progress)
        report.check_shares(("series", "points"), max_skipped_share)
        if not len(history):
            raise DataError(f"{source.name}: contains no time series")
        history = _with_candidates(source, history, report, progress)
    sizes = len(history), history.values.size, len(history.candidates)
    report.kept = Counter(dict(zip(KINDS, sizes, strict=True)))
    report.verdicts = Counter(history.candidates.verdict.tolist())
    report.check_shares(KINDS, max_skipped_share)
    return history, report


def _history(source: Source, report: LoadReport, progress: ProgressCallback | None) -> History:
    """Read series and points."""
    known: set[SeriesId] = set()
    parts: list[SeriesColumns] = []
    reported = 0
    for columns in _columns(source, report):
        fresh = _unseen(columns, known, report)
        parts += [] if fresh is None else [fresh]
        if progress and report.read["points"] >= reported + REPORTED:
            reported = report.read["points"]
            progress("points", reported)
    counts = [part.counts for part in parts]
    offsets = np.cumsum(np.concatenate([np.zeros(1, dtype=np.int64), *counts]))
    none = np.zeros(0, dtype=np.int64)
    return History(
        ids=[identity for part in parts for identity in part.ids],
        directions=np.array([sign for part in parts for sign in part.directions], dtype=np.int64),
        offsets=offsets,
        orders=np.concatenate([none, *(part.orders for part in parts)]),
        values=np.concatenate([np.zeros(0), *(part.values for part in parts)]),
        commits=Texts.concatenate([part.commits for part in parts]),
        times=np.concatenate([none, *(part.times for part in parts)]),
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
    columns: SeriesColumns, known: set[SeriesId], report: LoadReport
) -> SeriesColumns | None:
    """Return the series with a new identity; skip and count the others."""
    fresh = np.ones(len(columns.ids), dtype=bool)
    for place, identity in enumerate(columns.ids):
        if identity not in known:
            known.add(identity)
            continue
        fresh[place] = False
        skip = Skip(
            Place(columns.file, columns.first + place),
            "project/variant/task/test/measurement/args",
            str(identity),
            "an earlier series has the same identity",
        )
        report.skip("series", skip)
        report.skip("points", skip, int(columns.counts[place]))
    if fresh.all():
        return columns
    return columns.only(fresh) if fresh.any() else None


def _with_candidates(
    source: Source, history: History, report: LoadReport, progress: ProgressCallback | None
) -> History:
    """Read the candidates, and place them; count those that cannot be used."""
    known = {identity: identity for identity in history.ids}
    places: list[Place] = []
    judgements: list[Judgement] = []
    for item in source.change_points():
        if isinstance(item, Skip):
            report.read["candidates"] += 1
            report.skip("candidates", item)
            continue
        judgement = read_candidate(item, known, report)
        if judgement is not None:
            places.append(item.place)
            judgements.append(judgement)
            if progress and len(judgements) % REPORTED == 0:
                progress("candidates", report.read["candidates"])
    placed = place_candidates(history, judgements)
    report.corrected.update(placed.corrected)
    for number, why in placed.unplaced:
        judgement = judgements[number]
        reason = (
            "the first point of its series" if why == FIRST_POINT else "no such point in its series"
        )
        value = judgement.commit if judgement.order is None else judgement.order
        report.skip("candidates", Skip(places[number], judgement.where, value, reason))
    return placed.history
