"""Select the set of candidates with the greatest expected agreement with people.

In `annotators.f1`, a point that a single person marked counts for precision, and a point that all
people marked counts fully for recall. It can therefore pay to report a candidate that the majority
would not mark, especially in series with few candidates. With q the probability that a person marks
a candidate and n the number of reported candidates,

    precision = (1 + sum of 1 - (1 - q)^crowd) / (1 + n)
    recall    = (1 + sum of q over the reported) / (1 + sum of q over all)

where the terms 1 are index 0, and `crowd` is the equivalent number of independent people. The best
set of size n consists of the n most probable candidates, so one pass finds the best n.
"""

import numpy as np

from barograph.series import Floats, Ints


def expected_f1(probability: Floats, crowd: float) -> Floats:
    """Return the expected F1 of reporting the 0, 1, 2, ... most probable candidates."""
    q = np.sort(probability)[::-1]
    reported = np.concatenate(([0.0], np.cumsum(q)))
    marked = np.concatenate(([0.0], np.cumsum(1.0 - (1.0 - q) ** crowd)))
    precision = (1.0 + marked) / (1.0 + np.arange(q.size + 1))
    recall = (1.0 + reported) / (1.0 + reported[-1])
    result: Floats = 2.0 * precision * recall / (precision + recall)
    return result


def best_set(probability: Floats, crowd: float, threshold: float = 0.0) -> Ints:
    """Return the positions of the candidates to report, none less probable than the threshold."""
    count = int(np.argmax(expected_f1(probability, crowd)))
    order = np.argsort(-probability, kind="stable")[:count]
    chosen: Ints = np.sort(order[probability[order] >= threshold])
    return chosen


def strongest_apart(index: Ints, probability: Floats, margin: int) -> Ints:
    """Return positions of candidates more than `margin` apart, preferring the more probable ones.

    Two candidates for one change share its marks, and only one of them can be matched.
    """
    kept: list[int] = []
    for place in np.argsort(-probability, kind="stable"):
        if all(abs(int(index[place]) - int(index[other])) > margin for other in kept):
            kept.append(int(place))
    return np.sort(np.asarray(kept, dtype=np.int64))
