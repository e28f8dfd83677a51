"""The outline of JSON that is cut anywhere."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barograph.sources.formats.base import Sample
from barograph.sources.formats.outline import json_files, json_samples, outline


@pytest.mark.parametrize(
    ("head", "places"),
    [
        (b'{"a": {"b": [1, {"c": 2}]}}', {"{", "/a", "/a/b", "/a/b/*", "/a/b/*/c"}),
        (b'[{"a": [[1, 2]', {"[", "/*", "/*/a", "/*/a/*", "/*/a/*/*"}),
        (b'{"a": 1}\n{"b": 2}\n', {"{", "/a", "/b"}),
        (b'  {"text": "a: {\\"b\\": 1}", "x', {"{", "/text"}),
        (b'\xef\xbb\xbf{"a": 1', {"{", "/a"}),
        (b'{"a": "\\', {"{", "/a"}),
        (b"[", {"["}),
        (b"time,commit\n1,2\n", set()),
        (b"", set()),
    ],
)
def test_places_are_the_keys_from_the_top(head: bytes, places: set[str]) -> None:
    assert outline(Sample(None, head)) == places


def test_deep_nesting_is_cut() -> None:
    assert len(outline(Sample(None, b"[" * 60_000))) < 10


def test_a_cut_string_of_escapes_takes_no_quadratic_time() -> None:
    assert outline(Sample(None, b'["' + b'\\"' * 30_000)) == {"[", "/*"}


@given(st.binary() | st.text(alphabet='{}[]",:1a\\ \n').map(str.encode))
def test_any_bytes_have_an_outline(head: bytes) -> None:
    assert all(place in "{[" or place.startswith("/") for place in outline(Sample(None, head)))


def test_the_files_of_a_folder_come_before_those_of_inner_folders(tmp_path: Path) -> None:
    for name in ("a/x.json", "z.json", "b.json", "c.txt", ".hidden/y.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[1]")
    names = [path.relative_to(tmp_path).as_posix() for path in json_files(tmp_path)]
    assert names == ["b.json", "z.json", "a/x.json"]
    assert [sample.head for sample in json_samples(tmp_path, 2)] == [b"[1]", b"[1]"]
