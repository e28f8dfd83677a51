"""The reporting rule of a model."""

from dataclasses import replace

import numpy as np
import pytest

from barograph.detection.scoring import least_reported, rule_entry, select
from barograph.models import TriageModel
from barograph.runtime.errors import ArtifactError

MODEL = TriageModel.default("label_free")


def chosen(
    index: list[int], probability: list[float], levels: list[float], noise: float = 0.0
) -> list[int]:
    values = np.repeat(levels, np.diff([0, *index, 100]))
    values += noise * np.random.default_rng(1).normal(size=values.size)
    return select(0.4, np.array(index), np.array(probability), values)


def test_candidates_from_the_probability_on_are_reported() -> None:
    assert chosen([10, 50, 90], [0.4, 0.39, 0.9], [1.0, 2.0, 1.0, 2.0]) == [0, 2]


def test_more_probable_of_two_places_for_one_change_is_reported() -> None:
    assert chosen([10, 15], [0.6, 0.9], [1.0, 2.0, 3.0], noise=0.5) == [1]
    assert chosen([10, 16], [0.6, 0.9], [1.0, 2.0, 3.0], noise=0.5) == [0, 1]
    assert chosen([10, 15], [0.6, 0.9], [1.0, 2.0, 3.0], noise=0.05) == [0, 1]


def test_both_ends_of_a_pulse_are_reported() -> None:
    assert chosen([10, 13], [0.6, 0.9], [1.0, 9.0, 1.0]) == [0, 1]


def test_rule_is_kept_in_the_card_and_part_of_the_version() -> None:
    model = replace(MODEL, card={**MODEL.card, **rule_entry(0.3, "verdicts")})
    assert least_reported(model) == 0.3
    assert model.version != MODEL.version


def test_model_without_a_rule_reports_from_its_threshold() -> None:
    card = {name: value for name, value in MODEL.card.items() if name != "reporting"}
    assert least_reported(replace(MODEL, card=card)) == MODEL.threshold


@pytest.mark.parametrize("entry", [3, {}, {"min_probability": "x"}, {"min_probability": 7}])
def test_unreadable_rule_is_an_error(entry: object) -> None:
    with pytest.raises(ArtifactError, match=r"'reporting' is .* min_probability, 0 to 1"):
        least_reported(replace(MODEL, card={"reporting": entry}))
