"""From what the user typed to files: patterns, folders, URLs, the standard input."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, ReadOptions
from barograph.sources.formats.content import content_of, is_url
from barograph.sources.formats.registry import named, recognise, recognised

STDIN = "-"
# Files of a folder that hold no results: hidden ones, and those for people.
ASIDE = re.compile(
    r"\..*|.*\.(md|rst)|(readme|license|licence|copying|notice|changelog)(\.txt)?",
    re.IGNORECASE | re.DOTALL,
)
NUMBER = re.compile(r"(\d+)", re.ASCII)


def opened(
    locations: Sequence[str | Path], options: ReadOptions
) -> Iterator[tuple[InputFile, Format]]:
    """Open and recognise one file after the other.

    Args:
        locations: Paths, patterns such as `runs/*.json`, folders, URLs, or `-` for the standard
            input. A folder that is no format of its own stands for the files in it.
        options: The format and the limits.

    Raises:
        DataError: A file is missing, too large or of no known format.
    """
    for location in _by_number([str(location) for location in locations]):
        if is_url(location):
            from barograph.sources.formats.urls import download, shown_url, with_json_format

            content = download(with_json_format(location))
            yield _recognised(InputFile(shown_url(location), None, content, options))
            continue
        for path in _paths(location):
            if path is None:
                yield _file(None, options)
            elif path.is_dir():
                yield from _folder(path, options)
            else:
                yield _file(path, options)


def differ_in_numbers(names: Sequence[str]) -> bool:
    """Return whether several names differ only in their numbers; such files are sorted by them.

    Example:
        >>> differ_in_numbers(["run-2.json", "run-10.json"])
        True
    """
    return len(names) > 1 and len({NUMBER.sub("", name) for name in names}) == 1


def _by_number(names: list[str]) -> list[str]:
    """Sort names that differ only in their numbers, as a shell lists run-10 before run-2."""
    return sorted(names, key=_numbers) if differ_in_numbers(names) else names


def _numbers(name: str) -> list[Any]:
    """Return the texts of a name and the numbers between them, which sort it by value."""
    return [int(part) if k % 2 else part for k, part in enumerate(NUMBER.split(name))]


def _paths(location: str) -> list[Path | None]:
    if location == STDIN:
        return [None]
    path = Path(location)
    if path.exists() or not glob.has_magic(location):
        return [path]
    names = sorted(glob.glob(location, recursive=True), key=_numbers)  # noqa: PTH207
    paths = [Path(name) for name in names]
    if not paths:
        raise DataError(f"{location}: no file matches this pattern")
    return [*paths]


def _folder(path: Path, options: ReadOptions) -> Iterator[tuple[InputFile, Format]]:
    """Yield a folder of a known format as such, or else the files in it."""
    folder = InputFile(str(path), path, None, options)
    form = named(options.kind) if options.kind else recognised(folder)
    if form is not None and form.matches(folder):
        yield folder, form
        return
    files = [file for file in path.iterdir() if file.is_file() and not ASIDE.fullmatch(file.name)]
    files.sort(key=lambda file: _numbers(file.name))
    if not files:
        raise DataError(f"{path}: the folder holds no result files")
    for file in files:
        yield _file(file, options)


def _file(path: Path | None, options: ReadOptions) -> tuple[InputFile, Format]:
    name = STDIN if path is None else str(path)
    return _recognised(InputFile(name, path, content_of(path, name, options), options))


def _recognised(file: InputFile) -> tuple[InputFile, Format]:
    kind = file.options.kind
    return file, named(kind) if kind else recognise(file)
