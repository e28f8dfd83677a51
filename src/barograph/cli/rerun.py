"""`gate --rerun`: measure the suspects again, and append the results to the history file."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.config import current_config
from barograph.results.wording import plural
from barograph.runtime.errors import ConfigError, DataError

if TYPE_CHECKING:
    from barograph.cli.inputs import Inputs
    from barograph.sources.formats.read import FilesRead

# Runs are sorted by name, and the first one counts as the first run: no other name comes after.
RUN = "~rerun-{}"
NUMBER = re.compile(r"~rerun-(\d+)")
SHOWN = 3  # names in an error
STDERR = 2  # of this process: its standard output is the answer


def measure(command: str, tests: Sequence[str], folder: Path) -> Path:
    """Measure tests again; return the file with the results, in any format that can be read.

    Args:
        command: A command for the shell. `{suspects}` stands for the names of the tests, quoted and
            separated by spaces; `{suspects_file}` for a file with a name on each line; `{out}` for
            the file that the command writes its results to.
        tests: The names of the tests.
        folder: An empty folder for files.

    Raises:
        DataError: The command failed, or wrote no file.
    """
    out, names = folder / "results", folder / "suspects"
    names.write_text("".join(f"{name}\n" for name in tests), encoding="utf-8")
    placed = {"suspects": shlex.join(tests)}
    placed |= {"suspects_file": shlex.quote(str(names)), "out": shlex.quote(str(out))}
    # In one pass, so that nothing in a name is taken for a placeholder.
    line = re.sub("{(suspects_file|suspects|out)}", lambda match: placed[match[1]], command)
    process = subprocess.run(line, shell=True, check=False, stdout=STDERR)  # noqa: S602 - the user's
    if process.returncode:
        raise DataError(f"--rerun: the command ended with exit status {process.returncode}")
    if not out.exists():
        raise DataError("--rerun: the command wrote no results to {out}")
    return out


def settle(
    inputs: Inputs, command: str, limit: int, judge: Callable[[FilesRead], JobAnswer]
) -> JobAnswer:
    """Judge a history, and measure again what reruns would settle, up to the limit.

    Args:
        inputs: The history file, to which the results are appended.
        command: Measures; see `measure`.
        limit: The largest number of reruns of the commit, with those that the history has.
        judge: Returns the answer on what was read from the file.

    Raises:
        ConfigError: The command does not say where it writes the results, or they could not be
            appended.
        DataError: The command failed, or measured something else.
    """
    if "{out}" not in command:
        raise ConfigError(f"--rerun {command!r:.60}: needs {{out}}, the file to write")
    if len(inputs.locations) != 1 or not Path(inputs.locations[0]).is_file():
        raise ConfigError(f"--rerun appends to a file; {inputs.name} is none")
    number = 0
    while True:
        files = inputs.load()
        job = judge(files)
        suspects = [entry for entry in job.answers if entry.reruns and not entry.suppressed]
        if not suspects:
            return job
        commit, done = _commit_to_measure(inputs, suspects)
        number = max(number, done) + 1
        if number > limit:
            click.echo(f"{commit} has {plural(number - 1, 'rerun')}, the maximum", err=True)
            return job
        names = {str(entry.id): entry.id.test or str(entry.id) for entry in files.history}
        tests = [*dict.fromkeys(names[entry.series] for entry in suspects)]
        click.echo(f"rerun {number} of at most {limit}: {shlex.join(tests)}", err=True)
        with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
            out = measure(command, tests, Path(folder))
            _append(inputs, out, [entry.series for entry in suspects], commit, RUN.format(number))


def _commit_to_measure(inputs: Inputs, suspects: Sequence[SeriesAnswer]) -> tuple[str, int]:
    """Return the commit of the suspects, and the highest number of a rerun that it has.

    Raises:
        ConfigError: The suspects have no commit, or several, or the history cannot be extended.
        DataError: The history is not a table that can be extended.
    """
    from barograph.sources.history_file import HistoryFile

    commit, *others = sorted({entry.commit for entry in suspects})
    if others or not commit:
        named = ", ".join([*filter(None, [commit, *others])][:SHOWN]) or "none"
        raise ConfigError(f"--rerun needs one commit with a name; the suspects have {named}")
    path = Path(inputs.locations[0])
    history = HistoryFile.read(path, inputs.options)
    if not os.access(path.resolve().parent, os.W_OK):
        raise ConfigError(f"--rerun appends to {path}; its folder is not writable")
    runs = zip(history.texts("commit"), history.texts("run"), strict=True)
    reruns = [NUMBER.match(run) for name, run in runs if name == commit]
    return commit, max((int(match[1]) for match in reruns if match), default=0)


def _append(inputs: Inputs, out: Path, suspects: Sequence[str], commit: str, run: str) -> None:
    """Append results as a further run of the commit of the suspects."""
    from barograph.sources.append import append
    from barograph.sources.formats.base import ReadOptions
    from barograph.sources.formats.context import cpu_of_job
    from barograph.sources.formats.read import read_files

    base = inputs.options  # its other options are about the columns of the history
    kept = {key: getattr(base, key) for key in ("project", "machine", "branch", "base_branch")}
    options = ReadOptions(commit=commit, **kept)
    measured = read_files([out], options).history
    names = {str(entry.id) for entry in measured}
    others = {name for entry in measured for name in entry.commits} - {commit, ""}
    if others:
        raise DataError(f"--rerun: the command measured commit {min(others)}, not {commit}")
    if names.isdisjoint(suspects):
        named, missed = (", ".join(every[:SHOWN]) for every in (sorted(names), suspects))
        raise DataError(f"--rerun: the command measured {named}, but not {missed}")
    is_off = current_config().commands.get("append", {}).get("cpu") == "off"
    append(inputs.locations[0], [out], options, run, cpu=None if is_off else cpu_of_job())
