"""How well found change points agree with several people's marks (van den Burg & Williams 2020).

The measures of the Turing Change Point Dataset: index 0 counts as a change point that everybody
marks and every detector finds, so that "nothing changed" is an answer that can be right.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from barograph.errors import ConfigError
from barograph.evaluation.matching import pairs

MARGIN = 5
Marks = Sequence[Iterable[int]]  # one entry per person; empty where a person marked nothing


def f1(found: Iterable[int], marks: Marks, margin: int = MARGIN) -> float:
    """Return the harmonic mean of precision and recall against several people.

    Precision is the share of the found that anybody marked, recall the mean over the people of
    the share of their marks that was found; a point and a mark at most `margin` apart agree, each
    counts once, and as many as possible are paired.
    """
    people = [_with_start(one) for one in _some(marks)]
    points = _with_start(found)
    everyone = set[int]().union(*people)
    precision = len(pairs(points, everyone, margin)) / len(points)
    recall = np.mean([len(pairs(points, one, margin)) / len(one) for one in people])
    return float(2 * precision * recall / (precision + recall))


def person_f1(marks: Marks, margin: int = MARGIN) -> float:
    """Return how well each person does against the others, on average: f1 of what one marked."""
    people = [list(one) for one in marks]
    if len(people) < 2:
        raise ConfigError(f"a person is judged by others: 2 or more are needed, got {len(people)}")
    judged = [f1(people[k], people[:k] + people[k + 1 :], margin) for k in range(len(people))]
    return float(np.mean(judged))


def covering(found: Iterable[int], marks: Marks, length: int) -> float:
    """Return the covering of the people's segments by the found ones, averaged over the people.

    Each segment of a person counts with its length, and is covered as far as the best found
    segment agrees with it (intersection over union).
    """
    edges = _edges(found, length)
    return float(np.mean([_cover(_edges(one, length), edges, length) for one in _some(marks)]))


def _cover(truth: list[int], found: list[int], length: int) -> float:
    """Cover one segmentation by another, both given by their edges."""
    total = 0.0
    for start, end in pairwise(truth):
        total += (end - start) * max(
            max(0, min(end, stop) - max(start, begin)) / (max(end, stop) - min(start, begin))
            for begin, stop in pairwise(found)
        )
    return total / length


def _edges(points: Iterable[int], length: int) -> list[int]:
    """Return where the segments begin, and the end of the series."""
    begins = sorted(_with_start(points))
    if begins[0] < 0 or begins[-1] >= length:
        raise ConfigError(f"change points {begins} lie outside a series of {length} points")
    return [*begins, length]


def _with_start(points: Iterable[int]) -> set[int]:
    return {0, *(int(point) for point in points)}


def _some(marks: Marks) -> Marks:
    if not len(marks):
        raise ConfigError("nobody looked at this series: at least one person is needed")
    return marks
