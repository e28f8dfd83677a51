"""The outline of JSON: the keys near the top of a file that may be cut anywhere.

Recognition looks at the head of a file only, so the JSON of a large file is incomplete there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from barograph.sources.formats.base import HEAD, UTF_16, InputFile, Sample
from barograph.sources.formats.content import inner_file

DEPTH = 5  # levels of nesting whose keys are kept
TOKEN = re.compile(
    r'"((?:[^"\\]|\\.|\\\Z)*+)(?:"\s*(:)?|\Z)'  # the last string may be cut
    r"|([\[{])|([\]}])|([\d.eE+-]+|true|false|null)",
    re.DOTALL,
)


@lru_cache(8)  # every format asks for the outline of the same file
def outline(sample: Sample) -> frozenset[str]:
    """Return the places of the values in the head of a file that is JSON or JSON lines.

    A place is the keys from the top, joined by "/", with "*" for an element of an array:
    "/*/metrics" is the key `metrics` of an element of the outermost array. A "/" in a key is
    written "~1". The top itself is "{" or "[" by its type. A file that does not begin as a JSON
    object or array has no places.

    Args:
        sample: The file; a folder has no places.

    Example:
        >>> sorted(outline(Sample(None, b'[{"name": "sort", "stats": {"mean": 1')))
        ['/*', '/*/name', '/*/stats', '/*/stats/mean', '[']
    """
    text = head_text(sample).lstrip()
    return frozenset(_places(text)) if text[:1] in ("{", "[") else frozenset()


@lru_cache(4)  # every format of text asks for the same head
def head_text(sample: Sample) -> str:
    """Return the head as text; bytes that are not valid become replacement characters."""
    head = sample.head
    return head.decode("utf-16" if head[:2] in UTF_16 else "utf-8-sig", "replace")


def _places(text: str) -> Iterator[str]:
    """Yield the place of every value, walking the tokens with a stack of open containers."""
    yield text[0]
    parents: list[str] = []  # the place of each open container,
    kinds: list[str] = []  # and its bracket
    place = ""
    for token in TOKEN.finditer(text):
        string, colon, opening, closing, _scalar = token.groups()
        if closing:
            if kinds:
                parents.pop()
                kinds.pop()
            continue
        shallow = 0 < len(kinds) <= DEPTH
        if string is not None and colon and kinds and kinds[-1] == "{":
            place = f"{parents[-1]}/{string.replace('/', '~1')}" if shallow else ""
            if shallow:
                yield place
        elif kinds and kinds[-1] == "[":
            place = f"{parents[-1]}/*" if shallow else ""
            if shallow:
                yield place
        if opening:
            parents.append(place if kinds else "")
            kinds.append(opening)


def has_places(*alternatives: Iterable[str]) -> Callable[[Sample], bool]:
    """Return a function that recognises JSON by its outline, which must have all of some places."""
    return lambda sample: any(map(outline(sample).issuperset, alternatives))


def also_in_folder(matches: Callable[[Sample], bool]) -> Callable[[Sample], bool]:
    """Return a function that looks at a file, or at the first JSON files of a folder."""
    return lambda sample: any(
        map(matches, json_samples(sample.folder) if sample.folder else [sample])
    )


def json_samples(folder: Path, limit: int = 3) -> Iterator[Sample]:
    """Yield the heads of the first JSON files in a folder, by name.

    Args:
        folder: The folder; files in folders inside it count after its own.
        limit: How many files to look at.
    """
    for _count, path in zip(range(limit), json_files(folder), strict=False):
        try:
            with path.open("rb") as file:
                yield Sample(path, file.read(HEAD))
        except OSError:
            continue


def json_contents(file: InputFile) -> Iterator[tuple[str, InputFile]]:
    """Yield the JSON files in a folder, each with its path from there.

    Raises:
        DataError: A file cannot be read, or is too large.
    """
    folder = file.path or Path()
    for path in json_files(folder):
        name = path.relative_to(folder).as_posix()
        yield name, inner_file(file, path, f"{file.name}/{name}")


def json_files(folder: Path, depth: int = 6) -> Iterator[Path]:
    """Yield the JSON files in a folder: its own by name, then those in folders inside it.

    Args:
        folder: The folder.
        depth: How many levels of folders to enter. Links to folders are not followed.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.suffix == ".json" and entry.is_file():
            yield entry
    for entry in entries if depth else ():
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            yield from json_files(entry, depth - 1)
