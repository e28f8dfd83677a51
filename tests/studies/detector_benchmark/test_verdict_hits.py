import math
from collections import Counter

import pytest

from barograph.results.series import Verdict
from barograph.studies.detector_tables import VerdictHits, count_hits, rates

TRUE, FALSE = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE
OPEN = Verdict.NOT_TRIAGED


def test_count_hits_counts_each_point_under_one_verdict() -> None:
    verdicts = {5: TRUE, 20: FALSE, 40: TRUE, 9: OPEN}
    table = count_hits([5, 20, 33, 7, 9], verdicts, margin=0)
    assert table.hits == {TRUE: 1, FALSE: 1, OPEN: 1}
    assert table.candidates == {TRUE: 2, FALSE: 1, OPEN: 1}
    assert table.not_annotated == 2


def test_count_hits_matches_each_candidate_once_within_the_margin() -> None:
    table = count_hits([5, 6], {7: TRUE}, margin=2)
    assert table.hits[TRUE] == 1
    assert table.not_annotated == 1


def test_rates_match_the_counts_of_the_paper() -> None:
    """Table 6's counts with the 6990 and 8341 verdicts of the data set."""
    table = VerdictHits(
        hits=Counter({TRUE: 4691, FALSE: 2110, OPEN: 1490}),
        candidates=Counter({TRUE: 6990, FALSE: 8341}),
        not_annotated=9930,
    )
    named = rates([table], 0)
    assert named["accuracy"] == pytest.approx(0.7124, abs=5e-5)
    assert named["sensitivity"] == pytest.approx(0.6711, abs=5e-5)
    assert named["specificity"] == pytest.approx(0.7470, abs=5e-5)


def test_rates_without_verdicts_are_nan() -> None:
    assert all(map(math.isnan, rates([count_hits([3], {})], 0).values()))
