"""data/README.md describes the columns and types of every table."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from barograph.results.fields import VERDICTS
from barograph.results.parquet import SCHEMAS
from barograph.results.series import Verdict

PAGE = (Path(__file__).resolve().parent.parent / "data" / "README.md").read_text(encoding="utf-8")
TYPES = {
    "string": pa.string(),
    "int8": pa.int8(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "timestamp[ms, UTC]": pa.timestamp("ms", tz="UTC"),
}


def described(table: str) -> list[tuple[str, pa.DataType]]:
    """Return the columns that the page gives a table, with their types."""
    section = PAGE.split(f"`interim/{table}.parquet`:")[1].split("\n`interim/")[0].split("\n## ")[0]
    columns = []
    for names, kinds in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", section, re.MULTILINE):
        matches = re.findall("`([a-z_]+)`", names)
        message = re.sub(", may be null", "", kinds)
        types = [message] if message in TYPES else message.split(", ")
        types *= len(matches) // len(types)
        columns += [(name, TYPES[kind]) for name, kind in zip(matches, types, strict=True)]
    return columns


@pytest.mark.parametrize("table", SCHEMAS)
def test_page_lists_the_columns_of_each_table(table: str) -> None:
    assert described(table) == [(field.name, field.type) for field in SCHEMAS[table]]


def test_page_lists_every_label_and_verdict() -> None:
    for word in [*VERDICTS, *(verdict.value for verdict in Verdict)]:
        assert f"`{word}`" in PAGE
