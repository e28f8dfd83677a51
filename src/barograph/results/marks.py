"""The marks of several people on one series, and the changes that they agree on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

MARGIN = 5  # points by which marks of one change may differ
MAJORITY = 0.5  # a majority is a larger share of the people than this
Marks = Sequence[Iterable[int]]  # one entry per person; empty where a person marked nothing


def mark_clusters(marks: Marks) -> list[tuple[int, float]]:
    """Return the median of each cluster of marks and the share of the people who are in it.

    A cluster ends where the next mark is more than `MARGIN` points after the last one.
    """
    everyone = sorted((int(mark), person) for person, places in enumerate(marks) for mark in places)
    clusters: list[list[tuple[int, int]]] = []
    for mark, person in everyone:
        if clusters and mark - clusters[-1][-1][0] <= MARGIN:
            clusters[-1].append((mark, person))
        else:
            clusters.append([(mark, person)])
    return [
        (
            int(np.median([mark for mark, _ in cluster])),
            len({person for _, person in cluster}) / len(marks),
        )
        for cluster in clusters
    ]


def majority_changes(marks: Marks) -> list[int]:
    """Return the medians of the clusters of marks that more than half of the people share.

    Args:
        marks: The marks of each person; empty where a person says that nothing changed.

    Example:
        >>> majority_changes([[50, 97], [51], [52, 130], []])
        [51]
    """
    return [median for median, share in mark_clusters(marks) if share > MAJORITY]
