"""What the formats of single runs share: entries with errors, lines, numbers in text, machines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from barograph.errors import DataError
from barograph.series import Direction
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import number, skipped
from barograph.sources.formats.base import InputFile, Result, Sample
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.outline import outline

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER
LONGEST = 4_000  # characters of a line of text that may hold a result
LINE_END = re.compile(r"\r\n?|\n")  # other line separators may be in the strings of JSON lines
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d*)?(?:[eE][+-]?\d{1,4})?|[+-]?\.\d+")
# Names that hosted runners, containers, pods and cloud instances get: another one for each run.
GENERATED = re.compile(
    r"[0-9a-f]{12,64}|fv-az.*|runner.*|gha.*|.*\bip-\d+-\d+-\d+-\d+.*|.*\d{6,}.*"
    r"|.*-[0-9a-f]{7,10}-[a-z0-9]{5}|localhost|buildkitsandbox",
    re.IGNORECASE | re.DOTALL,
)


def head_text(sample: Sample) -> str:
    """Return the head as text; bytes that are not valid become replacement characters."""
    return _decoded(sample.head)


@lru_cache(4)  # every format of text asks for the same head
def _decoded(head: bytes) -> str:
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return head.decode(encoding, "replace")


def each(
    file: InputFile, entries: Iterable[Node], read: Callable[[Node], Iterator[Result]]
) -> Iterator[Result | Skip]:
    """Read entries one at a time; an entry with a wrong or missing field is skipped.

    Args:
        file: The file, for the skipped entries.
        entries: The entries.
        read: Yields the results of an entry.
    """
    for entry in entries:
        try:
            yield from read(entry)
        except FieldError as error:
            yield skipped(file, error.field, error.value, error.reason)


def has_places(*required: str) -> Callable[[Sample], bool]:
    """Return a function that recognises JSON by places that its outline must have."""
    return lambda sample: outline(sample).issuperset(required)


def lines_of(file: InputFile, longest: int = LONGEST) -> Iterator[Node]:
    """Yield each line, without colours; longer lines are left out."""
    for index, line in enumerate(LINE_END.split(file.text()), 1):
        if len(line) <= longest:
            yield Node(COLOUR.sub("", line) if "\x1b" in line else line, f"line {index}")


def csv_rows(file: InputFile, delimiter: str = ",") -> Iterator[Node]:
    """Yield each row of a CSV file as an object of its cells by column.

    Raises:
        DataError: The file is not valid.
    """
    lines = file.text().lstrip().splitlines(keepends=True)
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        header = [name.strip() for name in next(rows, [])]
        for row in rows:
            if row:
                yield Node(dict(zip(header, row, strict=False)), f"line {rows.line_num}")
    except csv.Error as error:
        raise DataError(f"{file.name}: line {rows.line_num}: {error}") from None


def number_in(text: str, where: str) -> float:
    """Return the number that a text is, with or without commas between thousands.

    Raises:
        FieldError: It is not a finite number.

    Example:
        >>> number_in("1,234.5", "line 3")
        1234.5
    """
    stripped = text.strip()
    if len(stripped) > 400 or not NUMBER.fullmatch(stripped):
        raise FieldError(where, text, "is not a number")
    return number(float(stripped.replace(",", "")), where)


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
