"""A pair whose card names no weights decides as it did, and continues from a state as it did."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import Decision
from barograph.models import OnlineModels

FORMER = Path(__file__).parent / "former"
CASES = json.loads((FORMER / "decisions.json").read_text())


def written(decision: Decision) -> list[Any]:
    """Return a decision as the file has it."""
    steps = [[s.kind.value, s.index, s.newest, s.probability, s.moved_from] for s in decision.steps]
    found = decision.index, decision.newest, decision.probability
    return [*found, decision.answer.value, decision.known_since, steps]


@pytest.fixture(scope="module")
def models() -> OnlineModels:
    return OnlineModels.load(FORMER / "online.baro")


@pytest.mark.parametrize("case", CASES)
def test_former_pair_decides_as_it_did(case: dict[str, Any], models: OnlineModels) -> None:
    decisions = OnlineDetector(*models.members).update_many(np.array(case["values"]))
    assert [written(decision) for decision in decisions] == case["decisions"]


@pytest.mark.parametrize("case", CASES)
def test_former_state_continues_as_it_did(case: dict[str, Any], models: OnlineModels) -> None:
    detector = OnlineDetector.from_state(case["state"], *models.members)
    decisions = detector.update_many(np.array(case["values"][case["first"] :]))
    assert [written(decision) for decision in decisions] == case["decisions"][case["first"] :]
