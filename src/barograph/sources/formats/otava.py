"""The tests that an `otava.yaml` (formerly `hunter.yaml`) configures.

    templates: {common: {metrics: {p99: {direction: -1, scale: 1.0e-6}}}}
    tests:
      local.read:
        type: csv
        inherit: [common]
        file: data.csv
        attributes: [commit]
        metrics: {p99: {column: read_p99}}

Tests of the types `csv`, `graphite` and `json` are read; others are named and left out. A file of a
stranger may be taken for one of these, so data files must lie below the folder of the configuration
or the current folder, messages show none of their content, and a server is contacted only if the
user names the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

from barograph.runtime.errors import DataError
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import Format, InputFile, Note, ResultBatch, Sample
from barograph.sources.formats.content import inner_file
from barograph.sources.formats.nodes import Node
from barograph.sources.report import Skip

TESTS = re.compile(rb"^tests\s*:", re.MULTILINE)
TEST_KEYS = re.compile(rb"\b(?:type|inherit)\s*:")
HIDDEN = "(not shown)"
OUTSIDE = "is not below the folder of the configuration or the current folder"
LEVELS = 8  # of nested mappings that templates are merged in
NAMES = ("otava.yaml", "otava.yml", "hunter.yaml")  # in a folder


def matches(sample: Sample) -> bool:
    """Whether a file is YAML with tests of Otava, or a folder has one under its usual name."""
    if sample.folder:
        return _in_folder(sample.folder) is not None
    return bool(TESTS.search(sample.head) and TEST_KEYS.search(sample.head))


def read(file: InputFile) -> Iterator[ResultBatch | Note | Skip]:
    """Yield the results of all tests that can be read."""
    from barograph.sources.formats.yaml_text import decode_yaml

    if file.content is None and file.path is not None:
        file = _opened(file, file.path)
    config = Node(decode_yaml(file.text(), file.name))
    readable = False
    for name, test in _tests(config):
        kind = test["type"].text()
        if kind == "graphite":
            from barograph.sources.formats import otava_graphite

            yield from otava_graphite.read(file, config, name, test)
        elif kind in ("csv", "json"):
            for path in _paths(file, test["file"]):
                yield from _file(file, config, path, name, test)
        else:
            yield test["type"].skip(file, "test type is not supported")
            continue
        readable = True
    if not readable:
        raise DataError(f"{file.name}: no test of the type csv, graphite or json")


def _in_folder(folder: Path) -> Path | None:
    """Return the configuration in a folder."""
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def _opened(file: InputFile, folder: Path) -> InputFile:
    """Return the configuration in a folder as a file."""
    path = _in_folder(folder)
    return InputFile(file.name, None, b"") if path is None else inner_file(file, path, file.name)


def _file(
    file: InputFile, config: Node, path: Path, name: str, test: Node
) -> Iterator[ResultBatch | Note | Skip]:
    """Yield the results of one data file of a test; skips and errors show no value of it."""
    data = inner_file(file, path, f"{file.name}: {path.name}")
    try:
        for item in _contents(data, config, name, test):
            yield replace(item, value=HIDDEN) if isinstance(item, Skip) else item
    except FieldError as fault:
        raise FieldError(fault.field, HIDDEN, fault.reason) from None


def _contents(
    data: InputFile, config: Node, name: str, test: Node
) -> Iterator[ResultBatch | Note | Skip]:
    if test["type"].value == "csv":
        from barograph.sources.formats import otava_csv

        yield from otava_csv.read(data, config, name, test)
        return
    from barograph.sources.formats import nyrkio

    for item in nyrkio.read(data):
        if isinstance(item, ResultBatch):
            yield item._replace(series=[replace(s, test=s.test or name) for s in item.series])
        else:
            yield item


def _tests(config: Node) -> Iterator[tuple[str, Node]]:
    """Yield each test with the templates that it inherits merged in."""
    templates = config.get("templates", {})
    for name, test in config.get("tests", {}).items():
        inherited = test.get("inherit", [])
        names = inherited.value if isinstance(inherited.value, list) else [inherited.value]
        merged: dict[str, Any] = {}
        for template in names:
            if not isinstance(template, str) or template not in templates:
                raise FieldError(inherited.where, template, "is not one of the templates")
            merged = _merged(merged, templates[template].mapping())
        yield name, Node(_merged(merged, test.mapping()), test.where)


def _merged(base: dict[str, Any], other: dict[str, Any], level: int = 0) -> dict[str, Any]:
    """Return two mappings merged: the second has priority, mappings in both are merged, too."""
    if level > LEVELS:
        raise FieldError("templates", other, "is nested too deeply")
    result = dict(base)
    for key, value in other.items():
        known = result.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            result[key] = _merged(known, value, level + 1)
        else:
            result[key] = value
    return result


def _paths(file: InputFile, stated: Node) -> list[Path]:
    """Return the data files of a test, relative to the configuration, else to this folder."""
    pattern = stated.text()
    if "\0" in pattern:
        raise FieldError(stated.where, pattern, "is not a path")
    folders = [Path()] if file.path is None else [file.path.parent, Path()]
    found = next(filter(None, (_files(folder, pattern) for folder in folders)), None)
    if found is None:
        raise FieldError(stated.where, pattern, "is not an existing file")
    roots = [folder.resolve() for folder in folders]
    if not all(any(path.resolve().is_relative_to(root) for root in roots) for path in found):
        raise FieldError(stated.where, pattern, OUTSIDE)
    return found


def _files(folder: Path, pattern: str) -> list[Path]:
    """Return the file that a path in a folder names, or those that match a pattern."""
    path = folder / Path(pattern).expanduser()
    if path.is_file():
        return [path]
    prefix = "" if Path(pattern).is_absolute() else f"{escape(str(folder))}/"
    names = sorted(glob(prefix + pattern)) if has_magic(pattern) else []  # noqa: PTH207
    return [Path(name) for name in names if Path(name).is_file()]


TITLE = "Otava: an otava.yaml (or hunter.yaml), whose csv, graphite and json tests are read"
FORMAT = Format("otava", TITLE, "history", matches, read)
