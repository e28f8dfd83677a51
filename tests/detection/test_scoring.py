import numpy as np
import pytest

from barograph.detection import scoring
from barograph.detection.scoring import score_candidates
from barograph.features import Candidates
from barograph.series import Floats, Ints
from tests.detection.online.models import HandMade, hand_made

UNKNOWN_TIME = int(np.iinfo(np.int64).min)


class Lengths(HandMade):
    """A score made of the lengths of Pre and After."""

    def real(self, matrix: Floats) -> Floats:
        lengths: Floats = matrix[:, 0]
        return lengths


MODEL = hand_made(Lengths(), "lengths")


def test_neighbours_bound_a_candidate_unless_their_verdict_is_false(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lengths(
        values: Floats, starts: Ints, splits: Ints, ends: Ints, name: str, *, context: object
    ) -> Floats:
        assert (name, context) == ("lengths", None)
        return (100.0 * (splits - starts) + (ends - splits))[:, None]

    monkeypatch.setattr(scoring, "feature_matrix", lengths)
    around = Candidates(
        series=np.array([0, 0, 0, 1]),
        index=np.array([2, 5, 7, 3]),
        verdict=np.array(["true_positive", "false_positive", "not_triaged", "not_triaged"]),
        calculated_on=np.array([50, 50, 50, 50]),
        triaged_on=np.array([10, 10, UNKNOWN_TIME, UNKNOWN_TIME]),
    )
    scores = score_candidates(MODEL, np.zeros(14), np.array([0, 10, 14]), around)
    assert scores.tolist() == [205.0, 302.0, 503.0, 301.0]


def test_score_candidates_accepts_no_candidates() -> None:
    none = np.empty(0, dtype=np.int64)
    around = Candidates(none, none, np.empty(0, dtype=np.str_), none, none)
    assert score_candidates(MODEL, np.zeros(3), np.array([0, 3]), around).size == 0
