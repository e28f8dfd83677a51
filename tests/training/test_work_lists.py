"""The candidates whose verdicts would teach most."""

import numpy as np
import pandas as pd
import pytest

from barograph.learning.work_lists import most_informative
from barograph.results.series import Floats


def table(
    probability: list[float], looks: list[float], **more: list[int]
) -> tuple[pd.DataFrame, Floats]:
    number = np.arange(len(probability))
    columns = {name: more.get(name, number) for name in ("series", "commit")}
    candidates = pd.DataFrame({"candidate": number + 100, "probability": probability, **columns})
    return candidates, np.array(looks)[:, None]


def test_most_informative_are_uncertain_before_certain() -> None:
    assert most_informative(*table([0.99, 0.5, 0.01], [1.0, 2.0, 3.0]), count=1) == [101]


def test_most_informative_differ_from_each_other_and_from_decided_ones() -> None:
    looks = [0.0, 0.1, 0.2, 10.0, 11.0]
    assert most_informative(*table([0.5] * 5, looks), count=2) == [100, 104]
    decided = np.array([[0.0], [0.1]])
    assert most_informative(*table([0.5] * 5, looks), decided, count=1) == [104]


@pytest.mark.parametrize("name", ["series", "commit"])
def test_most_informative_take_one_of_a_series_and_of_a_commit(name: str) -> None:
    same = {name: [1, 1, 1, 2, 2]}
    result = most_informative(*table([0.5] * 5, [0.0, 1.0, 2.0, 3.0, 4.0], **same), count=5)
    assert result == [100, 104]


def test_most_informative_accept_unknown_features_and_an_empty_queue() -> None:
    unknown = table([0.4, 0.5], [float("nan"), float("nan")])
    assert sorted(most_informative(*unknown)) == [100, 101]
    assert most_informative(*table([], [])) == []
