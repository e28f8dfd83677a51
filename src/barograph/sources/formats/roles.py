"""Which column of a table is what: by its name, by what the user says, or by what it holds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from barograph.errors import ConfigError, DataError
from barograph.series import LABELS
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.cells import is_missing, measured, plain_numbers
from barograph.sources.formats.wide import WideCells

# The names of columns that are read as a field; the first that a table has is taken.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "order": ("order", "sequence", "seq", "position", "build", "build_number", "revision_number"),
    "time": (
        "time", "timestamp", "date", "datetime", "commit_time", "commit_date", "commit_timestamp",
        "created_at", "create_time", "measured_at", "measured_on", "push_timestamp", "ts",
        "@timestamp", "_time",
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
    "release": ("release", "stable_release", "is_release"),
    "project": ("project", "repository", "repo"),
    "variant": ("variant", "machine", "platform", "environment", "env", "host", "os", "testbed"),
    "task": ("task", "suite", "group"),
    "test": ("test", "benchmark", "series", "name", "test_name", "bench", "command",
        "_measurement",
    ),
    "measurement": ("measurement", "metric", "measure", "statistic", "metric_name", "_field"),
    "args": ("args", "params", "parameters"),
}  # fmt: skip
FIELDS = (*SYNONYMS, "ignore")
ARGUMENTS = re.compile(r"(?:args|params|parameters|param)(?:\.|:\s*)(.+)", re.IGNORECASE)
# Numbers beside a value that nobody tracks: their spread, and how they were measured.
NOT_TRACKED = frozenset((
    "stddev", "std", "std_dev", "stdev", "sd", "variance", "error", "stderr", "iterations",
    "rounds", "count", "samples", "n", "id", "index", "seed", "runs", "spread",
    "iqr", "score_error_(99.9%)",
    "", "unnamed:_0",  # the row numbers of pandas
))  # fmt: skip
# Numbers that say how a benchmark was called: arguments of the series.
PARAMETERS = frozenset((
    "threads", "thread_level", "thread_count", "num_threads", "clients", "connections",
    "concurrency", "workers", "processes", "batch_size", "size", "scale", "arg", "param",
))  # fmt: skip
IDENTITY = (*LABELS, "args")
SHOWN = 6


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are.

    Attributes:
        fields: The column of each field.
        args: The column of each argument.
        values: The columns that hold values, with the measurement of each; in a long table one,
            without a measurement.
        ignored: The columns that are not read.
    """

    fields: Mapping[str, str]
    args: Mapping[str, str]
    values: Sequence[tuple[str, str]]
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
        >>> canonical(" Commit-Date ")
        'commit_date'
    """
    return re.sub(r"[\s\-]+", "_", column.strip().lower())


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
        known = match[1] if match else name.strip() if canonical(name) in PARAMETERS else ""
        if known and name not in taken:
            args[known] = name
            taken.add(name)
    _by_name(names, fields, taken, skip_value=bool(chosen))
    values = [(name, name.strip()) for name in chosen]
    if not values and "value" in fields:
        values = [(fields["value"], "")]
    if not values:
        values = _metrics(cells, fields, taken)
    if len(values) == 1 and "measurement" in fields:
        values = [(values[0][0], "")]
    if not values:
        raise DataError(_no_values(names, where))
    used = {*fields.values(), *args.values(), *(name for name, _ in values)}
    ignored = [name for name in names if name not in used and mapped.get(name) != "ignore"]
    return Roles(fields, args, values, ignored)


def _column(name: str, names: Sequence[str], where: str) -> str:
    """Return a column that the user named, whatever its case."""
    for found in names:
        if found == name:
            return found
    for found in names:
        if canonical(found) == canonical(name):
            return found
    raise ConfigError(f"{where}: no column {name!r}; there are {_list(names)}")


def _by_name(
    names: Sequence[str], fields: dict[str, str], taken: set[str], *, skip_value: bool
) -> None:
    """Add the fields that columns have by their names."""
    known = {canonical(name): name for name in reversed(names) if name not in taken}
    for role, synonyms in SYNONYMS.items():
        if role in fields or (role == "value" and skip_value):
            continue
        found = next((known[synonym] for synonym in synonyms if synonym in known), None)
        if found is not None:
            fields[role] = found
            taken.add(found)


def _metrics(
    cells: Mapping[str, Sequence[Any]], fields: dict[str, str], taken: set[str]
) -> list[tuple[str, str]]:
    """Return the columns of a wide table that hold values."""
    names = [name for name in cells if name not in taken and canonical(name) not in NOT_TRACKED]
    found = [(name, name.strip()) for name in _numeric(cells, names)]
    if found or "time" not in fields:
        return found
    # Without other numbers a column `time` of small numbers holds what was measured.
    name = fields["time"]
    if not _is_numeric(cells[name], below=1e8):
        return []
    del fields["time"]
    return [(name, name.strip())]


def _numeric(cells: Mapping[str, Sequence[Any]], names: list[str]) -> list[str]:
    """Return the names of the columns of which all cells that are not empty are numbers."""
    if isinstance(cells, WideCells):
        first = cells.first_row()
        likely = [name for name in names if is_missing(first[name]) or _is_number(first[name])]
        block = cells.numbers(likely) if likely else None
        if block is not None:
            counts = np.isfinite(block).sum(axis=1).tolist()
            return [name for name, count in zip(likely, counts, strict=True) if count]
    return [name for name in names if _is_numeric(cells[name])]


def _is_number(text: str) -> bool:
    try:
        return measured(text, "", decimal_comma="," in text)[0] < np.inf
    except FieldError:
        return False


def _is_numeric(cells: Sequence[Any], below: float = float("inf")) -> bool:
    """Return whether all cells that are not empty are numbers."""
    values = plain_numbers(cells)
    if values is not None:
        return values.size > 0 and bool((np.abs(values) < below).all())
    found = 0
    for cell in cells:
        if is_missing(cell):
            continue
        try:
            value, _ = measured(cell, "", decimal_comma=isinstance(cell, str) and "," in cell)
        except FieldError:
            return False
        if abs(value) >= below:
            return False
        found += 1
    return found > 0


def _no_values(names: Sequence[str], where: str) -> str:
    return (
        f"{where}: no column of values among {_list(names)}; name it with --value-columns COLUMN "
        "or --map COLUMN=value"
    )


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:30]) for name in names[:SHOWN])
    return f"{shown}, ..." if len(names) > SHOWN else shown
