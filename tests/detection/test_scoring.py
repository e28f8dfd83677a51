import numpy as np
import pytest

from barograph.detection import scoring
from barograph.detection.scoring import score_candidates
from barograph.features import Candidates
from barograph.series import Floats, Ints

UNKNOWN = int(np.iinfo(np.int64).min)


class Lengths:
    """A model that says how long Pre and After are."""

    feature_set = "leznik"
    threshold = 0.5

    def predict_proba(self, matrix: Floats) -> Floats:
        return np.column_stack([matrix[:, 0], matrix[:, 0] * 100 + matrix[:, 1]])


def test_neighbours_bound_a_candidate_but_for_those_that_were_called_false(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lengths(
        values: Floats, starts: Ints, splits: Ints, ends: Ints, name: str, *, context: object
    ) -> Floats:
        assert (name, context) == ("leznik", None)
        return np.column_stack([splits - starts, ends - splits]).astype(np.float64)

    monkeypatch.setattr(scoring, "feature_matrix", lengths)
    around = Candidates(
        series=np.array([0, 0, 0, 1]),
        index=np.array([2, 5, 7, 3]),
        verdict=np.array(["true_positive", "false_positive", "not_triaged", "not_triaged"]),
        calculated_on=np.array([50, 50, 50, 50]),
        triaged_on=np.array([10, 10, UNKNOWN, UNKNOWN]),
    )
    found = score_candidates(Lengths(), np.zeros(14), np.array([0, 10, 14]), around)
    assert found.tolist() == [205.0, 302.0, 503.0, 301.0]


def test_no_candidates_are_no_error() -> None:
    none = np.empty(0, dtype=np.int64)
    around = Candidates(none, none, np.empty(0, dtype=np.str_), none, none)
    assert score_candidates(Lengths(), np.zeros(3), np.array([0, 3]), around).size == 0
