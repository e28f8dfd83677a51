"""The files that a command reads, and the parameters that say how.

`input_options` gives a command `FILE...`, the options and the keys of `[input]` as one parameter:

    @input_options()
    def command(inputs: Inputs) -> None:
        history = inputs.read()
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.config import INPUT, current_config
from barograph.cli.options import grouped, parameters_of, setting, with_parameters
from barograph.results.wording import plural
from barograph.runtime.errors import ConfigError, DataError, NotEnoughDataError
from barograph.sources.formats.base import ReadOptions

if TYPE_CHECKING:
    from barograph.results.history import History
    from barograph.sources.formats.read import FilesRead

DATABASES = ("mongodump", "mongodb", "zenodo")  # kinds that are no files
AUTO = "auto"
MEBIBYTE = 1 << 20
PLURAL = re.compile(r"s\b")
# The fields of ReadOptions that are keys of the same name.
KEYS = ("value_columns", "order_by", "delimiter", "base_branch", "machine")


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
        for note in (*_notes_of(files), *config.unmatched(files.history.ids)):
            click.echo(note, err=True)
        if needs_history and files.files and files.is_run:
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

    def _from_database(self, direction_of: Callable[[str], int] | None) -> FilesRead:
        import numpy as np

        from barograph.sources import open_source, read_source
        from barograph.sources.formats.read import FilesRead, directed

        if len(self.locations) != 1:
            raise ConfigError(f"--kind {self.kind}: expected one location, got {self.name}")
        if self.options != ReadOptions():
            raise ConfigError(f"--kind {self.kind}: the options for files do not apply")
        history, report = read_source(open_source(self.kind, self.locations[0]))
        history, none = directed(history, direction_of), np.zeros(len(history), np.int64)
        return FilesRead(history, "", none, (), (), report)


def _notes_of(files: FilesRead) -> Iterator[str]:
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
            read = f"{report.skipped[kind].total():,} of {report.read[kind]:,} {kind}"
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
    names = ("files", *(str(parameter.name) for parameter in READING))
    return grouped("inputs", inputs_of, files, *PARAMETERS, names=names)


def inputs_of(
    files: tuple[str, ...], kind: str, delimiter: str, max_size: int, **options: Any
) -> Inputs:
    """Return the files and the reading options of a command, given their parameters.

    Raises:
        ConfigError: The delimiter is not a character.
    """
    form = "" if kind in (AUTO, *DATABASES) else kind
    character = "\t" if delimiter in ("tab", "\\t") else delimiter
    chosen = ReadOptions(kind=form, delimiter=character, max_bytes=max_size * MEBIBYTE, **options)
    return Inputs(files, kind, chosen)


def _check_kind(_context: click.Context, _option: click.Parameter, kind: str) -> str:
    if kind not in (AUTO, *DATABASES):
        from barograph.sources.formats.registry import named

        named(kind)
    return kind


def _pairs(_context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> Any:
    from barograph.sources.formats.roles import FIELDS

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
    *parameters_of(ReadOptions, "project", "branch", "commit"),
    *parameters_of(ReadOptions, *KEYS, table=INPUT),
    setting(
        "dates",
        default="",
        type=click.Choice(["day-first", "month-first", "iso", ""]),
        help="Order of day and month in the dates of tables: `day-first`, `month-first`, or `iso` "
        "to read no other dates.",
        table=INPUT,
    ),
    setting(
        "aggregate",
        default="median",
        type=click.Choice(["median", "mean"]),
        help="How the runs of a commit become one value: `median` or `mean`.",
        table=INPUT,
    ),
    setting(
        "metric",
        "metrics",
        multiple=True,
        help="Patterns of the measurements to read, such as `p9*`; empty for all.",
        table=INPUT,
    ),
    *(
        setting(key, name, type=click.IntRange(min=1), default=most, help=help_, table=INPUT)
        for key, name, most, help_ in (
            ("max-size", "max_size", 256, "The maximum size of a file, decompressed, in MiB."),
            ("max-columns", "max_keys", 10_000, "The maximum number of columns of a table."),
        )
    ),
]
# The parameters that say how files are read, as click has them.
READING = click.command("files")(with_parameters(PARAMETERS)(lambda **_values: None)).params
