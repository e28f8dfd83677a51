"""Data sets of the Turing Change Point Dataset (TCPD), with the marks of annotators.

A data set is a JSON file; `annotations.json` lies beside it or in a folder above, or the key
`annotations` is in it. A change is real where more than half of the annotators mark it.
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import Any

from barograph.results.fields import FieldError
from barograph.results.marks import majority_changes
from barograph.results.series import UNKNOWN_TIME, SeriesId, Verdict
from barograph.sources.formats.base import Format, InputFile, Items, Judgement, Result
from barograph.sources.formats.content import inner_file, inner_files
from barograph.sources.formats.dates import time_ms, time_of_form
from barograph.sources.formats.nodes import Node, also_in_folder, has_places

ANNOTATIONS = "annotations.json"
ABOVE = 3  # folders above a data set where annotations may lie
LARGEST = 2**53  # an index


matches = also_in_folder(has_places({"/n_obs", "/n_dim"}))


def read(file: InputFile) -> Items:
    """Yield the observations of all data sets, and the changes that most annotators mark."""
    if not file.folder:
        yield from _dataset(file, file.path, Node(file.json()))
        return
    for inner in inner_files(file):
        data, name = inner.json(), inner.name.removeprefix(f"{file.name}/")
        if isinstance(data, dict) and "n_obs" in data:
            yield from _dataset(file, inner.path, Node(data, f"{name}: "))


def _dataset(file: InputFile, path: Path | None, data: Node) -> Items:
    """Yield the observations of one data set, and its changes.

    Args:
        file: The file or folder that is read.
        path: The file of the data set, beside or below its annotations.
        data: The data set.
    """
    name, times = data["name"].text(), _times(data.get("time", {}))
    dimensions, inside = list(data["series"].entries()), data["annotations"]
    marks = _marks(file, path, inside, name)
    if marks and len(dimensions) > 1:
        yield Node(None, inside.where).skip(file, "marks of several dimensions together")
        marks = []
    for dimension in dimensions:
        series = SeriesId("", "", "", name, dimension["label"].optional_text())
        places = []  # of the results among all observations
        for place, value in enumerate(dimension["raw"].entries()):
            if value.value is None:
                yield value.skip(file, "value is missing")
                continue
            places.append(place)
            time = times[place] if place < len(times) else UNKNOWN_TIME
            yield Result(series, value.number(), order=place, time=time)
        for mark in marks:
            position = bisect_left(places, mark)
            if 0 < position < len(places):
                yield Judgement(series, Verdict.TRUE_POSITIVE, f"{inside.where}: {mark}", position)


def _times(about: Node) -> list[int]:
    """Return the times of the observations, unknown if they are mere numbers of a period."""
    form, times = about["format"].optional_text(), []
    for value in about.get("raw", []).array():
        try:
            times.append(time_ms(value, "time") if isinstance(value, str) else UNKNOWN_TIME)
        except FieldError:
            times.append(time_of_form(value, form))
    return times


def _marks(file: InputFile, path: Path | None, inside: Node, name: str) -> list[int]:
    """Return the indices that a majority of the annotators mark."""
    people = inside
    if inside.value is None and path is not None:
        people = Node(_above(file, path.absolute().parent).get(name), f"{ANNOTATIONS}.{name}")
    elif inside.value is not None and isinstance(inside.mapping().get(name), dict):
        people = inside[name]
    if people.value is None:
        return []
    return majority_changes([_indices(marks) for _person, marks in people.items()])


def _above(file: InputFile, folder: Path) -> dict[str, Any]:
    """Return the annotations in a folder or in one of the next above it."""
    for place in [folder, *folder.parents][:ABOVE]:
        path, shown = place / ANNOTATIONS, f"{file.name}: {ANNOTATIONS}"
        if path.is_file():
            return Node(inner_file(file, path, shown).json(), ANNOTATIONS).mapping()
    return {}


def _indices(marks: Node) -> list[int]:
    """Return the marks of one annotator."""
    for mark in marks.entries():
        if type(mark.value) is not int or not 0 <= mark.value < LARGEST:
            raise FieldError(mark.where, mark.value, "is not an index")
    return marks.array()


TITLE = "Turing Change Point Dataset (TCPD): a JSON data set or a folder, with annotations.json"
FORMAT = Format("tcpd", TITLE, "history", matches, read)
