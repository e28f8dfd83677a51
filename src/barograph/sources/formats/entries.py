"""What the formats of single runs share: entries with errors, lines, machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from barograph.series import Direction
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import InputFile, Result, Sample
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.outline import outline
from barograph.sources.report import Skip

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER
LONGEST = 4_000  # characters of a line of text that may hold a result
LINE_END = re.compile(r"\r\n?|\n")  # other line separators may be in the strings of JSON lines
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Names that hosted runners, containers, pods and cloud instances get: another one for each run.
GENERATED = re.compile(
    r"[0-9a-f]{12,64}|fv-az.*|runner.*|gha.*|.*\bip-\d+-\d+-\d+-\d+.*|.*\d{6,}.*"
    r"|.*-[0-9a-f]{7,10}-[a-z0-9]{5}|localhost|buildkitsandbox",
    re.IGNORECASE | re.DOTALL,
)


def each(
    file: InputFile, entries: Iterable[Node | Skip], read: Callable[[Node], Iterator[Result]]
) -> Iterator[Result | Skip]:
    """Read entries one at a time; an entry with a wrong or missing field is skipped.

    Args:
        file: The file, for the skipped entries.
        entries: The entries; those that cannot be read at all are skips already.
        read: Yields the results of an entry.
    """
    for entry in entries:
        if isinstance(entry, Skip):
            yield entry
            continue
        try:
            yield from read(entry)
        except FieldError as error:
            yield Node(error.value, error.field).skip(file, error.reason)


def has_places(*required: str) -> Callable[[Sample], bool]:
    """Return a function that recognises JSON by places that its outline must have."""
    return lambda sample: outline(sample).issuperset(required)


def lines_of(file: InputFile, longest: int = LONGEST) -> Iterator[Node]:
    """Yield each line, without colours; longer lines are left out."""
    for index, line in enumerate(LINE_END.split(file.text()), 1):
        if len(line) <= longest:
            yield Node(COLOUR.sub("", line) if "\x1b" in line else line, f"line {index}")


def csv_rows(file: InputFile, delimiter: str = ",") -> Iterator[Node | Skip]:
    """Yield each row of a CSV file as an object of its cells by column.

    Raises:
        DataError: The file is not valid.
    """
    from barograph.sources.formats.delimited import read_delimited

    for chunk in read_delimited(replace(file, options=replace(file.options, delimiter=delimiter))):
        yield from chunk.skips
        rows = zip(*chunk.cells.values(), strict=True)
        for number, cells in zip(chunk.rows, rows, strict=True):
            row = dict(zip(chunk.cells, cells, strict=True))
            yield Node(row, f"line {number + chunk.lines}")


def stable_machine(name: str) -> str:
    """Return the name of a machine, empty if the name looks generated for a single run.

    A hosted runner or a container has another name in each run. A series must not change its
    identity with it, or it would never have a history.

    Example:
        >>> stable_machine("perf-box-3"), stable_machine("fv-az1210-717")
        ('perf-box-3', '')
    """
    stripped = name.strip()
    return "" if len(stripped) > 200 or GENERATED.fullmatch(stripped) else stripped
