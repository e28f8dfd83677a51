"""Tables as people export, join and annotate them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barograph.runtime.errors import DataError
from tests.sources.formats.tables import read, skips, values

DAY = 86_400_000
MONDAY = 1_767_571_200_000  # 2026-01-05


def test_german_spreadsheet_with_a_few_texts_among_its_numbers(tmp_path: Path) -> None:
    cells = ["1234,50;56,20", "1236,00;k. A.", "998,25;N/A", "1230,75;#DIV/0!"]
    cells += [f"12{k},50;5{k % 10},10" for k in range(10, 30)] + ["1233,00;Messfehler"]
    rows = [f"{k % 28 + 1:02}.{k // 28 + 1:02}.2026 08:00;1.0.{k};{c}" for k, c in enumerate(cells)]
    content = "\r\n".join(["Datum;Version;Durchsatz (ops/s);Latenz (ms)", *rows, ""])
    loaded = read(tmp_path / "t.csv", content.encode("utf-8-sig"))
    assert {name: len(row) for name, row in values(loaded).items()} == {
        "t/Durchsatz": 25, "t/Latenz": 21
    }  # fmt: skip
    assert values(loaded)["t/Durchsatz"][:3] == [1234.5, 1236.0, 998.25]
    assert loaded.history.directions.tolist() == [1, -1]
    assert skips(loaded) == {"value is not a number": ("points", 1, 26)}


@pytest.mark.parametrize("first", ["56.2", "broken"])
def test_wide_column_with_a_text_stays_a_metric(tmp_path: Path, first: str) -> None:
    header = ",".join(["commit", *(f"m{k}" for k in range(20)), "model"])
    rows = [f"c{n}" + f",{n}" * 19 + f",{first if n == 0 else 7},box" for n in range(20)]
    loaded = read(tmp_path / "t.csv", "\n".join([header, *rows]))
    assert len(loaded.history) == 20
    assert values(loaded)["t/m19"] == [7.0] * 19 if first == "broken" else [56.2] + [7.0] * 19


def test_labels_below_a_key_are_parts_of_the_identity(tmp_path: Path) -> None:
    rows = [
        {
            "time": f"2026-01-0{day}T00:00:00Z",
            "tags": {"host": host, "test": "scan", "region": "eu"},
            "fields": {"p99_ms": day},
        }
        for day in (1, 2)
        for host in ("h1", "h2")
    ]
    answer = read(tmp_path / "t.json", json.dumps(rows))
    assert values(answer) == {
        f"-/{host}/-/scan/fields.p99_ms region=eu": [1, 2] for host in ("h1", "h2")
    }


def test_ignored_column_is_an_argument_if_the_user_says_so(tmp_path: Path) -> None:
    rows = [f"c{k},{way},{k + 1}" for k in range(5) for way in ("cold", "warm")]
    content = "\n".join(["commit,cache,p50", *rows])
    loaded = read(tmp_path / "t.csv", content)
    assert [note for note in loaded.notes if "columns ignored: cache;" in note]
    as_argument = read(tmp_path / "t.csv", content, mapping={"cache": "args.cache"})
    assert len(as_argument.history) == 2


def test_shuffled_results_of_three_machines_between_comments(tmp_path: Path) -> None:
    rows = [
        f"c{day},2026-01-{day:02}T08:00:00Z,{host},compile,{day}.5"
        for day in (3, 1, 4, 2)
        for host in ("box-a", "box-b", "arm")
    ]
    rows[5:5] = ["# box-a: new kernel", "", "# one, two"]
    head = ["# nightly", "# governor: performance", "", "commit,timestamp,host,benchmark,seconds"]
    loaded = read(tmp_path / "t.csv", "\n".join([*head, *rows]))
    assert values(loaded) == {
        f"-/{host}/-/compile/seconds": [1.5, 2.5, 3.5, 4.5] for host in ("box-a", "box-b", "arm")
    }
    assert (skips(loaded), set(loaded.history.directions.tolist())) == ({}, {-1})


def test_two_columns_of_one_field_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two columns are called 'Commit'; rename one"):
        read(tmp_path / "t.csv", "Commit,Commit,value\na,b,1\n")
