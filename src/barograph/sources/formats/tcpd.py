"""Data sets of the Turing Change Point Dataset (TCPD), with the marks of annotators.

A data set is a JSON file; `annotations.json` lies beside it or in a folder above, or the key
`annotations` is in it. A change is real where more than half of the annotators mark it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from barograph.results.fields import FieldError
from barograph.results.marks import majority_changes
from barograph.results.series import UNKNOWN_TIME, SeriesId, Verdict
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.content import inner_file, inner_files
from barograph.sources.formats.dates import time_ms, time_of_form
from barograph.sources.formats.nodes import Node, also_in_folder, has_places
from barograph.sources.report import Skip

ANNOTATIONS = "annotations.json"
ABOVE = 3  # folders above a data set where annotations may lie
Annotations = dict[Path, object]


matches = also_in_folder(has_places({"/n_obs", "/n_dim"}))


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the observations of all data sets, and the changes that most annotators mark."""
    annotated: Annotations = {}
    if not file.folder:
        yield from _dataset(file, file.path, Node(file.json()), annotated)
        return
    for inner in inner_files(file):
        data, name = inner.json(), inner.name.removeprefix(f"{file.name}/")
        if isinstance(data, dict) and "n_obs" in data:
            yield from _dataset(file, inner.path, Node(data, f"{name}: "), annotated)


def _dataset(
    file: InputFile, path: Path | None, data: Node, annotated: Annotations
) -> Iterator[Result | Judgement | Skip]:
    """Yield the observations of one data set, and its changes.

    Args:
        file: The file or folder that is read.
        path: The file of the data set, beside or below its annotations.
        data: The data set.
        annotated: The annotations that were read, by their folder; filled here.
    """
    name, times = data["name"].text(), _times(data.get("time", {}))
    dimensions = list(data["series"].entries())
    marks = _marks(file, data, path, name, annotated)
    if marks and len(dimensions) > 1:
        reason = "marks of several dimensions together"
        yield Node(None, data, "annotations").skip(file, reason)
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
                here = f"{Node(None, data, 'annotations').where}: {mark}"
                yield Judgement(series, Verdict.TRUE_POSITIVE, here, position)


def _times(about: Node) -> list[int]:
    """Return the times of the observations, where the file says them as dates."""
    form = about["format"].optional_text()
    return [_time(value, form) for value in about.get("raw", []).array()]


def _time(value: object, form: str) -> int:
    """Return the time of an observation; unknown if it is a mere number of a period."""
    if not isinstance(value, str):
        return UNKNOWN_TIME
    try:
        return time_ms(value, "time")
    except FieldError:
        return time_of_form(value, form)


def _marks(
    file: InputFile, data: Node, path: Path | None, name: str, annotated: Annotations
) -> list[int]:
    """Return the indices that a majority of the annotators mark."""
    people = data["annotations"]
    is_inside = people.value is not None or path is None
    if not is_inside and path is not None:
        people = Node(_above(file, path.absolute().parent, annotated), ANNOTATIONS)
    if people.value is None:
        return []
    if isinstance(people.mapping().get(name), dict):  # of all data sets, by name
        people = Node(people.value[name], people.where)
    elif not is_inside:
        return []
    return majority_changes([_indices(marks) for _person, marks in people.items()])


def _above(file: InputFile, folder: Path, annotated: Annotations) -> object:
    """Return the annotations in a folder or in one of the next above it."""
    for place in [folder, *folder.parents][:ABOVE]:
        path = place / ANNOTATIONS
        if place not in annotated:
            shown = f"{file.name}: {ANNOTATIONS}"
            annotated[place] = inner_file(file, path, shown).json() if path.is_file() else None
        if annotated[place] is not None:
            return annotated[place]
    return None


def _indices(marks: Node) -> list[int]:
    """Return the marks of one annotator."""
    for mark in marks.entries():
        if type(mark.value) is not int or not 0 <= mark.value < 2**53:
            raise FieldError(mark.where, mark.value, "is not an index")
    return marks.array()


TITLE = "Turing Change Point Dataset (TCPD): a JSON data set or a folder, with annotations.json"
FORMAT = Format("tcpd", TITLE, "history", matches, read)
