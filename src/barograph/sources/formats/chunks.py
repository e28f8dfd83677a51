"""Some rows of a table as columns, whatever kind of file they are from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from barograph.errors import DataError
from barograph.sources.formats.base import InputFile
from barograph.sources.report import Place, Skip

CHUNK = 20_000  # rows


class Chunk(NamedTuple):
    """Some rows of a table.

    Attributes:
        cells: The cells of each column.
        rows: The number of each row, counted from 0.
        lines: How a message finds a row: its number plus this, or 0 if rows are not lines.
        skips: Rows that cannot be read.
        delimiter: The character between the cells of a text.
    """

    cells: Mapping[str, Sequence[Any]]
    rows: range | Sequence[int]
    lines: int
    skips: Sequence[Skip] = ()
    delimiter: str = ""

    def place(self, file: InputFile, row: int) -> Place:
        """Return where messages find a row of this chunk."""
        unit = "line" if self.lines else "row"
        return Place(file.name, self.rows[row] + (self.lines or 1), unit)


def check_keys(file: InputFile, count: int) -> None:
    """Refuse a table with too many columns.

    Raises:
        DataError: There are more than allowed.
    """
    if count > file.options.max_keys:
        raise DataError(
            f"{file.name}: {count:,} columns; at most {file.options.max_keys:,} are allowed: "
            "write a row for each value, with its test and measurement, or allow more with "
            "--max-columns N"
        )
