"""Which column of a table is what: by its name, by what the user says, or by what it holds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from barograph.results.series import LABELS
from barograph.results.units import unit_of
from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.cells import orders, plain_numbers
from barograph.sources.formats.dates import SLASHED, DateParser
from barograph.sources.formats.numbers import is_missing, is_number, measured
from barograph.sources.formats.wide import WideCells

# The names of columns that are read as a field; the first that a table has is taken.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "order": (
        "order", "sequence", "seq", "position", "build", "build_number", "build_#", "build_no",
        "revision_number",
    ),
    "time": (
        "time", "timestamp", "date", "datetime", "commit_time", "commit_date", "commit_timestamp",
        "created_at", "create_time", "measured_at", "measured_on", "push_timestamp", "ts",
        "@timestamp", "_time", "date_ms",
        "timestamp_ms", "timestamp_s", "timestamp_ns", "unix_time", "unix_timestamp", "epoch",
    ),
    "commit": (
        "commit", "sha", "commit_sha", "commit_hash", "commit_id", "commitid", "git_commit",
        "git_hash", "git_sha", "hash", "revision", "rev", "changeset", "version",
    ),
    "branch": ("branch", "git_branch", "branch_name", "ref"),
    "value": ("value", "_value", "result", "result_value", "measured_value", "val"),
    "unit": ("unit", "units"),
    "direction": (
        "direction", "better", "lower_is_better", "lowerisbetter", "smaller_is_better",
        "higher_is_better", "higherisbetter", "bigger_is_better",
    ),
    "run": ("run", "run_id", "repeat", "repetition", "trial", "attempt", "replicate"),
    "project": ("project", "repository", "repo"),
    "variant": ("variant", "machine", "platform", "environment", "env", "host", "os", "testbed"),
    "task": ("task", "suite", "group"),
    "test": ("test", "benchmark", "series", "name", "test_name", "bench", "command",
        "_measurement", "benchmark_name", "bench_name", "test_case", "testcase", "case", "scenario",
        "workload", "series_name", "series_id",
    ),
    "measurement": ("measurement", "metric", "measure", "statistic", "metric_name", "_field"),
    "args": ("args", "params", "parameters"),
}  # fmt: skip
FIELDS = (*SYNONYMS, "ignore")
KNOWN = frozenset(itertools.chain.from_iterable(SYNONYMS.values()))
ARGUMENTS = re.compile(r"(?:args|params|parameters|param)(?:\.|:\s*)(.+)", re.IGNORECASE)
# Numbers beside a value that nobody tracks: their spread, and how they were measured.
NOT_TRACKED = frozenset((
    "stddev", "std", "std_dev", "stdev", "sd", "variance", "error", "stderr", "iterations",
    "rounds", "count", "samples", "n", "id", "index", "seed", "runs", "spread",
    "iqr", "score_error_(99.9%)", "release", "stable_release", "is_release",
    "", "unnamed:_0",  # the row numbers of pandas
))  # fmt: skip
# Other columns that hold no results: indexes of pandas, and keys of nested metadata.
NO_METRIC = re.compile(
    r"__index_level_\d+__|(?:meta|metadata|context|environment|machine_info)\..*",
    re.IGNORECASE | re.DOTALL,
)
# Numbers that say how a benchmark was called: arguments of the series.
PARAMETERS = frozenset((
    "threads", "thread_level", "thread_count", "num_threads", "clients", "connections",
    "concurrency", "workers", "processes", "batch_size", "size", "scale", "arg", "param",
))  # fmt: skip
COMMIT = re.compile(r"(?=.*[a-fA-F])[0-9a-fA-F]{7,64}")
DATED = re.compile(
    r"\d{4}[-./]\d\d?[-./]\d\d?(?!\d)|\d\d?([-./])\d\d?\1\d\d(?:\d\d)?(?!\d)"
    r"|[A-Z][a-z]{2,8}\.? \d\d?, \d{4}(?!\d)"
)
UNIT = re.compile(r"(.*?)\s*[(\[]([^)\]]+)[)\]]")
LONGEST = 200  # characters of the name of a column with a unit
IDENTITY = (*LABELS, "args")
SHOWN = 6
SAMPLED = 100  # cells of a column
ROWS = 1000  # of which some may be of different series
FAULTS = 0.1  # share of the cells of a column of numbers that may be other text
FEW = 2  # such cells that a column may begin with
# Prefixes of nested keys that say nothing: InfluxDB, Prometheus and others put labels below them.
LABELLED = re.compile(r"(?:tags?|labels?|dimensions?)\.(.+)", re.IGNORECASE)


class ValueColumn(NamedTuple):
    """A column that holds values.

    Attributes:
        column: Its name.
        measurement: What is measured; empty in a long table, whose rows say it.
        unit: The unit of cells that name none.
    """

    column: str
    measurement: str = ""
    unit: str = ""

    @classmethod
    def named(cls, column: str) -> Self:
        """Return a column whose name is the measurement, and its unit, as in `latency (ms)`."""
        label = column.strip()
        match = UNIT.fullmatch(label) if len(label) <= LONGEST else None  # takes quadratic time
        if match is None or unit_of(match[2]) is None:
            return cls(column, label, label if "/" in label and unit_of(label) else "")
        return cls(column, match[1] or label, match[2].strip())


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are.

    Attributes:
        fields: The column of each field.
        args: The column of each argument.
        values: The columns that hold values; in a long table one, without a measurement.
        ignored: The columns that are not read.
    """

    fields: Mapping[str, str]
    args: Mapping[str, str]
    values: Sequence[ValueColumn]
    ignored: Sequence[str] = field(default_factory=tuple)

    @property
    def identity(self) -> dict[str, str]:
        """The column of each part of the identity."""
        labels = {name: self.fields[name] for name in IDENTITY if name in self.fields}
        return labels | {f"args.{name}": column for name, column in self.args.items()}


@lru_cache(1 << 14)
def canonical(column: str) -> str:
    """Return the name of a column as it is compared.

    Example:
        >>> canonical(" Commit-Date "), canonical("git.sha")
        ('commit_date', 'git_sha')
        >>> canonical("tags.host")
        'host'
    """
    labelled = LABELLED.fullmatch(column.strip())
    name = labelled[1] if labelled else column.strip()
    return re.sub(r"[\s\-]+|\.(?=[^\W\d])", "_", name.lower())


def assign_roles(cells: Mapping[str, Sequence[Any]], options: ReadOptions, where: str) -> Roles:
    """Return what the columns of a table are.

    Args:
        cells: Some cells of each column.
        options: What the user says about columns.
        where: The name of the file.

    Raises:
        DataError: No column holds values.
        ConfigError: The user names a column that the table does not have.
    """
    names = list(cells)
    mapped = {_column(name, names, where): role for name, role in options.mapping.items()}
    chosen = [_column(name, names, where) for name in options.value_columns]
    fields = {role: name for name, role in mapped.items() if role in SYNONYMS}
    if options.order_by:
        fields["order"] = _column(options.order_by, names, where)
    args = {role.removeprefix("args."): n for n, role in mapped.items() if role[:5] == "args."}
    taken = {*mapped, *chosen, *fields.values()}
    for name in names:
        match = ARGUMENTS.fullmatch(name.strip())
        if match is None and canonical(name) not in KNOWN:
            match = LABELLED.fullmatch(name.strip())
        known = match[1] if match else name.strip() if canonical(name) in PARAMETERS else ""
        if known and name not in taken:
            args[known] = name
            taken.add(name)
    _by_name(names, fields, taken, skip_value=bool(chosen))
    values = [ValueColumn.named(name) for name in chosen]
    if not values and "value" in fields:
        values = [ValueColumn(fields["value"])]
    if not values:
        values = _metrics(cells, fields, taken)
    if len(values) == 1 and "measurement" in fields:
        values = [ValueColumn(values[0].column, unit=values[0].unit)]
    if not values:
        raise DataError(_no_values(names, where))
    used = {*fields.values(), *args.values(), *(value.column for value in values)}
    ignored = [name for name in names if name not in used and mapped.get(name) != "ignore"]
    return Roles(fields, args, values, ignored)


def _column(name: str, names: Sequence[str], where: str) -> str:
    """Return a column that the user named, whatever its case."""
    for column in names:
        if column == name:
            return column
    for column in names:
        if canonical(column) == canonical(name):
            return column
    raise ConfigError(f"{where}: no column {name!r}; there are {_list(names)}")


def _by_name(
    names: Sequence[str], fields: dict[str, str], taken: set[str], *, skip_value: bool
) -> None:
    """Add the fields that columns have by their names."""
    known = {canonical(name): name for name in reversed(names) if name not in taken}
    for role, synonyms in SYNONYMS.items():
        if role in fields or (role == "value" and skip_value):
            continue
        column = next((known[synonym] for synonym in synonyms if synonym in known), None)
        if column is not None:
            fields[role] = column
            taken.add(column)


def _metrics(
    cells: Mapping[str, Sequence[Any]], fields: dict[str, str], taken: set[str]
) -> list[ValueColumn]:
    """Return the columns of a wide table that hold values."""
    metrics = metrics_in(cells, [name for name in cells if name not in taken])
    if metrics or "time" not in fields:
        return metrics
    # Without other numbers a column `time` of small numbers holds what was measured.
    name = fields["time"]
    if not _is_numeric(cells[name], below=1e8):
        return []
    del fields["time"]
    return [ValueColumn.named(name)]


def metrics_in(cells: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[ValueColumn]:
    """Return those of some columns that hold numbers that people track."""
    tracked = [
        name
        for name in names
        if canonical(name) not in NOT_TRACKED and not NO_METRIC.fullmatch(name.strip())
    ]
    return [ValueColumn.named(name) for name in _numeric(cells, tracked)]


def _numeric(cells: Mapping[str, Sequence[Any]], names: list[str]) -> list[str]:
    """Return the names of the columns of numbers."""
    if isinstance(cells, WideCells):
        first = cells.first_row()
        likely = [
            name for name in names if is_missing(first[name]) or _number(first[name]) is not None
        ]
        block = cells.numbers(likely) if likely else None
        if block is not None:
            counts = np.isfinite(block).sum(axis=1).tolist()
            numeric = {name for name, count in zip(likely, counts, strict=True) if count}
            others = set(names).difference(likely)
            return [n for n in names if n in numeric or (n in others and _is_numeric(cells[n]))]
    return [name for name in names if _is_numeric(cells[name])]


def _number(cell: Any) -> float | None:
    """Return the number in a cell, whatever its decimal sign; None if it holds no number."""
    for decimal_comma in (False, True):
        try:
            return measured(cell, "", decimal_comma=decimal_comma)[0]
        except FieldError:
            continue
    return None


def _is_numeric(cells: Sequence[Any], below: float = float("inf")) -> bool:
    """Return whether the cells that are not empty are numbers, but for a few faults."""
    values = plain_numbers(cells)
    if values is not None:
        return values.size > 0 and bool((np.abs(values) < below).all())
    count = faults = 0
    for cell in cells:
        if is_missing(cell):
            continue
        number = _number(cell)
        if number is not None and abs(number) >= below:
            return False
        count += number is not None
        faults += number is None
        if faults > FAULTS * count + FEW:
            return False
    return count > 0 and faults <= FAULTS * count


def checked_roles(roles: Roles, cells_of: Mapping[str, Sequence[Any]]) -> tuple[Roles, list[str]]:
    """Return roles that fit what the columns hold, and what people should know about them.

    A column of orders may hold times or commits, and one of an unknown name the only dates.

    Args:
        roles: The roles by name.
        cells_of: Some cells of each column.
    """
    column = roles.fields.get("order")
    if column is None:
        return _with_time(roles, cells_of)
    cells = [cell for cell in cells_of[column][:SAMPLED] if not is_missing(cell)]
    _, faults = orders(cells, "order")
    if not cells or len(faults) < len(cells):
        return _with_time(roles, cells_of)
    for role, is_role in (("time", _are_times), ("commit", _are_commits)):
        if is_role(cells):
            fields = {name: column for name, column in roles.fields.items() if name != "order"}
            fields[role] = column
            return replace(roles, fields=fields), [f"column {column} read as {role}"]
    return roles, []


def mixed_note(
    roles: Roles, ignored: Sequence[str], cells_of: Mapping[str, Sequence[Any]]
) -> list[str]:
    """Return a note on an ignored column that tells results of one series and moment apart.

    Such results count as runs, although they may be of different series.

    Args:
        roles: What the columns are.
        ignored: The columns that are not read.
        cells_of: Some cells of each column.
    """
    moments = [roles.fields[name] for name in ("order", "commit", "time") if name in roles.fields]
    known = [*moments[:1], *roles.identity.values()]
    known += [roles.fields[name] for name in ("run", "branch") if name in roles.fields]
    if not moments:
        return []
    keys = list(zip(*(map(str, cells_of[name][:ROWS]) for name in known), strict=True))
    if len(set(keys)) == len(keys):
        return []
    for name in ignored:
        cells = cells_of[name][:ROWS]
        texts = {cell for cell in cells if isinstance(cell, str) and not is_missing(cell)}
        apart = len(set(zip(keys, map(str, cells), strict=True))) == len(keys)
        if apart and 1 < len(texts) <= len(cells) // 2 and not any(map(is_number, texts)):
            return [
                f"results that differ in {name} count as runs of one series; --map {name}=test "
                f"or --map {name}=args.{name} makes them series"
            ]
    return []


def _with_time(roles: Roles, cells_of: Mapping[str, Sequence[Any]]) -> tuple[Roles, list[str]]:
    """Read the only column of dates as the time, whatever its name, if no other column is."""
    if "time" in roles.fields:
        return roles, []
    dated = [name for name in roles.ignored if _are_dates(cells_of[name][:SAMPLED])]
    if len(dated) != 1:
        return roles, []
    ignored = [name for name in roles.ignored if name != dated[0]]
    fields = {**roles.fields, "time": dated[0]}
    return replace(roles, fields=fields, ignored=ignored), [f"column {dated[0]} read as time"]


def _are_dates(cells: Sequence[Any]) -> bool:
    """Return whether the cells are texts of dates with a year, a month and a day, or empty."""
    known = [cell for cell in cells if not is_missing(cell)]
    return (
        bool(known)
        and all(isinstance(cell, str) and DATED.match(cell.strip()) for cell in known)
        and _are_times(list(dict.fromkeys(known)))
    )


def _are_times(cells: Sequence[Any]) -> bool:
    """Return whether all cells are times, of which none that differ become one in milliseconds."""
    read = DateParser()
    times: set[object] = set()
    for cell in cells:
        try:
            times.add(read(cell, ""))
        except FieldError:
            if not isinstance(cell, str) or SLASHED.match(cell) is None:
                return False
            times.add(cell)
    return len(times) == len({str(cell) for cell in cells})


def _are_commits(cells: Sequence[Any]) -> bool:
    return all(isinstance(cell, str) and COMMIT.fullmatch(cell.strip()) for cell in cells)


def _no_values(names: Sequence[str], where: str) -> str:
    return (
        f"{where}: no column of values among {_list(names)}; name it with --value-columns COLUMN "
        "or --map COLUMN=value"
    )


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:30]) for name in names[:SHOWN])
    return f"{shown}, ..." if len(names) > SHOWN else shown
