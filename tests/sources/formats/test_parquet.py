"""Parquet files that are much larger when they are unpacked are refused before they are."""

from __future__ import annotations

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


def written(folder: Path, rows: int, **columns: object) -> Path:
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
def test_rows_count_although_they_are_all_the_same(tmp_path: Path, use: object) -> None:
    rows = LIMIT // 3 // 8 + 1
    path = written(tmp_path, rows, order=[1] * rows)
    assert path.stat().st_size < LIMIT / 20
    with pytest.raises(DataError, match=r"parquet: larger than 4 MiB when unpacked; --max-size"):
        use(path)  # type: ignore[operator]


def test_texts_and_nested_columns_within_the_limit_are_read(tmp_path: Path) -> None:
    texts = pa.array(["x" * 1_000] * 100)
    struct = pa.StructArray.from_arrays([texts], ["a"])
    lists = pa.ListArray.from_arrays(pa.array(range(101), pa.int32()), texts)
    path = written(tmp_path, 100, text=texts.dictionary_encode(), struct=struct, list=lists)
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
