"""Read any files into one history: collect their results, and count what cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from barograph.results.fields import FieldError
from barograph.results.history import History
from barograph.results.repeats import MISSING, NO_ORDER, OTHER_COMMIT, TEXTS, ReadFile, Results
from barograph.results.series import Direction, Flags, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.results.units import direction_of_name
from barograph.results.wording import plural
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Judgement, ReadOptions, Result
from barograph.sources.formats.context import RunContext, ci_context
from barograph.sources.formats.orders import order_results
from barograph.sources.formats.registry import opened
from barograph.sources.formats.runs import (
    complete_runs,
    in_one_unit,
    place_of,
    split_branches,
    with_full_hashes,
)
from barograph.sources.git import Repository
from barograph.sources.report import LoadReport, Skip, shortened

TABULAR = ("tables", "folder")
TABLES = ("series", "points", "candidates")
CHUNK = 1 << 15  # results that are kept as Python objects
HEADS = "refs/heads/"  # what git writes before the name of a branch
OTHER_DIRECTION = "results with another direction than the first of their series, which counts"
DROPPED = -1
LONGEST = 300  # characters of an error


@dataclass(frozen=True)
class FilesRead:
    """The history of some files.

    Attributes:
        history: The results of the base branch, and after them those of the judged branch.
        branch: The judged branch; empty if all results are of the base branch.
        of_branch: The number of points of the judged branch in each series.
        files: The files and their formats.
        notes: What people should know: where the orders come from, what is left out.
        report: Counts what was read, corrected and skipped.
    """

    history: History
    branch: str
    of_branch: Ints
    files: Sequence[ReadFile]
    notes: tuple[str, ...]
    report: LoadReport

    @property
    def is_run(self) -> bool:
        """Whether the files hold a single run: no history, and one point in each series."""
        runs = all(file.is_run for file in self.files)
        return runs and self.history.values.size == len(self.history)


def read_files(
    locations: Sequence[str | Path],
    options: ReadOptions | None = None,
    repository: Repository | None = None,
    context: RunContext | None = None,
    direction_of: Callable[[str], int] | None = None,
) -> FilesRead:
    r"""Read files of any known formats into one history.

    Args:
        locations: Paths, patterns, folders, or `-` for the standard input.
        options: What the files do not say.
        repository: Knows commits; the one of the current folder by default.
        context: What the CI service says; from the environment by default.
        direction_of: Returns the direction of a series by its name, 0 if unknown. It counts before
            a unit at the end of the measurement's name, and after what the files say.

    Raises:
        DataError: A file cannot be read, or too many of its results are unusable.

    Example:
        >>> _ = Path("runs.csv").write_text("commit,value,unit\na1,5,ms\nb2,6,ms\nb2,8,ms\n")
        >>> files = read_files(["runs.csv"])
        >>> files.history, files.history[0].direction.name, files.history[0].values.tolist()
        (History(1 series, 2 points, 0 candidates), 'LOWER_IS_BETTER', [5.0, 7.0])
        >>> files.notes[0].partition(":")[2].split(":")[0]
        ' ordered as listed, the oldest first'
    """
    options, repository = options or ReadOptions(), repository or Repository()
    if is_export(locations, options):
        history = directed(History.read(locations[0]), direction_of)
        none = np.zeros(len(history), dtype=np.int64)
        return FilesRead(history, "", none, (), (), LoadReport(str(locations[0])))
    context = ci_context() if context is None else context
    collector = collect(locations, options)
    report = collector.report
    results, notes_of_runs = complete_runs(collector.finish(), options, context, repository)
    results = in_one_unit(with_full_hashes(results), report)
    _require_usable(results, report, options, collector.left_out)
    branches = split_branches(results, options, context)
    used = branches.base | branches.judged
    results, judged = _without_empty(results.only(used)), branches.judged[used]
    ordered = order_results(results, repository)
    results = replace(results, orders=_after_base(ordered.orders, judged))
    history = replace(_history(results, options.aggregate, report), made_up=ordered.made_up)
    history = directed(history, direction_of, by_name=True)
    if collector.judgements:
        from barograph.sources.formats.candidates import candidates_of

        history, unplaced = candidates_of(history, results, collector.judgements)
        for skip in unplaced:
            report.skip("candidates", skip)
        report.read["candidates"] += len(collector.judgements)
    notes = [*notes_of_runs, *ordered.notes, *branches.notes]
    of_branch = np.zeros(len(history), dtype=np.int64)
    if branches.name:
        count = plural(int(judged.sum()), "result")
        notes += [f"{count} of branch {branches.name} placed after those of the base branch"]
        owners = np.repeat(np.arange(len(history)), np.diff(history.offsets))
        is_judged = history.orders >= results.orders[judged].min()
        of_branch = np.bincount(owners[is_judged], minlength=len(history))
    notes = [*collector.notes, *(f"{report.source}: {note}" for note in notes)]
    return FilesRead(history, branches.name, of_branch, results.files, tuple(notes), report)


def collect(locations: Sequence[str | Path], options: ReadOptions) -> Collector:
    """Return a collector of all that files hold, of which none stays in memory."""
    more = f" and {len(locations) - 1} more" if len(locations) > 1 else ""
    collector = Collector(options, f"{locations[0]}{more}")
    for file, form in opened(locations, options):
        collector.add(file, form)
    return collector


def is_export(locations: Sequence[str | Path], options: ReadOptions) -> bool:
    """Return whether the location is a folder of the three Parquet tables, to be used as it is."""
    if len(locations) != 1 or replace(options, kind="") != ReadOptions():
        return False
    folder = Path(locations[0])
    return all((folder / f"{name}.parquet").is_file() for name in TABLES)


def _require_usable(
    results: Results, report: LoadReport, options: ReadOptions, left_out: int
) -> None:
    share, limit = report.skipped_share("points"), options.max_skipped_share
    first = f": {report.first_skip('points')}" if report.skipped["points"] else ""
    # Tools write down which of their results failed; in tables, bad cells mean a wrong reading.
    if first and share > limit and any(file.form in TABULAR for file in results.files):
        read = plural(report.read["points"], "result")
        unusable = f"{share:.1%} of {read} cannot be used, {limit:.1%} allowed"
        raise DataError(f"{report.source}: {unusable}{first}")
    if not len(results):
        of_pattern = "; no measurement matches `metric` in [input] of barograph.toml"
        raise DataError(f"{report.source}: no results{of_pattern if left_out else first}")


def _without_empty(results: Results) -> Results:
    """Return the same without the series that have no result."""
    used, owners = np.unique(results.owners, return_inverse=True)
    ids = [results.ids[number] for number in used.tolist()]
    return replace(results, ids=ids, directions=results.directions[used], owners=owners)


def _after_base(orders: Ints, judged: Flags) -> Ints:
    """Move the results of the judged branch after those of the base branch."""
    if not judged.any() or judged.all() or orders[judged].min() > orders[~judged].max():
        return orders
    moved = orders.copy()
    ranks = np.unique(orders[judged], return_inverse=True)[1]
    moved[judged] = orders[~judged].max() + 1 + ranks
    return moved


def _history(results: Results, aggregate: str, report: LoadReport) -> History:
    history, conflicts, corrected = History.from_results(results, aggregate)
    for row in conflicts.tolist():
        place = place_of(results, row)
        report.skip("points", Skip(place, "commit", results.commits[row], OTHER_COMMIT))
    report.corrected.update(corrected)
    counts = np.zeros(0) if history.runs is None else np.bincount(history.runs.points)
    if count := int(counts[counts > 1].sum()):
        reason = f"results of commits with several runs, replaced by their {aggregate}"
        report.corrected[reason] += count
    return history


def directed(
    history: History, direction_of: Callable[[str], int] | None, *, by_name: bool = False
) -> History:
    """Set the unknown directions that the caller knows, or the names of the measurements say."""
    directions = history.directions.copy()
    for number in np.flatnonzero(directions == int(Direction.UNKNOWN)).tolist():
        series = history.ids[number]
        direction = direction_of(str(series)) if direction_of is not None else 0
        if not direction and by_name:
            direction = int(direction_of_name(series.measurement))
        directions[number] = direction
    return replace(history, directions=directions)


class Collector:
    """Takes the results of one file after the other.

    Args:
        options: What the user said.
        name: What the report calls all files together.
    """

    def __init__(self, options: ReadOptions, name: str) -> None:
        self.report = LoadReport(name)
        self.judgements: list[tuple[int, Judgement]] = []
        self.notes: list[str] = []
        self.left_out = 0  # series whose measurement no pattern matches
        self._options = options
        self._files: list[ReadFile] = []
        self._numbers: dict[SeriesId, int] = {}
        self._ids: dict[SeriesId, int] = {}
        self._directions: list[int] = []
        self._chunks: list[Results] = []

    def add(self, file: InputFile, form: Format) -> None:
        """Read a file.

        Raises:
            DataError: The file cannot be used.
        """
        self._files.append(ReadFile(file.name, form.name, form.kind == "run"))
        try:
            self._read(file, form)
        except FieldError as fault:
            shown = f"{fault.reason} (got {shortened(fault.value)})"
            raise _named(file.name, f"{fault.field}: {shown}") from None
        except DataError as error:
            raise _named(file.name, str(error)) from error
        except RecursionError:
            raise _named(file.name, "nested too deeply") from None
        except OSError as error:  # of a file that this one names
            raise _named(file.name, f"cannot be read: {error.strerror or error}") from error

    def finish(self) -> Results:
        """Return all results."""
        chunks = self._chunks or [Results.of([], [], [], [])]
        columns: dict[str, Any] = {}
        for name in ("owners", "values", *MISSING):
            parts = [getattr(chunk, name) for chunk in chunks]
            columns[name] = parts[0] if len(parts) == 1 else np.concatenate(parts)
        for name in TEXTS:
            columns[name] = Texts.concatenate([getattr(chunk, name) for chunk in chunks])
        columns["branches"] = columns["branches"].renamed(lambda name: name.removeprefix(HEADS))
        return Results.of([*self._ids], self._directions, files=tuple(self._files), **columns)

    def _read(self, file: InputFile, form: Format) -> None:
        waiting: list[tuple[int, Result]] = []  # with their rows
        for row, item in enumerate(form.read(file)):
            if isinstance(item, Result):
                waiting.append((row, item))
            if waiting and (isinstance(item, Results) or len(waiting) == CHUNK):
                self._take(_columns_of(*zip(*waiting, strict=True)))
                waiting = []
            if isinstance(item, Results):
                self._take(item)
            elif isinstance(item, Judgement):
                self.judgements.append((len(self._files) - 1, item))
            elif isinstance(item, str):
                self.notes.append(f"{file.name}: {item}")
            elif isinstance(item, Skip):
                kind = item.kind or "points"
                self.report.read[kind] += 1
                self.report.skip(kind, item)
        if waiting:
            self._take(_columns_of(*zip(*waiting, strict=True)))

    def _take(self, item: Results) -> None:
        self.report.read["points"] += len(item)
        if not np.isfinite(item.values).all():
            raise DataError(f"{self._files[-1].name}: a value is not finite")
        counts = np.bincount(item.owners, minlength=len(item.ids)).tolist()
        described = zip(item.ids, item.directions.tolist(), counts, strict=True)
        numbers = np.array([self._number(*each) for each in described], dtype=np.int64)
        owners = numbers[item.owners]
        sources = np.broadcast_to(np.int64(len(self._files) - 1), owners.size)
        taken = replace(item, owners=owners, sources=sources)
        self._chunks.append(taken.only(owners != DROPPED))

    def _number(self, name: SeriesId, direction: int, count: int) -> int:
        """Return the number of a series of `count` results; -1 if it is not to be read.

        The options may give it a project and a machine, and say which measurements are read.
        """
        number = self._numbers.get(name)
        if number is None:
            patterns, number = self._options.metrics, DROPPED
            if not patterns or any(fnmatchcase(name.measurement, each) for each in patterns):
                project = name.project or self._options.project
                machine = name.variant or self._options.machine
                full = replace(name, project=project, variant=machine)
                number = self._ids.setdefault(full, len(self._ids))
                self._directions += [0] * (len(self._ids) - len(self._directions))
            self.left_out += number == DROPPED
            self._numbers[name] = number
        if number != DROPPED and direction and direction != self._directions[number]:
            if self._directions[number]:
                self.report.corrected[OTHER_DIRECTION] += count
            else:
                self._directions[number] = direction
        return number


def _columns_of(rows: Sequence[int], results: Sequence[Result]) -> Results:
    """Return results as columns."""
    series, values, units, directions, orders, commits, times, runs, branches, cpus = zip(
        *results, strict=True
    )
    known: dict[tuple[SeriesId, int], int] = {}
    described = zip(series, map(int, directions), strict=True)
    owners = [known.setdefault(each, len(known)) for each in described]
    return Results.of(
        [name for name, _ in known],
        [direction for _, direction in known],
        owners,
        values,
        rows=rows,
        orders=[NO_ORDER if order is None else order for order in orders],
        times=times,
        commits=Texts.from_strings(commits),
        runs=Texts.from_strings(runs),
        branches=Texts.from_strings(branches),
        units=Texts.from_strings(units),
        cpus=Texts.from_strings(cpus),
    )


def _named(name: str, message: str) -> DataError:
    """Return an error of one line that names the file; a folder's message may name a file in it."""
    text = " ".join(message.split())
    shown = text if name in text else f"{name}: {text}"
    return DataError(shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}...")
