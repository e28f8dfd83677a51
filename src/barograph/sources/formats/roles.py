"""Which column of a table is what: by its name, by what the user says, or by what it holds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from barograph.results.fields import FieldError
from barograph.results.series import LABELS, Floats
from barograph.results.units import unit_of
from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.cells import NOT_PLAIN, is_missing, measured, plain_numbers

# The names of columns that are read as a field; the first that a table has is taken.
NAMES = {
    "order": "order sequence seq position build build_number build_# build_no revision_number",
    "time": "time timestamp date datetime commit_time commit_date commit_timestamp created_at "
    "create_time measured_at measured_on push_timestamp ts @timestamp _time date_ms timestamp_ms "
    "timestamp_s timestamp_ns unix_time unix_timestamp epoch",
    "commit": "commit sha commit_sha commit_hash commit_id commitid git_commit git_hash git_sha "
    "hash revision rev changeset version",
    "branch": "branch git_branch branch_name ref",
    "value": "value _value result result_value measured_value val",
    "unit": "unit units",
    "direction": "direction better lower_is_better lowerisbetter smaller_is_better "
    "higher_is_better higherisbetter bigger_is_better",
    "run": "run run_id repeat repetition trial attempt replicate",
    "project": "project repository repo",
    "variant": "variant machine platform environment env host os testbed",
    "task": "task suite group",
    "test": "test benchmark series name test_name bench command _measurement benchmark_name "
    "bench_name test_case testcase case scenario workload series_name series_id",
    "measurement": "measurement metric measure statistic metric_name _field",
    "args": "args params parameters",
}
SYNONYMS = {field: names.split() for field, names in NAMES.items()}
CPU = "cpu"  # of texts; a column of numbers with this name is a metric
FIELDS = (*SYNONYMS, CPU, "ignore")
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
DATED = re.compile(r"\d{4}[-./]\d\d?[-./]\d\d?(?!\d)|\d\d?([-./])\d\d?\1\d{4}(?!\d)")
UNIT = re.compile(r"(.*?)\s*[(\[]([^)\]]+)[)\]]")
LONGEST = 200  # characters of the name of a column with a unit
SHOWN = 8
SAMPLED = 100  # cells of a column
FAULTS = 0.1  # share of the cells of a column of numbers that may be other text
EARLIEST = 1e8  # seconds since 1970; smaller numbers are no times of results
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


class Roles(NamedTuple):
    """What the columns of a table are.

    Attributes:
        fields: The column of each field, among them `args.NAME`.
        values: The columns that hold values; in a long table one, without a measurement.
        notes: What people should know about the columns.
    """

    fields: Mapping[str, str]
    values: Sequence[ValueColumn]
    notes: Sequence[str] = ()

    @property
    def identity(self) -> list[str]:
        """The fields that are parts of the identity."""
        return [name for name in self.fields if name in LABELS or name[:4] == "args"]


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
        cells: The cells of each column.
        options: What the user says about columns.
        where: The name of the file.

    Raises:
        DataError: No column holds values.
        ConfigError: The user names a column that the table does not have.
    """
    mapped = {_column(name, cells, where): role for name, role in options.mapping.items()}
    chosen = [_column(name, cells, where) for name in options.value_columns]
    fields = {role: name for name, role in mapped.items() if role != "ignore"}
    if options.order_by:
        fields["order"] = _column(options.order_by, cells, where)
    free = [name for name in cells if name not in {*mapped, *chosen, *fields.values()}]
    fields = {f"args.{args}": name for name in free if (args := _argument(name))} | fields
    free = [name for name in free if name not in fields.values()]
    named = {canonical(name): name for name in reversed(free)}
    for role, synonyms in SYNONYMS.items():
        column = next((named[synonym] for synonym in synonyms if synonym in named), None)
        if column is not None and not (role == "value" and chosen):
            fields.setdefault(role, column)
    free = [name for name in free if name not in fields.values()]
    if chosen or "value" not in fields:
        values = [*map(ValueColumn.named, chosen or _metrics(cells, fields, free))]
    else:
        values = [ValueColumn(fields["value"])]
    if len(values) == 1 and "measurement" in fields:
        values = [ValueColumn(values[0].column, unit=values[0].unit)]
    if not values:
        raise DataError(
            f"{where}: no column of values among {_list(cells)}; name it with --map COLUMN=value, "
            "several with `value-columns` in [input] of barograph.toml"
        )
    used = {*mapped, *fields.values(), *(value.column for value in values)}
    ignored = [name for name in cells if name not in used and not all(map(is_missing, cells[name]))]
    notes = []
    dated = [name for name in ignored if _are_dates(cells[name][:SAMPLED])]
    if "time" not in fields and len(dated) == 1:  # rows may be in any order
        ignored.remove(dated[0])
        fields["time"] = dated[0]
        notes.append(f"column {dated[0]} read as time")
    if (cpu := named.get(CPU)) in ignored and CPU not in fields and not _numbers(cells[cpu]).size:
        ignored.remove(cpu)
        fields[CPU] = cpu
    if ignored:
        shown = ", ".join(name or "(no name)" for name in ignored[:SHOWN])
        more = ", ..." if len(ignored) > SHOWN else ""
        notes.append(f"columns ignored: {shown}{more}; --map COLUMN=FIELD reads one")
    return Roles(fields, values, notes)


def _are_dates(cells: Sequence[Any]) -> bool:
    """Return whether the cells are texts of dates with a year, a month and a day, or empty."""
    known = [cell for cell in cells if not is_missing(cell)]
    return bool(known) and all(isinstance(c, str) and DATED.match(c.strip()) for c in known)


def _column(name: str, names: Iterable[str], where: str) -> str:
    """Return a column that the user named, whatever its case."""
    same = [column for column in names if canonical(column) == canonical(name)]
    if not same:
        raise ConfigError(f"{where}: no column {name!r}; there are {_list(names)}")
    return name if name in same else same[0]


def _argument(name: str) -> str:
    """Return the argument that a column holds: how the benchmark was called. Empty for none."""
    match = ARGUMENTS.fullmatch(name.strip())
    if match is None and canonical(name) not in KNOWN:
        match = LABELLED.fullmatch(name.strip())
    return match[1] if match else name.strip() if canonical(name) in PARAMETERS else ""


def _metrics(
    cells: Mapping[str, Sequence[Any]], fields: dict[str, str], names: Sequence[str]
) -> list[str]:
    """Return the columns of a wide table that hold numbers that people track."""
    metrics = [
        name
        for name in names
        if canonical(name) not in NOT_TRACKED
        and not NO_METRIC.fullmatch(name.strip())
        and _numbers(cells[name]).size
    ]
    # Without other numbers a column `time` of small numbers holds what was measured.
    times = _numbers(cells[fields["time"]]) if not metrics and "time" in fields else np.empty(0)
    return [fields.pop("time")] if times.size and (np.abs(times) < EARLIEST).all() else metrics


def _numbers(cells: Sequence[Any]) -> Floats:
    """Return the numbers in a column; none if more than a few of its cells hold other text."""
    values = plain_numbers(cells)
    if values is None:
        known = [cell for cell in cells if not is_missing(cell)]
        found = [number for number in map(_number, known) if number is not None]
        values = np.array(found if len(known) - len(found) <= FAULTS * len(found) else [])
    return values[~np.isnan(values)]


def _number(cell: Any) -> float | None:
    """Return the number in a cell, whatever its decimal sign; None if it stands for no number."""
    for decimal in ".,":
        try:
            return measured(cell, "", decimal)[0]
        except FieldError as fault:
            if fault.reason == NOT_PLAIN and decimal == ",":
                return 0.0  # an error follows, which names the cell
    return None


def _list(names: Iterable[str]) -> str:
    shown = [repr(name[:30]) for name in names]
    return ", ".join(shown[:SHOWN] + ["..."] * (len(shown) > SHOWN))
