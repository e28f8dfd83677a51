"""What a format module provides (`Format`), and what it reads (`Result`, `Judgement`).

A format module recognises a file by its content and yields what the file says, nothing else: the
collector fills what is missing from options, CI variables and git, and assigns the orders.
"""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from barograph.results.repeats import AGGREGATES, Results
from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId, Verdict
from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.formats.json_text import MEBIBYTE, decode_document, decode_json, places_of
from barograph.sources.report import Skip, check_share

HEAD = 65_536  # bytes of a text that recognition looks at
UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
MAX_BYTES = 256 * MEBIBYTE  # decoded, a file takes up to twelve times as much memory
MAX_KEYS = 10_000
DATES = ("", "day-first", "month-first", "iso")


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
        dates: The dates of a table: `day-first`, `month-first` or `iso`; empty to infer it.
        aggregate: How the runs of a commit become one value: `median` or `mean`.
        project: Project of results that name none.
        machine: The variant of results that name none.
        branch: Branch of results that name none; `gate` judges it after the history of the base
            branch. Defaults to that of the CI job.
        base_branch: The branch whose results are the history; empty to find it.
        commit: Commit of results that name none. Defaults to that of the CI job, or of git.
        time: The time of single runs that name none, in milliseconds since 1970.
        metrics: Patterns of the measurements to read, such as `p9*`; empty for all.
        max_bytes: The maximum size of a file, decompressed.
        max_keys: The maximum number of columns of a table.
        max_skipped_share: The maximum share of results that may be unusable.

    Raises:
        ConfigError: The delimiter is no ASCII character, there is no such aggregate or kind of
            dates, or the share is not between 0 and 1.
    """

    kind: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    value_columns: tuple[str, ...] = ()
    order_by: str = ""
    delimiter: str = ""
    quote: str = '"'
    dates: str = ""
    aggregate: str = "median"
    project: str = ""
    machine: str = ""
    branch: str = ""
    base_branch: str = ""
    commit: str = ""
    time: int = UNKNOWN_TIME
    metrics: tuple[str, ...] = ()
    max_bytes: int = MAX_BYTES
    max_keys: int = MAX_KEYS
    max_skipped_share: float = 0.05

    def __post_init__(self) -> None:
        """Check the options that people type."""
        if len(self.delimiter) > 1 or not self.delimiter.isascii():
            raise ConfigError(f"delimiter: {self.delimiter!r}; allowed: one ASCII character")
        for name, allowed in (("aggregate", AGGREGATES), ("dates", DATES)):
            if getattr(self, name) not in allowed:
                names = ", ".join(filter(None, allowed))
                raise ConfigError(f"{name}: {getattr(self, name)!r}; allowed: {names}")
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
        cpu: The model of the CPU that measured it; empty if unknown. No part of the identity.
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
    cpu: str = ""


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


# What a format reads; a text is what people should know about a file, without its name.
Items = Iterator[Result | Results | Judgement | str | Skip]


@dataclass(frozen=True)
class InputFile:
    """A file, a folder or the standard input, to be recognised and read by a format.

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

    @property
    def folder(self) -> Path | None:
        """The path of a folder; None for a file."""
        return self.path if self.content is None else None

    @property
    def is_json(self) -> bool:
        """Whether the content is JSON or JSON lines, to be recognised by its values."""
        return isinstance(self._decoded[0], (dict, list))

    @property
    def fault(self) -> DataError | None:
        """What is wrong with content that begins like JSON."""
        return self._decoded[1]

    @cached_property
    def head(self) -> str:
        """The first `HEAD` bytes as text; bytes that are not valid become replacement characters.

        It is empty for JSON, which is recognised by its places.
        """
        head = b"" if self.is_json else (self.content or b"")[:HEAD]
        return head.decode(self._encoding, "replace")

    @cached_property
    def places(self) -> frozenset[str]:
        """The places of the values near the top of JSON, as `places_of` names them."""
        return places_of(self._decoded[0])

    @property
    def _encoding(self) -> str:
        return "utf-16" if (self.content or b"")[:2] in UTF_16 else "utf-8-sig"

    @cached_property
    def _decoded(self) -> tuple[Any, DataError | None]:
        start = (self.content or b"")[:256].decode(self._encoding, "ignore")
        if start.lstrip()[:1] not in ("{", "["):
            return None, None
        try:
            return decode_document(self.utf8(), self.name), None
        except DataError as error:
            return None, error

    def text(self) -> str:
        """Return the whole text; a byte order mark is removed.

        Raises:
            DataError: The file is not UTF-8 or UTF-16 with a byte order mark.
        """
        try:
            return (self.content or b"").decode(self._encoding)
        except UnicodeDecodeError as error:
            name = "UTF-16" if self._encoding == "utf-16" else "UTF-8"
            raise DataError(f"{self.name}: not valid {name} at byte {error.start}") from None

    def utf8(self) -> bytes:
        """Return the bytes of the text without a byte order mark, which need not be valid UTF-8.

        Raises:
            DataError: The file has the mark of UTF-16, and is not valid UTF-16.
        """
        is_wide = self._encoding == "utf-16"
        return self.text().encode() if is_wide else (self.content or b"").removeprefix(BOM_UTF8)

    def json(self) -> Any:
        """Return the decoded JSON of the file; that of JSON lines is a `Lines`.

        Raises:
            DataError: The file is not valid JSON, or nested too deeply.
        """
        document, fault = self._decoded
        if fault is not None:
            raise fault
        return decode_json(self.utf8(), self.name) if document is None else document


def check_keys(file: InputFile, count: int) -> None:
    """Refuse a table with too many columns.

    Raises:
        DataError: There are more than allowed.
    """
    if count > file.options.max_keys:
        raise DataError(
            f"{file.name}: {count:,} columns; at most {file.options.max_keys:,} are allowed: "
            "write a row for each value, with its test and measurement, or allow more with "
            "`max-columns` in [input] of barograph.toml"
        )


@dataclass(frozen=True)
class Format:
    """A file format: how to recognise and to read it.

    Args:
        name: What people type after `--kind`, such as "pytest-benchmark".
        title: One line for `barograph formats`: the tool, and how to make it write the file.
        kind: `history` if a file holds results of many commits, `run` if of one run.
        matches: Whether a file is of this format. Must be quick and never raise.
        read: Yields the results, verdicts and skipped values of a file. Raises `FieldError` or
            `DataError` for a value that makes the file unusable; the caller adds the name of the
            file to a `FieldError`. `Skip` is for a single result that is missing or failed.
    """

    name: str
    title: str
    kind: Literal["history", "run"]
    matches: Callable[[InputFile], bool]
    read: Callable[[InputFile], Items]
