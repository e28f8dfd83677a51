"""The reporting rule of a model."""

from dataclasses import replace

import numpy as np
import pytest

from barograph.detection.scoring import ReportingRule
from barograph.models import TriageModel
from barograph.runtime.errors import ArtifactError, ConfigError

MODEL = TriageModel.default("label_free")


def chosen(
    index: list[int], probability: list[float], levels: list[float], least: float = 0.4
) -> list[int]:
    rule = ReportingRule(least)
    positions: list[int] = rule.select(
        np.array(index), np.array(probability), np.array(levels)
    ).tolist()
    return positions


def test_candidates_from_the_probability_on_are_reported() -> None:
    assert chosen([10, 50, 90], [0.4, 0.39, 0.9], [1.0, 2.0, 1.0, 2.0]) == [0, 2]


def test_more_probable_of_two_places_for_one_change_is_reported() -> None:
    assert chosen([10, 15], [0.6, 0.9], [1.0, 2.0, 3.0]) == [1]
    assert chosen([10, 16], [0.6, 0.9], [1.0, 2.0, 3.0]) == [0, 1]


def test_both_ends_of_a_pulse_are_reported() -> None:
    assert chosen([10, 13], [0.6, 0.9], [1.0, 9.0, 1.0]) == [0, 1]


def test_rule_is_kept_in_the_card_and_part_of_the_version() -> None:
    rule = ReportingRule(0.3)
    model = replace(MODEL, card={**MODEL.card, **rule.entry("verdicts")})
    assert ReportingRule.of(model) == rule
    assert model.version != MODEL.version


def test_model_without_a_rule_reports_from_its_threshold() -> None:
    card = {name: value for name, value in MODEL.card.items() if name != "reporting"}
    assert ReportingRule.of(replace(MODEL, card=card)).min_probability == MODEL.threshold


@pytest.mark.parametrize("entry", [3, {}, {"min_probability": "x"}, {"min_probability": 7}])
def test_unreadable_rule_is_an_error(entry: object) -> None:
    with pytest.raises(ArtifactError, match=r"'reporting' is .* min_probability, 0 to 1"):
        ReportingRule.of(replace(MODEL, card={"reporting": entry}))


def test_rule_needs_probabilities() -> None:
    with pytest.raises(ConfigError, match=r"min_probability is 2\.0: it must be from 0 to 1"):
        ReportingRule(2.0)
