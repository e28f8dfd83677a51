"""The places of the values of decoded JSON, and the files of a folder."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.sources.formats.base import InputFile
from barograph.sources.formats.content import inner_files


def places(content: bytes) -> frozenset[str]:
    return InputFile("f", None, content).places


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": {"b": [1, {"c": 2}]}}', {"{", "/a", "/a/b", "/a/b/*", "/a/b/*/c"}),
        (b'[{"a": [[1, 2]]}]', {"[", "/*", "/*/a", "/*/a/*", "/*/a/*/*"}),
        (b'{"a": 1}\n{"b": 2}\n', {"{", "/a", "/b"}),
        (b'  {"text": "a: {\\"b\\": 1}"}', {"{", "/text"}),
        (b'\xef\xbb\xbf{"a/b": 1}', {"{", "/a~1b"}),
        ('{"a": 1}'.encode("utf-16"), {"{", "/a"}),
        (b"[]", {"["}),
        (b'{"a": 1', set()),
        (b"time,commit\n1,2\n", set()),
        (b"", set()),
    ],
)
def test_places_are_the_keys_from_the_top(content: bytes, expected: set[str]) -> None:
    assert places(content) == expected


def test_deep_nesting_is_cut() -> None:
    assert len(places(b"[" * 500 + b"]" * 500)) < 10


def test_a_large_document_has_a_bounded_number_of_places() -> None:
    wide = b"[%b]" % b", ".join([b'{"a": [%b]}' % b", ".join([b'{"b": 1}'] * 300)] * 300)
    assert places(wide) == {"[", "/*", "/*/a", "/*/a/*", "/*/a/*/b"}


@given(st.binary() | st.text(alphabet='{}[]",:1a\\ \n').map(str.encode))
def test_any_bytes_have_places(content: bytes) -> None:
    assert all(place in "{[" or place.startswith("/") for place in places(content))


def test_the_files_of_a_folder_come_before_those_of_inner_folders(tmp_path: Path) -> None:
    for name in ("a/x.json", "z.json", "b.json", "c.txt", ".hidden/y.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[1]")
    folder = InputFile("f", tmp_path, None)
    assert [file.name for file in inner_files(folder)] == ["f/b.json", "f/z.json", "f/a/x.json"]
    assert [file.content for file in inner_files(folder, 2)] == [b"[1]", b"[1]"]
