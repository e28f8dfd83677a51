"""What a format module provides (`Format`), and what it reads (`Result`, `Judgement`, `Chunk`).

A format module recognises a file by its content and yields what the file says, nothing else: the
collector fills what is missing from options, CI variables and git, and assigns the orders.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from barograph.results.repeats import AGGREGATES
from barograph.results.series import UNKNOWN_TIME, Direction, Floats, Ints, SeriesId, Verdict
from barograph.results.texts import Texts
from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.formats.json_text import (
    MEBIBYTE,
    decode_json,
    require_small,
    split_json,
)
from barograph.sources.report import Place, Skip, check_share

HEAD = 65_536  # bytes of a file that recognition may look at
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
MAX_BYTES = 512 * MEBIBYTE  # many small values take up to eight times as much memory
MAX_LINE = 16 << 20
MAX_KEYS = 10_000
CHUNK = 20_000  # rows
NO_ORDER = int(np.iinfo(np.int64).min)


@dataclass(frozen=True)
class ReadOptions:
    """How files are read, and what is true of results that do not say it themselves.

    Args:
        kind: The name of a format; empty to recognise it by the content.
        mapping: The field of each column of a table that the user named.
        value_columns: The columns of a table that hold values; empty to find them.
        order_by: The column of a table that orders its rows; empty to find it.
        delimiter: The delimiter of a table; empty to find it.
        quote: The quote character of a table.
        aggregate: How the runs of a commit become one value: `median` or `mean`.
        project: The project of results that name none.
        machine: The variant of results that name none.
        branch: The branch that results of single runs belong to, and that is judged.
        base_branch: The branch whose results are the history; empty to find it.
        commit: The commit of single runs that name none.
        time: The time of single runs that name none, in milliseconds since 1970.
        metrics: Patterns of the measurements to read, such as `p9*`; empty for all.
        max_bytes: The maximum size of a file, decompressed.
        max_line: The maximum length in bytes of a line of a table, of JSON lines and of other text.
            A JSON document may be one line.
        max_keys: The maximum number of columns of a table.
        max_skipped_share: The maximum share of results that may be unusable.

    Raises:
        ConfigError: The delimiter is no ASCII character, there is no such aggregate, or the share
            is not between 0 and 1.
    """

    kind: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    value_columns: tuple[str, ...] = ()
    order_by: str = ""
    delimiter: str = ""
    quote: str = '"'
    aggregate: str = "median"
    project: str = ""
    machine: str = ""
    branch: str = ""
    base_branch: str = ""
    commit: str = ""
    time: int = UNKNOWN_TIME
    metrics: tuple[str, ...] = ()
    max_bytes: int = MAX_BYTES
    max_line: int = MAX_LINE
    max_keys: int = MAX_KEYS
    max_skipped_share: float = 0.05

    def __post_init__(self) -> None:
        """Check the options that people type."""
        if len(self.delimiter) > 1 or not self.delimiter.isascii():
            raise ConfigError(f"delimiter: {self.delimiter!r}; allowed: one ASCII character")
        if self.aggregate not in AGGREGATES:
            names = ", ".join(AGGREGATES)
            raise ConfigError(f"aggregate: {self.aggregate!r}; allowed: {names}")
        check_share(self.max_skipped_share)


class Result(NamedTuple):
    """One measured value, with everything that the file says about it.

    Attributes:
        series: The identity. Labels that the file does not name are empty.
        value: A finite number.
        unit: Unit of the value, such as "ms" or "ops/s"; empty if unknown.
        direction: The direction that the file states. Without one the unit decides, if known.
        order: The position in the history, if the file numbers its results.
        commit: The commit; empty if unknown.
        time: Milliseconds since 1970, or `UNKNOWN_TIME`.
        run: Name of the run of this commit; empty for a single one. Results of one series and
            commit are runs of that commit, also without names.
        branch: The branch; empty if unknown.
    """

    series: SeriesId
    value: float
    unit: str = ""
    direction: Direction = Direction.UNKNOWN
    order: int | None = None
    commit: str = ""
    time: int = UNKNOWN_TIME
    run: str = ""
    branch: str = ""


class ResultBatch(NamedTuple):
    """Many results as columns, for formats whose files can be large.

    Attributes:
        series: The identities.
        directions: The direction of each series, as in `Result`.
        owners: The position in `series` of the series of each result.
        values: Finite numbers.
        times: Milliseconds since 1970, or `UNKNOWN_TIME`.
        rows: The number of the row in the file; results of one row were measured together.
        orders: The orders, or `NO_ORDER`. None, as the next columns, if the format has none.
        commits: The commits, empty where unknown.
        runs: The names of the runs, empty without one.
        branches: The branches, empty where unknown.
        units: The units, empty where unknown.
    """

    series: Sequence[SeriesId]
    directions: Sequence[int]
    owners: Ints
    values: Floats
    times: Ints
    rows: Ints
    orders: Ints | None = None
    commits: Texts | None = None
    runs: Texts | None = None
    branches: Texts | None = None
    units: Texts | None = None

    def take(self, places: Ints) -> ResultBatch:
        """Return the results at some positions."""
        columns: dict[str, Any] = {
            name: column.take(places)
            for name, column in self._asdict().items()
            if name not in ("series", "directions") and column is not None
        }
        return self._replace(**columns)


class Note(NamedTuple):
    """What people should know about a file, such as which columns were ignored.

    Attributes:
        text: One line, without the name of the file.
    """

    text: str


class Judgement(NamedTuple):
    """A verdict of a person that a file holds.

    Attributes:
        series: The identity of the series.
        verdict: What the person said.
        where: The place in the file, for messages.
        position: The 0-based index of the change point among the results of the series in
            this file; None if the commit or the time says which.
        commit: The commit of the first result after the change; empty if unknown.
        time: Its time, or `UNKNOWN_TIME`.
        order: Its order, if the file numbers its results.
        algorithm: What found the change point; empty if unknown.
        calculated_on: When it was found, or `UNKNOWN_TIME`.
        triaged_on: When the verdict was given, or `UNKNOWN_TIME`.
    """

    series: SeriesId
    verdict: Verdict
    where: str
    position: int | None = None
    commit: str = ""
    time: int = UNKNOWN_TIME
    order: int | None = None
    algorithm: str = ""
    calculated_on: int = UNKNOWN_TIME
    triaged_on: int = UNKNOWN_TIME


class Sample(NamedTuple):
    """What recognition looks at.

    Attributes:
        path: The path; None for the standard input.
        head: The first `HEAD` bytes, decompressed; empty for a folder.
    """

    path: Path | None
    head: bytes

    @property
    def folder(self) -> Path | None:
        """The path if it is a folder, else None."""
        return self.path if self.path is not None and self.path.is_dir() else None


@dataclass(frozen=True)
class InputFile:
    """A file, a folder or the standard input, to be read by a format.

    Args:
        name: What messages call it.
        path: The path; None for the standard input.
        content: The bytes, decompressed; None for a folder.
        options: What the user said about reading; most formats need none of it.
    """

    name: str
    path: Path | None
    content: bytes | None
    options: ReadOptions = field(default_factory=ReadOptions)

    def text(self) -> str:
        """Return the whole text; a byte order mark is removed.

        Raises:
            DataError: The file is not UTF-8 or UTF-16 with a byte order mark.
        """
        content = self.content or b""
        try:
            return content.decode("utf-16" if content[:2] in UTF_16 else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"{self.name}: not valid UTF-8 at byte {error.start}") from None

    def utf8(self) -> bytes:
        """Return the bytes of the text without a byte order mark, which need not be valid UTF-8.

        Raises:
            DataError: The file has the mark of UTF-16, and is not valid UTF-16.
        """
        content = self.content or b""
        is_wide = content[:2] in UTF_16
        return self.text().encode() if is_wide else content.removeprefix(codecs.BOM_UTF8)

    def json(self) -> Any:
        """Return the decoded JSON of the whole file.

        Raises:
            DataError: The file is not valid JSON, nested too deeply, or larger than a quarter of
                what may be read: decoded, it takes many times its size.
        """
        content = self.utf8()
        require_small([content], self.name, self.largest)
        return decode_json(content, self.name)

    @property
    def largest(self) -> int:
        """Number of bytes of JSON that may be decoded as a whole."""
        return self.options.max_bytes // 4

    def json_parts(self) -> Any:
        """Return the JSON of the file with only its outermost array or object decoded.

        A `Node` decodes the entries of an array one after the other, so that a large file never is
        in memory as objects.

        Raises:
            DataError: The file is not valid JSON, nested too deeply, or an entry of an array is
                too large to be decoded as a whole.
        """
        return split_json(self.utf8(), self.name, self.largest)


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


@dataclass(frozen=True)
class Format:
    """A file format: how to recognise and to read it.

    Args:
        name: What people type after `--kind`, such as "pytest-benchmark".
        title: One line for `barograph formats`: the tool, and how to make it write the file.
        kind: `history` if a file holds results of many commits, `run` if of one run.
        matches: Whether the head of a file is of this format. Must be quick and never raise.
        read: Yields the results, verdicts and skipped values of a file. Raises `FieldError` or
            `DataError` for a value that makes the file unusable; the caller adds the name of the
            file to a `FieldError`. `Skip` is for a single result that is missing or failed.
    """

    name: str
    title: str
    kind: Literal["history", "run"]
    matches: Callable[[Sample], bool]
    read: Callable[[InputFile], Iterator[Result | ResultBatch | Judgement | Note | Skip]]
