"""Typed access to foreign JSON: right types pass, everything else is one error with its place."""

import contextlib
import gc
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.results.series import TIME_RANGE, UNKNOWN_TIME
from barograph.runtime.errors import DataError
from barograph.sources.fields import FieldError
from barograph.sources.formats import batches, codespeed, collect, dates, jmh, numbers, skia
from barograph.sources.formats.base import Format, InputFile, ReadOptions, Result
from barograph.sources.formats.collect import Collector
from barograph.sources.formats.json_text import decode_json, split_json
from barograph.sources.formats.nodes import Node
from barograph.sources.formats.rows import read_rows

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
        "Thu, 25 Jan 2024 22:15:08 +0000",
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
        (numbers.number, "3", "is not a number"),
        (numbers.number, True, "is not a number"),
        (numbers.number, None, "is missing"),
        (numbers.number, float("inf"), "is not finite"),
        (numbers.number, 10**400, "is not finite"),
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


@pytest.mark.parametrize("text", ['{"a": [1]}', "[NaN]", "[", "nonsense", "[" * 100_000])
@pytest.mark.parametrize("is_enabled", [True, False])
def test_decoding_leaves_the_garbage_collector_as_it_was(text: str, is_enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        with contextlib.suppress(DataError):
            decode_json(text, "f.json")
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_entries_of_a_split_array_are_decoded_one_after_the_other() -> None:
    large = {"values": list(range(1000))}
    root = Node(split_json(json.dumps({"id": 8, "runs": [large, 7, "x"]}).encode(), "f.json"))
    assert type(root.value["runs"]) is msgspec.Raw
    assert root["id"].value == 8
    entries = root["runs"].entries()
    assert next(entries).value == large
    assert [(entry.value, entry.where) for entry in entries] == [(7, "runs[1]"), ("x", "runs[2]")]


@pytest.mark.parametrize("text", ["[NaN, 1]", '{"a": [NaN]}', "7", '["\\ud800"]'])
def test_what_only_the_lenient_decoder_reads_is_split_into_decoded_values(text: str) -> None:
    assert split_json(text.encode(), "f.json") == decode_json(text, "f.json")


def test_a_document_that_is_decoded_as_a_whole_has_a_smaller_limit() -> None:
    options = ReadOptions(max_bytes=1 << 20)
    assert InputFile("f.json", None, b"[" + b" " * 200_000 + b"]", options).json() == []
    with pytest.raises(DataError, match=WHOLE):
        InputFile("f.json", None, b"[" + b" " * 800_000 + b"]", options).json()


LARGE = b'{"test": "a", "order": 1, "value": 2, "x": [' + b"1, " * 200_000 + b"1]}"
WHOLE = r"f\.json: a JSON value of 1 MiB must be decoded as a whole; at most 0\.25 MiB are allowed"


@pytest.mark.parametrize(
    "text",
    [b"[%b]", b'{"runs": [%b]}', b'{"suites": {"a": [%b]}}', b'[{"test": "b"}, %b]', b"[NaN, %b]"],
)
def test_a_large_entry_of_an_array_is_refused_before_it_is_decoded(text: bytes) -> None:
    file = InputFile("f.json", None, text % LARGE, ReadOptions(max_bytes=1 << 20))
    with pytest.raises(DataError, match=WHOLE):
        file.json_parts()


def test_a_large_document_that_is_cut_off_is_named_so() -> None:
    file = InputFile("f.json", None, b"[" + LARGE[:-2], ReadOptions(max_bytes=1 << 20))
    with pytest.raises(DataError, match=r"f\.json: not valid JSON: it ends early, at byte 600,0"):
        file.json_parts()


def test_a_large_row_of_a_table_is_refused_before_it_is_decoded() -> None:
    for text in (LARGE, b"[%b]" % LARGE, b'{"points": [%b]}' % LARGE):
        with pytest.raises(DataError, match=WHOLE):
            list(read_rows(InputFile("f.json", None, text, ReadOptions(max_bytes=1 << 20))))


@pytest.mark.parametrize("good", [False, True])
def test_reading_ends_when_almost_no_result_can_be_used(
    monkeypatch: pytest.MonkeyPatch, good: bool
) -> None:
    monkeypatch.setattr(collect, "MOST_SKIPPED", 1000)
    monkeypatch.setattr(batches, "SIZE", 10)
    results = "{}, " + '{"key": {"test": "t"}, "measurement": 1.5}' * good
    run = f'{{"version": 1, "git_hash": "a", "results": [{results.removesuffix(", ")}]}}'
    collector = Collector(ReadOptions(), "f.json")
    file = InputFile("f.json", None, f"[{', '.join([run] * 3000)}]".encode())
    if good:
        collector.add(file, skia.FORMAT)
        assert len(collector.finish()) == 3000
        return
    with pytest.raises(DataError, match=r"too many results .* value is missing \(1,000 times, "):
        collector.add(file, skia.FORMAT)


@pytest.mark.parametrize("form", [codespeed.FORMAT, jmh.FORMAT], ids=lambda form: form.name)
def test_many_records_of_one_document_are_never_in_memory_together(form: Format) -> None:
    record = {"commitid": "a", "benchmark": "a.b", "result_value": 1.5} | {
        "mode": "avgt",
        "primaryMetric": {"score": 1.5, "scoreUnit": "s/op"},
        "padding": [[number] for number in range(1000)],
    }
    content = json.dumps([record] * 300).encode()
    tracemalloc.start()
    results = sum(isinstance(item, Result) for item in form.read(InputFile("f", None, content)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert results == 300
    assert peak < len(content)
