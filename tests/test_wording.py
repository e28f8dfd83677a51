"""Numbers, commits and names are the same in every output."""

import pytest

from barograph.results.series import UNKNOWN_TIME
from barograph.results.sizes import Size
from barograph.results.wording import (
    change_text,
    day,
    middle_cut,
    printable,
    probability_text,
    short_commit,
    typeset,
)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (100.0, 90.4, "-9.6 %"),
        (100.0, 100.03, "+0.03 %"),
        (100.0, 99.996, "-0.004 %"),
        (100.0, 99.5, "-0.50 %"),
        (-10.0, -5.0, "+50.0 %"),
        (0.0, 3.0, "from 0"),
        (0.0, 0.0, "0.0 %"),
        (5.0, 5.0, "0.0 %"),
        (2.0, 200.0, "100 times"),
    ],
)
def test_a_change_is_given_in_percent_of_the_level_before(
    before: float, after: float, text: str
) -> None:
    assert change_text(Size(before, after).percent) == text


def test_typeset_text_has_the_true_minus_sign() -> None:
    assert typeset("-9.6 %") == "\u22129.6 %"


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0.884, "88 %"), (0.9999, ">99 %"), (0.001, "<1 %"), (1.0, "100 %"), (0.0, "0 %")],
)
def test_only_certain_probabilities_are_0_or_100(probability: float, text: str) -> None:
    assert probability_text(probability) == text


@pytest.mark.parametrize(
    ("commit", "text"),
    [("0a" * 20, "0a0a0a0a"), ("v1.2.3-rc1-with-a-long-name", "v1.2.3-rc1-with-a-long-name")],
)
def test_only_full_hashes_are_shortened(commit: str, text: str) -> None:
    assert short_commit(commit) == text


def test_days_are_those_of_utc_and_empty_if_unknown_or_impossible() -> None:
    assert day(1_772_409_600_000) == "2026-03-02"
    assert day(UNKNOWN_TIME) == day(10**18) == ""


def test_long_names_lose_their_middle() -> None:
    cut = middle_cut("a" * 300 + "b" * 300, 61)
    assert len(cut) == 61
    assert cut.startswith("aaa")
    assert cut.endswith("bbb")
    assert middle_cut("short", 61) == "short"


def test_control_characters_and_lone_surrogates_are_replaced() -> None:
    assert printable("a\x1b[31m\ud800\u202eb") == "a\ufffd[31m?\ufffdb"
    assert printable("\u5e8f\u5217 \u05e9") == "\u5e8f\u5217 \u05e9"
