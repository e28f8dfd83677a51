"""The comparison of models claims no more than its figures show."""

import pytest

from barograph.service.comparison import BESIDE, compared_files


@pytest.mark.parametrize(
    ("is_better", "not_worse", "outcomes"),
    [
        (True, 0.9, ["not certain", "better", "not certain"]),
        (False, 0.9, ["not certain"] * 3),
        (False, 0.01, ["not certain", "not certain", "worse"]),
    ],
)
def test_share_that_did_not_move_with_the_decision_is_not_certain(
    is_better: bool, not_worse: float, outcomes: list[str]
) -> None:
    facts = {
        "changes": 30,
        "delays": [0, 2, 5],
        "reported_by_other": [0.1, 0.2, 0.3],
        "reported": [0.1, 0.4, 0.2],
        "is_better": is_better,
        "not_worse": not_worse,
    }
    decision = {"promoted": is_better, "why": "", BESIDE: facts}
    [file] = compared_files({"files": {"online": decision}})
    assert [measure.outcome for measure in file.measures] == outcomes
