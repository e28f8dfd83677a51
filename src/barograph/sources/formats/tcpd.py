"""Data sets of the Turing Change Point Dataset (TCPD), with the marks of annotators.

A data set is a JSON file; `annotations.json` lies beside it or in a folder above, or the key
`annotations` is in it. A change is real where more than half of the annotators mark it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from barograph.series import UNKNOWN_TIME, SeriesId, Verdict
from barograph.sources.base import Skip
from barograph.sources.fields import EPOCH, MILLISECOND, FieldError
from barograph.sources.formats.base import (
    Format,
    InputFile,
    Judgement,
    ResultBatch,
    Sample,
    decode_json,
)
from barograph.sources.formats.batches import batch_of_series, finite_numbers
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.nodes import array, at, mapping, optional_text, skipped, text
from barograph.sources.formats.numbers import number
from barograph.sources.formats.outline import json_files, json_samples, outline

ANNOTATIONS = "annotations.json"
ABOVE = 3  # folders above a data set where annotations may lie
Annotations = dict[Path, object]
MARGIN = 5  # points by which marks of one change may differ, as in the papers on the data set


def matches(sample: Sample) -> bool:
    """Whether a file, or one of the first files of a folder, is a data set."""
    if sample.path is not None and sample.is_folder:
        return any(matches(inner) for inner in json_samples(sample.path))
    return {"/n_obs", "/n_dim"} <= outline(sample)


def read(file: InputFile) -> Iterator[ResultBatch | Judgement | Skip]:
    """Yield the observations of all data sets, and the changes that most annotators mark."""
    annotated: Annotations = {}
    if file.content is not None:
        yield from _dataset(file, file.path, file.json(), "", annotated)
        return
    assert file.path is not None  # noqa: S101 - a folder has a path
    for path in json_files(file.path):
        if path.name == ANNOTATIONS:
            continue
        name = path.relative_to(file.path).as_posix()
        data = InputFile.inside(path, f"{file.name}/{name}").json()
        if isinstance(data, dict) and "n_obs" in data:
            yield from _dataset(file, path, data, f"{name}: ", annotated)


def _dataset(
    file: InputFile, path: Path | None, data: object, prefix: str, annotated: Annotations
) -> Iterator[ResultBatch | Judgement | Skip]:
    """Yield the observations of one data set, and its changes.

    Args:
        file: The file or folder that is read.
        path: The file of the data set, beside or below its annotations.
        data: The decoded file.
        prefix: What precedes a place in messages.
        annotated: The annotations that were read, by their folder; filled here.
    """
    top = mapping(data, f"{prefix}data set")
    name = text(top.get("name"), f"{prefix}name")
    times = _times(top.get("time"), f"{prefix}time")
    dimensions = array(top.get("series"), f"{prefix}series")
    marks = _marks(file, top, path, name, prefix, annotated)
    if marks and len(dimensions) > 1:
        yield skipped(file, f"{prefix}annotations", None, "marks of several dimensions together")
        marks = []
    for number_of, item in enumerate(dimensions):
        where = f"{prefix}series[{number_of}]"
        dimension = mapping(item, where)
        label = optional_text(dimension.get("label"), f"{where}.label")
        series = SeriesId("", "", "", name, label)
        raw = array(dimension.get("raw"), f"{where}.raw")
        values = finite_numbers(raw)
        places = np.arange(len(raw))  # of the results among all observations
        if values is None:
            missing = [index for index, value in enumerate(raw) if value is None]
            places = np.delete(places, missing)
            checked = [number(raw[i], f"{where}.raw[{i}]") for i in places.tolist()]
            values = np.array(checked, dtype=np.float64)
            for index in missing:
                yield skipped(file, f"{where}.raw[{index}]", None, "value is missing")
        known = np.full(max(len(raw), len(times)), UNKNOWN_TIME)
        known[: len(times)] = times
        yield batch_of_series(series, values, known[places], 0, orders=places)
        for mark in marks:
            position = int(np.searchsorted(places, mark))
            if 0 < position < places.size:
                here = f"{prefix}annotations: {mark}"
                yield Judgement(series, Verdict.TRUE_POSITIVE, here, position)


def _times(value: object, where: str) -> list[int]:
    """Return the times of the observations, where the file says them as dates."""
    about = mapping({} if value is None else value, where)
    form = optional_text(about.get("format"), f"{where}.format")
    raw = array(about.get("raw") or [], f"{where}.raw")
    return [_time(item, form) for item in raw]


def _time(value: object, form: str) -> int:
    """Return the time of an observation; unknown if it is a mere number of a period."""
    if not isinstance(value, str):
        return UNKNOWN_TIME
    try:
        return time_ms(value, "time")
    except FieldError:
        pass
    try:
        moment = datetime.strptime(value, form).replace(tzinfo=UTC)
    except ValueError:
        return UNKNOWN_TIME
    return (moment - EPOCH) // MILLISECOND


def _marks(
    file: InputFile,
    top: Mapping[str, Any],
    path: Path | None,
    name: str,
    prefix: str,
    annotated: Annotations,
) -> list[int]:
    """Return the indices that a majority of the annotators mark."""
    annotations, where = top.get("annotations"), f"{prefix}annotations"
    if annotations is None and path is not None:
        annotations, where = _above(path.absolute().parent, annotated, file.name), ANNOTATIONS
    people = mapping({} if annotations is None else annotations, where)
    if isinstance(people.get(name), dict):  # of all data sets, by name
        people = people[name]
    elif where == ANNOTATIONS:
        return []
    return agreed([_indices(marks, at(where, person)) for person, marks in people.items()])


def _above(folder: Path, annotated: Annotations, name: str) -> object:
    """Return the annotations in a folder or in one of the next above it; `name` is for errors."""
    annotations = None
    for place in [folder, *folder.parents][:ABOVE]:
        if place not in annotated:
            try:
                content = (place / ANNOTATIONS).read_bytes()
                annotated[place] = decode_json(content, f"{name}: {ANNOTATIONS}")
            except OSError:
                annotated[place] = None
        annotations = annotated[place]
        if annotations is not None:
            break
    return annotations


def _indices(marks: object, where: str) -> list[int]:
    """Return the marks of one annotator."""
    indices = []
    for index, mark in enumerate(array(marks, where)):
        if type(mark) is not int or not 0 <= mark < 2**53:
            raise FieldError(f"{where}[{index}]", mark, "is not an index")
        indices.append(mark)
    return indices


def agreed(annotators: list[list[int]], margin: int = MARGIN) -> list[int]:
    """Return the indices that more than half of the annotators mark, give or take a margin.

    Args:
        annotators: The marks of each annotator; an empty list says that nothing changed.
        margin: How far marks of the same change may be apart.

    Example:
        >>> agreed([[50, 97], [51], [52, 130], []])
        [51]
    """
    marks = sorted((mark, person) for person, all_ in enumerate(annotators) for mark in set(all_))
    result = []
    start = 0
    while start < len(marks):
        end = start
        while end < len(marks) and marks[end][0] <= marks[start][0] + margin:
            end += 1
        group = marks[start:end]
        if 2 * len({person for _mark, person in group}) > len(annotators):
            result.append(group[len(group) // 2][0])
            start = end
        else:  # on to the next index that is marked
            first = marks[start][0]
            while start < len(marks) and marks[start][0] == first:
                start += 1
    return result


TITLE = "Turing Change Point Dataset (TCPD): a JSON data set or a folder, with annotations.json"
FORMAT = Format("tcpd", TITLE, "history", matches, read)
