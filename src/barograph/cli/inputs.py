"""The files that a command reads, and the parameters that say how.

`input_options` gives a command `FILE...`, the options and the keys of `[input]` as one parameter:

    @input_options()
    def command(inputs: Inputs) -> None:
        history = inputs.read()
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.config import INPUT, current_config
from barograph.cli.options import setting, with_options
from barograph.results.wording import plural
from barograph.runtime.errors import ConfigError, DataError, NotEnoughDataError

if TYPE_CHECKING:
    from barograph.results.history import History
    from barograph.sources.formats.base import ReadOptions
    from barograph.sources.formats.read import FilesRead

DATABASES = ("mongodump", "mongodb", "zenodo")  # kinds that are no files
AUTO = "auto"
FIELDS = (
    "order", "time", "commit", "branch", "value", "unit", "direction", "run",
    "project", "variant", "task", "test", "measurement", "args", "ignore",
)  # fmt: skip
MEBIBYTE = 1 << 20
PLURAL = re.compile(r"s\b")


@dataclass(frozen=True)
class Inputs:
    """The files of a command, and how to read them.

    Attributes:
        locations: Paths, patterns, folders, or `-` for the standard input; the name of a database
            for the kinds in `DATABASES`.
        kind: The kind or the format that the user named, or `auto`.
        options: How to read files.
    """

    locations: tuple[str, ...]
    kind: str
    options: ReadOptions

    @property
    def name(self) -> str:
        """The locations, for messages."""
        return ", ".join(self.locations)

    def read(self) -> History:
        """Read all files, and print the notes on stderr.

        The results of a branch that is judged come after those of the base branch; `load` returns
        how many they are.

        Raises:
            DataError: A file cannot be read.
            NotEnoughDataError: The files hold a single run.
        """
        return self.load().history

    def load(self, *, needs_history: bool = True) -> FilesRead:
        """Read all files as `read`, and return what else is known about them.

        In the result, `branch` is the judged branch (empty if there is none) and `of_branch` the
        number of its points at the end of each series.

        Args:
            needs_history: Refuse files that hold a single run.
        """
        from barograph.sources.formats.read import read_files

        config = current_config()
        known = config.direction_of if config.directions else None
        if self.kind in DATABASES:
            files = self._from_database(known)
        else:
            files = read_files(self.locations, self.options, direction_of=known)
            for note in notes_of(files):
                click.echo(note, err=True)
        for note in config.unmatched(files.history.ids):
            click.echo(note, err=True)
        if needs_history and self.kind not in DATABASES and files.is_run:
            raise NotEnoughDataError(
                f"{self.name}: a single run ({files.files[0].form}); append runs to a history with "
                f"`barograph append history.csv {self.locations[0]}`, and name the history"
            )
        return files

    def base_history(self) -> History:
        """Read all files for a store, which holds the history of the base branch only.

        Raises:
            DataError: A file cannot be read, or results are of another branch.
        """
        files = self.load(needs_history=False)
        if files.branch:
            results = plural(int(files.of_branch.sum()), "result")
            raise DataError(
                f"{self.name}: {results} of branch {files.branch}; "
                "a store holds the base branch only: judge them with `barograph gate`"
            )
        return files.history

    @contextmanager
    def tables(self) -> Iterator[str]:
        """Yield a folder with the three Parquet tables of the history.

        A folder that has them is used in place.
        """
        if self.is_tables:
            yield str(Path(self.locations[0]).resolve())
            return
        history = self.read()
        with tempfile.TemporaryDirectory(prefix="barograph-") as folder_name:
            history.write(folder_name)
            yield folder_name

    @property
    def is_tables(self) -> bool:
        """Whether the input is a folder with the three Parquet tables, to be used as it is."""
        from barograph.sources.formats.read import is_export

        return self.kind not in DATABASES and is_export(self.locations, self.options)

    def _from_database(self, direction_of: Callable[[str], int] | None) -> FilesRead:
        import numpy as np

        from barograph.sources import open_source, read_source
        from barograph.sources.formats.base import ReadOptions
        from barograph.sources.formats.read import FilesRead, directed

        if len(self.locations) != 1:
            raise ConfigError(f"--kind {self.kind}: expected one location, got {self.name}")
        if self.options != ReadOptions():
            raise ConfigError(f"--kind {self.kind}: the options for files do not apply")
        history, report = read_source(open_source(self.kind, self.locations[0]))
        history = directed(history, direction_of)
        if any(report.skipped_share(name) for name in ("series", "points", "candidates")):
            click.echo(str(report), err=True)
        return FilesRead(history, "", np.zeros(len(history), np.int64), (), (), report)


def notes_of(files: FilesRead) -> Iterator[str]:
    """Yield what people should know about files that were read, one line each."""
    yield from files.notes
    report = files.report
    # The first plural of each text is what was counted.
    counts = [
        f"{count:,} {PLURAL.sub('', text, count=1) if count == 1 else text}"
        for text, count in sorted(report.corrected.items())
        if count
    ]
    if counts:
        yield f"{report.source}: {'; '.join(counts)}"
    for kind in report.skipped:
        if report.skipped[kind]:
            total = sum(entry.count for entry in report.skipped[kind].values())
            read = f"{total:,} of {report.read[kind]:,} {kind}"
            yield f"{report.source}: skipped {read}: {report.first_skip(kind)}"


def input_options(
    metavar: str = "FILE...", *, required: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command its files, and how to read them, as `inputs`.

    Args:
        metavar: What the help calls the files.
        required: Whether there must be files.
    """
    files = click.argument("files", nargs=-1, required=required, metavar=metavar)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def command(*arguments: Any, **values: Any) -> Any:
            chosen = {str(parameter.name): values.pop(str(parameter.name)) for parameter in READING}
            return function(*arguments, inputs=inputs_of(values.pop("files"), **chosen), **values)

        return with_options(command, [files, *PARAMETERS])

    return add


def inputs_of(
    files: tuple[str, ...], kind: str, delimiter: str, max_size: int, max_line: int, **options: Any
) -> Inputs:
    """Return the files and the reading options of a command, given their parameters.

    Raises:
        ConfigError: The delimiter is not a character.
    """
    from barograph.sources.formats.base import ReadOptions

    form = "" if kind in (AUTO, *DATABASES) else kind
    character = "\t" if delimiter in ("tab", "\\t") else delimiter
    options |= {"max_bytes": max_size * MEBIBYTE, "max_line": max_line * MEBIBYTE}
    chosen = ReadOptions(kind=form, delimiter=character, **options)
    return Inputs(files, kind, chosen)


def _check_kind(_context: click.Context, _option: click.Parameter, kind: str) -> str:
    if kind not in (AUTO, *DATABASES):
        from barograph.sources.formats.registry import named

        named(kind)
    return kind


def _pairs(_context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> Any:
    pairs = {}
    for text in texts:
        column, sign, field = text.rpartition("=")
        if not sign or not column or not (field in FIELDS or re.fullmatch(r"args\..+", field)):
            allowed = ", ".join(FIELDS)
            raise click.BadParameter(
                f"{text!r}; expected COLUMN=FIELD with a field of {allowed} or args.NAME",
                param=option,
            )
        pairs[column] = field
    return pairs


def _names(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> Any:
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def _moment(_context: click.Context, option: click.Parameter, text: str) -> int:
    from barograph.results.fields import FieldError, time_of
    from barograph.results.series import UNKNOWN_TIME

    try:
        return time_of(text, "") if text else UNKNOWN_TIME
    except FieldError:
        raise click.BadParameter(f"{text!r}; expected ISO 8601", param=option) from None


input_key = functools.partial(setting, table=INPUT)
PARAMETERS: list[Callable[[Any], Any]] = [
    click.option(
        "--kind",
        default=AUTO,
        show_default=True,
        metavar="NAME",
        callback=_check_kind,
        help="Format of FILE, by default recognised by its content; `barograph formats` lists "
        "all. Or mongodump, mongodb (FILE is the name of a database) or zenodo (FILE is the "
        "folder to download to).",
    ),
    click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="COLUMN=FIELD",
        callback=_pairs,
        help="Read a column of a table as another field, such as name=test. Repeatable.",
    ),
    click.option("--project", default="", help="Project of results that name none."),
    click.option(
        "--branch",
        default="",
        metavar="NAME",
        help="Branch of results that name none; `gate` judges it after the history of the base "
        "branch. Defaults to that of the CI job.",
    ),
    click.option(
        "--commit",
        default="",
        metavar="SHA",
        help="Commit of results that name none. Defaults to that of the CI job, or of git.",
    ),
    input_key(
        "value-columns",
        multiple=True,
        callback=_names,
        help="Columns of a table that hold values.",
    ),
    input_key("order-by", default="", help="Column of a table that orders its rows."),
    input_key("delimiter", default="", help="Delimiter of a table; `tab` works."),
    input_key(
        "metric",
        "metrics",
        multiple=True,
        callback=_names,
        help="Patterns of the measurements to read, such as p9*.",
    ),
    input_key(
        "aggregate",
        type=click.Choice(["median", "mean"]),
        default="median",
        help="How to combine several runs of one commit: `median` or `mean`.",
    ),
    input_key(
        "base-branch",
        default="",
        help="Branch whose results are the history. Defaults to the target of the CI job, else "
        "main or master, else the most frequent one.",
    ),
    input_key(
        "time",
        default="",
        callback=_moment,
        help="Time of results that name none, in ISO 8601. Defaults to the time of the commit in "
        "git, or the current time.",
    ),
    input_key(
        "machine", default="", help="Variant (machine or platform) of results that name none."
    ),
    input_key(
        "dates",
        default="",
        type=click.Choice(["", "day-first", "month-first", "iso"]),
        help="Order of day and month in the dates of tables: `day-first`, `month-first`, or `iso` "
        "to read no other dates.",
    ),
    input_key(
        "max-size",
        type=click.IntRange(min=1),
        default=256,
        help="Maximum size of a file in MiB, decompressed.",
    ),
    input_key(
        "max-line",
        type=click.IntRange(min=1),
        default=16,
        help="Maximum length of a line of text in MiB.",
    ),
    input_key(
        "max-columns",
        "max_keys",
        type=click.IntRange(min=1),
        default=10_000,
        help="Maximum number of columns of a table, or of keys of its JSON objects.",
    ),
]
_COMMAND = click.Command("files")
for _parameter in PARAMETERS:
    _parameter(_COMMAND)
READING = _COMMAND.params  # the parameters that say how files are read
