"""Parquet files that are much larger when they are unpacked are refused before they are."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.runtime.errors import DataError
from barograph.sources.append import append
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import read_files
from barograph.sources.git import Repository

LIMIT = 4 << 20
OPTIONS = ReadOptions(max_bytes=LIMIT)
ROWS = 20_000


def repeated(text: pa.Array) -> pa.Array:
    """Return the first of some texts in every row; its file holds it once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), text)


def fixed(size: int) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(size), 1, [None, pa.py_buffer(b"x" * size)]
    )


LISTS = pa.array(range(ROWS + 1), pa.int32())
LONG = repeated(pa.array(["x" * 1_000]))
BOMBS = {
    "text": LONG,
    "binary": repeated(pa.array([b"x" * 1_000])),
    "fixed": repeated(fixed(1_000)),
    "struct": pa.StructArray.from_arrays([LONG], ["a"]),
    "list": pa.ListArray.from_arrays(LISTS, LONG),
    "map": pa.MapArray.from_arrays(LISTS, pa.array(["k"] * ROWS), LONG),
}  # fmt: skip


def written(folder: Path, rows: int = ROWS, **columns: object) -> Path:
    """Write a history."""
    path = folder / "history.parquet"
    known = {"order": range(rows), "value": [1.0] * rows, "test": ["a"] * rows}
    pq.write_table(pa.table(known | columns), path, compression="zstd")
    return path


def read(path: Path) -> int:
    return read_files([path], OPTIONS, Repository("/"), RunContext()).history.values.size


def extended(path: Path) -> int:
    new = path.parent / "new.json"
    new.write_text('[{"test": "b", "value": 1, "commit": "c1"}]', encoding="utf-8")
    append(path, [new], OPTIONS, "", Repository("/"), RunContext())
    return read(path)


@pytest.mark.parametrize("use", [read, extended])
@pytest.mark.parametrize("kind", BOMBS)
def test_texts_count_as_often_as_they_occur(tmp_path: Path, kind: str, use: object) -> None:
    path = written(tmp_path, note=BOMBS[kind])
    before = path.read_bytes()
    assert len(before) < LIMIT / 20
    read(written(tmp_path))  # imports what reading needs
    path.write_bytes(before)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"parquet: larger than 4 MiB when unpacked; `max-size` in"):
        use(path)  # type: ignore[operator]
    assert tracemalloc.get_traced_memory()[1] < LIMIT
    tracemalloc.stop()
    assert path.read_bytes() == before


@pytest.mark.parametrize("use", [read, extended])
def test_rows_count_although_they_are_all_the_same(tmp_path: Path, use: object) -> None:
    rows = LIMIT // 3 // 8 + 1
    path = written(tmp_path, rows, order=[1] * rows)
    assert path.stat().st_size < LIMIT / 20
    with pytest.raises(DataError, match=r"parquet: larger than 4 MiB when unpacked; `max-size` in"):
        use(path)  # type: ignore[operator]


def test_texts_and_nested_columns_within_the_limit_are_read(tmp_path: Path) -> None:
    note = {kind: column.slice(0, 100) for kind, column in BOMBS.items()}
    path = written(tmp_path, 100, **note)
    schema = pq.read_schema(path)
    assert read(path) == 100
    assert extended(path) == 101
    after = pq.read_schema(path)
    assert {name: after.field(name).type for name in ("test", "text")} == {
        "test": pa.string(), "text": schema.field("text").type,
    }  # fmt: skip


def test_text_that_is_not_valid_is_an_error(tmp_path: Path) -> None:
    bad = pa.Array.from_buffers(pa.string(), 1, [None, *pa.array([b"\xff"]).buffers()[1:]])
    path = written(tmp_path, 1, note=bad)
    for use in (read, extended):
        with pytest.raises(DataError, match=r"history\.parquet: "):
            use(path)
