from dataclasses import replace

import numpy as np
import pytest

from barograph.detection import scoring
from barograph.detection.scoring import rule_entry, score_candidates
from barograph.models import TriageModel
from barograph.results.candidates import Candidates
from barograph.results.series import UNKNOWN_TIME, Floats, Ints
from tests.detection.online.models import HandMade, hand_made


class Lengths(HandMade):
    """A score made of the lengths of Pre and After."""

    def real(self, matrix: Floats) -> Floats:
        lengths: Floats = matrix[:, 0]
        return lengths


def model(least: float = 0.0) -> TriageModel:
    """Return a model whose rule reports candidates of at least this probability."""
    made = hand_made(Lengths(), "lengths")
    return replace(made, card=rule_entry(least, "nothing"))


@pytest.fixture(autouse=True)
def lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    def lengths(
        values: Floats, starts: Ints, splits: Ints, ends: Ints, name: str, *, context: object
    ) -> Floats:
        assert (name, context) == ("lengths", None)
        return (0.1 * (splits - starts) + 0.001 * (ends - splits))[:, None]

    monkeypatch.setattr(scoring, "feature_matrix", lengths)
    monkeypatch.setattr(scoring, "series_context", lambda *_: None)


def candidates(index: list[int], series: list[int]) -> Candidates:
    never = np.full(len(index), UNKNOWN_TIME)
    verdicts = np.full(len(index), "not_triaged")
    return Candidates(np.array(series), np.array(index), verdicts, never, never)


def test_neighbours_bound_a_candidate_unless_their_verdict_is_false() -> None:
    around = replace(
        candidates([2, 5, 7, 3], [0, 0, 0, 1]),
        verdict=np.array(["true_positive", "false_positive", "not_triaged", "not_triaged"]),
        calculated_on=np.array([50, 50, 50, 50]),
        triaged_on=np.array([10, 10, UNKNOWN_TIME, UNKNOWN_TIME]),
    )
    scores = score_candidates(model(), np.zeros(14), np.array([0, 10, 14]), around)
    assert scores == pytest.approx([0.205, 0.302, 0.503, 0.301])


def test_log_odds_are_the_mean_between_all_and_between_probable_neighbours() -> None:
    values, offsets = np.zeros(10), np.array([0, 10])
    around = candidates([2, 7], [0, 0])
    between_all = np.array([0.205, 0.503])
    assert score_candidates(model(), values, offsets, around) == pytest.approx(between_all)
    without_the_first = np.array([0.205, 0.703])  # 0.205 is below 0.3: it bounds no other
    odds = [np.log(p / (1 - p)) for p in (between_all, without_the_first)]
    expected = 1 / (1 + np.exp(-np.mean(odds, axis=0)))
    assert score_candidates(model(0.3), values, offsets, around) == pytest.approx(expected)


@pytest.mark.parametrize("calculated", [UNKNOWN_TIME, 50])
def test_weak_neighbours_bound_no_other_whatever_the_dates(calculated: int) -> None:
    around = replace(candidates([2, 7], [0, 0]), calculated_on=np.full(2, calculated))
    scores = score_candidates(model(0.3), np.zeros(10), np.array([0, 10]), around)
    assert scores[1] > 0.55


def test_score_candidates_accepts_no_candidates() -> None:
    around = candidates([], [])
    assert score_candidates(model(), np.zeros(3), np.array([0, 3]), around).size == 0
