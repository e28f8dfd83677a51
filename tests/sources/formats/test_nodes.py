"""Typed access to foreign JSON: right types pass, everything else is one error with its place."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.results.fields import FieldError
from barograph.results.series import TIME_RANGE, UNKNOWN_TIME
from barograph.runtime.errors import DataError
from barograph.sources.formats import cells, dates
from barograph.sources.formats.base import InputFile
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node

MOMENT = 1_706_220_908_000
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


def read_with(method: Callable[[Node], object]) -> Callable[[object, str], object]:
    """Return a function that reads a value at a place with a method of its node."""
    return lambda value, where: method(Node(value, where))


@pytest.mark.parametrize(
    "value",
    [
        1706220908,
        1706220908.0,
        MOMENT,
        MOMENT * 1000,
        MOMENT * 1_000_000,
        "1706220908",
        "1706220908000",
        "1706220908.0",
        "2024-01-25T22:15:08Z",
        "2024-01-25T22:15:08",
        "2024-01-25 22:15:08.000123 UTC",
        "2024-01-25T23:15:08+01:00",
        "2024.01.25 23:15:08 +0100",
        "2024/1/25 17:15:08 -05",
        "20240125T221508Z",
    ],
)
def test_a_time_of_any_usual_form_is_read(value: object) -> None:
    assert dates.time_ms(value, "date") == MOMENT


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_time_is_unknown(value: object) -> None:
    assert dates.time_ms(value, "date") == UNKNOWN_TIME


@pytest.mark.parametrize(
    "value", ["yesterday", "2024-13-01", "12", True, [], float("nan"), 10**400, "9" * 400, 1e300]
)
def test_what_is_not_a_time_is_an_error_with_its_place(value: object) -> None:
    with pytest.raises(FieldError) as raised:
        dates.time_ms(value, "commits[2].date")
    assert raised.value.field == "commits[2].date"


@pytest.mark.parametrize(
    ("read", "value", "reason"),
    [
        (cells.number, "3", "is not a number"),
        (cells.number, True, "is not a number"),
        (cells.number, None, "is missing"),
        (cells.number, float("inf"), "is not finite"),
        (cells.number, 10**400, "is not finite"),
        (read_with(Node.text), 3, "is not text"),
        (read_with(Node.text), "\ud800", "is not valid text"),
        (read_with(Node.text), None, "is missing"),
        (read_with(Node.mapping), [], "is not an object"),
        (read_with(Node.array), {}, "is not an array"),
        (read_with(Node.label), {}, "is not text"),
    ],
)
def test_a_wrong_type_is_refused_with_the_reason(
    read: Callable[[object, str], object], value: object, reason: str
) -> None:
    with pytest.raises(FieldError) as raised:
        read(value, "here")
    assert (raised.value.field, raised.value.reason) == ("here", reason)


def test_arguments_are_sorted_texts() -> None:
    read = Node({"size": 8.0, "fast": True, "codec": "lz4"}, "params").arguments()
    assert read == (("codec", "lz4"), ("fast", "true"), ("size", "8"))


def test_a_nested_argument_is_refused_with_its_key() -> None:
    with pytest.raises(FieldError) as raised:
        Node({"shape": [1, 2]}, "params").arguments()
    assert raised.value.field == "params.shape"


def test_a_long_key_is_cut_in_a_place() -> None:
    assert len(Node({}, "entries")["x" * 500].where) < 100


@given(ANYTHING)
def test_every_value_is_read_or_refused(value: Any) -> None:
    for read in (Node.number, Node.text, Node.mapping, Node.array, Node.label):
        with contextlib.suppress(FieldError):
            read(Node(value, "here"))
    with contextlib.suppress(FieldError):
        actual = dates.time_ms(value, "here")
        assert actual == UNKNOWN_TIME or TIME_RANGE[0] <= actual <= TIME_RANGE[1]


def test_a_large_document_that_is_cut_off_is_named_so() -> None:
    file = InputFile("f.json", None, b"[" + b"1, " * 200_000 + b"1")
    with pytest.raises(DataError, match=r"f\.json: not valid JSON: it ends early, at byte 600,0"):
        file.json()


def test_lone_surrogates_are_no_text() -> None:
    with pytest.raises(FieldError, match="is not valid text"):
        next(Node(decode_json('["\\ud800"]', "f.json")).entries()).text()
