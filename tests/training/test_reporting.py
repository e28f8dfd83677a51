"""The reporting rule is chosen from verdicts, or from the marks of people."""

from pathlib import Path

import numpy as np
import pytest

from barograph.detection.scoring import least_reported
from barograph.learning.challengers import CHOICES, agreements, rule_of_people, rule_of_verdicts
from barograph.learning.online.truth import Marked
from barograph.models import TriageModel
from barograph.runtime.errors import NotEnoughDataError

MODEL = TriageModel.default("label_free")


def marked(*, steps: bool) -> Marked:
    """Return series with a small step, which all people mark or none."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(100.0, 1.0, 120) + np.arange(120) // 60 * 1.5 for _ in range(20)]
    marks = ((((60,) if steps else ()),) * 3,) * 20
    return Marked(np.concatenate(parts), np.arange(21) * 120, marks, np.arange(20))


def test_rule_of_people_is_the_lowest_that_agrees_about_as_well_as_the_best() -> None:
    data = marked(steps=True)
    agreement = agreements(MODEL, data).mean(axis=1)
    chosen = CHOICES.index(rule_of_people(MODEL, data))
    assert agreement[chosen] >= agreement.max() - 0.05
    assert agreement[0] > agreement[-1] + 0.05  # the steps are marked: reporting pays


def test_rule_is_higher_if_people_do_not_mark_what_is_found() -> None:
    low, high = (rule_of_people(MODEL, marked(steps=steps)) for steps in (True, False))
    assert high > low + 0.2


def test_rule_cannot_be_chosen_without_candidates() -> None:
    flat = Marked(np.ones(50), np.array([0, 50]), (((), (), ()),), np.zeros(1, np.int64))
    with pytest.raises(NotEnoughDataError, match="without candidates"):
        rule_of_people(MODEL, flat)


def test_rule_of_verdicts_has_the_best_f1() -> None:
    rule = rule_of_verdicts([0, 0, 1, 1, 1], [0.1, 0.2, 0.3, 0.8, 0.9])
    assert rule == pytest.approx(0.25)


def test_the_page_on_models_names_the_rule_of_the_built_in_model() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    least = least_reported(TriageModel.default("label_free"))
    assert f"The built-in model has {least:g}." in page
