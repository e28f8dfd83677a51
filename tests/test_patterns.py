"""Patterns match the names of series as they are printed, and as people type them."""

import pytest

from barograph.results.patterns import matches
from barograph.results.series import SeriesId
from barograph.server.triage.patterns import kind_of

CANARY = SeriesId("", "", "", "canary/cpu", "")
LONG = SeriesId("db", "linux/arm", "", "canary/cpu", "ms", (("size", "1/2"),))
BRACKETS = SeriesId("", "", "", "sort[8]", "ms")
ESCAPED = SeriesId("db", "", "", 'say "hi" \\ é', "ms")


@pytest.mark.parametrize(
    ("pattern", "series", "expected"),
    [
        ("canary/*", CANARY, True),
        ('"canary/*', CANARY, True),
        ("canary/cpu", CANARY, True),
        ("cpu", CANARY, False),
        ("db/linux/arm/*/canary/*", LONG, True),
        ('*/"canary/cpu"/*', LONG, True),
        ("* size=1/2", LONG, True),
        ("canary/*", LONG, False),
        ("sort[8]/ms", BRACKETS, True),
        ("sort[48]/ms", BRACKETS, False),
        ("sort*", BRACKETS, True),
        ('db/say "hi" \\ é/ms', ESCAPED, True),
        ("DB/*", ESCAPED, False),
    ],
)
def test_pattern_matches_what_people_type(pattern: str, series: SeriesId, expected: bool) -> None:
    assert matches(pattern, str(series)) is expected
    assert (kind_of((("canary", pattern),), str(series)) == "canary") is expected


@pytest.mark.parametrize("series", [CANARY, LONG, BRACKETS, ESCAPED])
def test_every_name_matches_itself(series: SeriesId) -> None:
    assert matches(str(series), str(series))
