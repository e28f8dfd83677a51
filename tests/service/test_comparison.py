"""The comparison of models claims no more than its figures show."""

import pytest

from barograph.server.web.model_report import BESIDE, compared_files


@pytest.mark.parametrize("beside_champion", [False, True])
@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.01, 0.2, "better"), (0.0, 0.2, "not certain"), (-0.2, -0.01, "worse")],
)
def test_pair_is_better_or_worse_only_if_the_interval_excludes_0(
    low: float, high: float, outcome: str, *, beside_champion: bool
) -> None:
    facts = {"changes": 30, "reported_by_other": [0.1, 0.2, 0.3], "reported": [0.1, 0.5, 0.3]}
    decision = {"promoted": False, "why": "", BESIDE: facts | {"low": low, "high": high}}
    decided = {"beside_champion": decision.pop(BESIDE), BESIDE: facts} if beside_champion else {}
    [file] = compared_files({"files": {"online": decision | decided}})
    [measure] = file.measures
    assert [measure.old, measure.new] == pytest.approx([0.2, 0.3])
    assert (measure.verdicts, measure.low, measure.high) == (30, low, high)
    assert measure.outcome == outcome
