"""Appending the results of files to a history file."""

import csv
import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.runtime import files
from barograph.runtime.errors import ConfigError, DataError
from barograph.sources.append import Appended, append
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import read_files
from barograph.sources.git import Repository

NOTHING = Repository("/")
TIME = 1_772_439_342_000


def output(folder: Path, *values: float, name: str = "out.json", unit: str = "ms") -> Path:
    """Write a result file with a benchmark for each value."""
    entries = [{"name": f"b{k}", "unit": unit, "value": value} for k, value in enumerate(values)]
    path = folder / name
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def add(history: Path, *outputs: Path, commit: str, run: str = "", branch: str = "") -> Appended:
    options = ReadOptions(commit=commit, time=TIME, branch=branch)
    return append(history, outputs, options, run, NOTHING, RunContext())


def rows(history: Path) -> list[dict[str, str]]:
    with history.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def column(history: Path, name: str) -> list[str]:
    return [row[name] for row in rows(history)]


def test_append_creates_a_history_with_all_that_is_known(tmp_path: Path) -> None:
    history = tmp_path / "new" / "history.csv"
    done = add(history, output(tmp_path, 4.5, 8), commit="a1", branch="main")
    assert (done.results, done.replaced, done.commits) == (2, 0, {"a1": 1})
    first = {name: cell for name, cell in rows(history)[0].items() if cell}
    assert first == {
        "order": "1",
        "commit": "a1",
        "time": "2026-03-02T08:15:42+00:00",
        "branch": "main",
        "test": "b0",
        "unit": "ms",
        "direction": "lower",
        "value": "4.5",
    }
    assert column(history, "value") == ["4.5", "8"]


def test_new_commit_gets_the_order_after_the_last(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("order,commit,test,value\n7,a1,b0,4\n3,a0,b0,4\n", encoding="utf-8")
    add(history, output(tmp_path, 5), commit="a2")
    assert column(history, "order") == ["7", "3", "8"]


def test_parquet_keeps_the_types_and_the_columns_of_its_history(tmp_path: Path) -> None:
    history, zone = tmp_path / "history.parquet", UTC
    before = pa.table(
        {
            "order": pa.array([7], pa.int32()),
            "time": pa.array([datetime(2026, 3, 1, tzinfo=zone)], pa.timestamp("us", "UTC")),
            "test": pa.array(["b0"]).dictionary_encode(),
            "value": [4],
            "direction": pa.array([-1], pa.int8()),
            "note": ["box"],
        }
    )
    pq.write_table(before, history)
    add(history, output(tmp_path, 4.5, 6), commit="a2")
    done = add(history, output(tmp_path, 5.5), commit="a2")
    after = pq.read_table(history)
    assert (done.results, done.replaced, after.num_rows) == (1, 1, 3)
    types = [after.schema.field(name).type for name in ("order", "time", "test", "value")]
    assert types[:2] == [before.schema.field(name).type for name in ("order", "time")]
    assert types[3] == pa.float64()
    assert after["order"].to_pylist() == [7, 8, 8]
    assert after["note"].to_pylist() == ["box", None, None]
    assert after["time"].to_pylist()[1] == datetime(2026, 3, 2, 8, 15, 42, tzinfo=zone)
    loaded = read_files([history], context=RunContext()).history
    assert [series.values.tolist() for series in loaded] == [[4, 5.5], [6]]
    assert loaded.directions.tolist() == [-1, -1]


def test_new_parquet_is_read_as_the_same_history_as_a_new_csv(tmp_path: Path) -> None:
    paths = [tmp_path / "h.csv", tmp_path / "h.parquet"]
    for path in paths:
        add(path, output(tmp_path, 4.5, 8), commit="a1", branch="main")
        add(path, output(tmp_path, 5, 9), commit="a2", branch="main")
    [csv_read, parquet_read] = [read_files([path], context=RunContext()).history for path in paths]
    assert csv_read.ids == parquet_read.ids
    assert csv_read.values.tolist() == parquet_read.values.tolist()
    assert csv_read.times.tolist() == parquet_read.times.tolist()


def test_damaged_parquet_is_refused_and_unchanged(tmp_path: Path) -> None:
    history = tmp_path / "history.parquet"
    history.write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(DataError, match=r"history\.parquet: not a readable Parquet file: "):
        add(history, output(tmp_path, 5), commit="a2")
    assert history.read_bytes() == b"PAR1 no table PAR1"


def test_same_commit_replaces_its_results_of_the_same_series_only(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    add(history, output(tmp_path, 1, 2), commit="a1")
    add(history, output(tmp_path, 3, 4), commit="a2")
    done = add(history, output(tmp_path, 9), commit="a1")
    assert (done.replaced, done.commits) == (1, {"a1": 1})
    actual = sorted((row["order"], row["test"], row["value"]) for row in rows(history))
    assert actual == [("1", "b0", "9"), ("1", "b1", "2"), ("2", "b0", "3"), ("2", "b1", "4")]


@pytest.mark.parametrize(
    ("there", "here"), [("8674f78ab01", "8674f78"), ("8674f78", "8674f78ab01")]
)
def test_abbreviated_hash_is_the_commit_of_the_full_one(
    tmp_path: Path, there: str, here: str
) -> None:
    history = tmp_path / "history.csv"
    add(history, output(tmp_path, 4.5), commit=there)
    add(history, output(tmp_path, 5.5), commit="0123456")
    done = add(history, output(tmp_path, 6.5), commit=here)
    assert (done.replaced, list(done.commits.values())) == (1, [1])
    assert sorted(column(history, "value")) == ["5.5", "6.5"]


def test_hash_that_could_be_two_commits_is_a_new_one(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    for commit in ("8674f78a", "8674f78b", "8674f78"):
        done = add(history, output(tmp_path, 4.5), commit=commit)
    assert list(done.commits.values()) == [3]


def test_named_run_is_kept_beside_other_runs_of_its_commit(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    add(history, output(tmp_path, 1), commit="a1")
    add(history, output(tmp_path, 2), commit="a1", run="second")
    add(history, output(tmp_path, 3), commit="a1", run="second")
    actual = [(row["run"], row["value"], row["order"]) for row in rows(history)]
    assert actual == [("", "1", "1"), ("second", "3", "1")]


def test_unnamed_run_replaces_all_runs_of_its_commit(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    add(history, output(tmp_path, 1), commit="a1", run="one")
    add(history, output(tmp_path, 2), commit="a1", run="two")
    assert add(history, output(tmp_path, 3), commit="a1").replaced == 2
    assert column(history, "value") == ["3"]


def test_several_files_of_one_commit_are_its_runs(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    outputs = [output(tmp_path, value, name=f"out{value}.json") for value in (1, 2, 3)]
    add(history, *outputs, commit="a1")
    assert column(history, "value") == ["1", "2", "3"]
    assert len(set(column(history, "run"))) == 3
    assert set(column(history, "order")) == {"1"}


def test_results_without_a_commit_are_never_replaced(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    add(history, output(tmp_path, 1), commit="")
    add(history, output(tmp_path, 1), commit="")
    assert column(history, "order") == ["1", "2"]


@pytest.mark.parametrize("order", [2**53 + 1, -(2**53) - 1])
def test_history_whose_orders_are_too_large_is_refused(tmp_path: Path, order: int) -> None:
    history = tmp_path / "history.csv"
    history.write_text(f"order,commit,test,value\n{order},a1,b0,4.5\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"row 1: order is too large; orders are at.*got {order}"):
        add(history, output(tmp_path, 5), commit="a2")


def test_history_takes_orders_up_to_the_largest_alone(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text(f"order,commit,test,value\n{2**53 - 1},a1,b0,4.5\n", encoding="utf-8")
    assert add(history, output(tmp_path, 5), commit="a2").commits == {"a2": 2**53}
    assert add(history, output(tmp_path, 6), commit="a2").replaced == 1
    before = history.read_bytes()
    with pytest.raises(DataError, match=rf"order: the next one is {2**53 + 1}; orders are at most"):
        add(history, output(tmp_path, 7), commit="a3")
    assert history.read_bytes() == before


def test_commit_of_another_branch_gets_an_order_of_its_own(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    add(history, output(tmp_path, 1), commit="a1", branch="feature")
    add(history, output(tmp_path, 2), commit="a2", branch="main")
    add(history, output(tmp_path, 3), commit="a1", branch="main")
    actual = [(row["branch"], row["order"], row["value"]) for row in rows(history)]
    assert actual == [("feature", "1", "1"), ("main", "2", "2"), ("main", "3", "3")]


def test_columns_and_cells_of_others_are_kept_as_they_are(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("order,commit,test,value,note\n1,a1,b0,4.50,calm\n", encoding="utf-8")
    add(history, output(tmp_path, 5), commit="a2")
    lines = history.read_text(encoding="utf-8").splitlines()
    assert lines == [
        "order,commit,test,value,note,time,unit,direction",
        "1,a1,b0,4.50,calm,,,",
        "2,a2,b0,5,,2026-03-02T08:15:42+00:00,ms,lower",
    ]


def test_direction_of_the_history_counts_where_the_file_has_none(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("order,commit,test,direction,value\n1,a1,b0,higher,4\n", encoding="utf-8")
    add(history, output(tmp_path, 5, unit="fruit"), commit="a2")
    assert read_files([history]).history.directions.tolist() == [1]


def test_arguments_are_recognised_in_both_shapes(tmp_path: Path) -> None:
    text = "order,commit,test,args.size,value\n1,a1,b0,8,4\n1,a1,b0,16,5\n"
    history, more = tmp_path / "history.csv", tmp_path / "more.csv"
    history.write_text(text, encoding="utf-8")
    more.write_text('commit,test,args,value\na1,b0,"{""size"": 8}",6\n', encoding="utf-8")
    assert append(history, [more], None, "", NOTHING, RunContext()).replaced == 1
    actual = sorted((row["args.size"], row["value"]) for row in rows(history))
    assert actual == [("16", "5"), ("8", "6")]


def test_argument_without_a_value_stays_an_argument(tmp_path: Path) -> None:
    history, more = tmp_path / "history.csv", tmp_path / "more.csv"
    more.write_text('commit,test,args,value\na1,b0,"{""mode"": """"}",6\n', encoding="utf-8")
    for replaced in (0, 1):
        assert append(history, [more], None, "", NOTHING, RunContext()).replaced == replaced
    assert column(history, "args") == ['{"mode": ""}']


@pytest.mark.parametrize("name", ["history.ndjson", "history.jsonl", "history.json"])
def test_json_histories_are_extended(tmp_path: Path, name: str) -> None:
    history = tmp_path / name
    add(history, output(tmp_path, 4.5), commit="a1")
    add(history, output(tmp_path, 5), commit="a2")
    text = history.read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = (
        json.loads(text) if name.endswith(".json") else [*map(json.loads, text.splitlines())]
    )
    assert [(entry["order"], entry["value"]) for entry in entries] == [(1, 4.5), (2, 5)]
    assert "run" not in entries[0]


def test_error_about_one_unusable_result_counts_it_in_the_singular(tmp_path: Path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b"test,value\na,fast\n")
    with pytest.raises(DataError, match=r"value is not a number \(1 time, first "):
        append(tmp_path / "history.csv", [broken])


def test_links_in_a_circle_are_an_error_and_stay(tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "other.csv")
    (tmp_path / "other.csv").symlink_to(link)
    with pytest.raises(OSError, match="symbolic links") as raised:
        add(link, output(tmp_path, 2), commit="a2")
    assert raised.value.filename == str(link)
    assert link.is_symlink()


def test_link_to_the_history_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    add(target, output(tmp_path, 1), commit="a1")
    link.symlink_to(target)
    add(link, output(tmp_path, 2), commit="a2")
    assert link.is_symlink()
    assert len(rows(target)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("commit,value\na,2\n", "misses the column order; `barograph append NEW"),
        ("time,p50,p99\n1,2,3\n", "misses the columns order, value; `barograph append NEW"),
        (
            "order;commit;test;value\n1;a1;b0;4\n",
            "misses the columns order, value; `barograph append NEW",
        ),
        ("order,commit,value\n1,a1,4\n", "has none of the columns project"),
        (
            "order,commit,test,value\nfirst,a1,b0,4\n",
            "row 1: order is not a whole number .got 'first'",
        ),
        ("order,commit,test,value\n1,a1\n", "row 1: 2 cells, but there are 4 columns"),
        ("order,commit,test,value,value\n", "two columns have the same name"),
    ],
)
def test_history_of_another_shape_is_refused_and_unchanged(
    tmp_path: Path, text: str, message: str
) -> None:
    history = tmp_path / "history.csv"
    history.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        add(history, output(tmp_path, 1), commit="a1")
    assert len(str(caught.value)) <= 300
    assert history.read_text(encoding="utf-8") == text


def test_history_without_commits_can_be_extended(tmp_path: Path) -> None:
    history = tmp_path / "history.json"
    for value in (1, 2):
        add(history, output(tmp_path, value), commit="")
    assert [entry["order"] for entry in json.loads(history.read_text())] == [1, 2]


def test_a_table_without_orders_becomes_a_history_as_the_error_says(tmp_path: Path) -> None:
    table, history = tmp_path / "table.csv", tmp_path / "new.csv"
    table.write_text("commit,time,p50_ms\na1,2024-01-01,4\na2,2024-01-02,5\n")
    add(history, table, commit="")
    assert [row["order"] for row in rows(history)] == ["1", "2"]


def test_history_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"must end with one of \.csv"):
        add(tmp_path / "history.xlsx", output(tmp_path, 1), commit="a1")


def test_bad_output_creates_no_history(tmp_path: Path) -> None:
    bad = tmp_path / "out.json"
    bad.write_text('[{"name": "b0", "unit": "ms", "value": null}]', encoding="utf-8")
    with pytest.raises(DataError, match=r"out\.json"):
        add(tmp_path / "history.csv", bad, commit="a1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json"]


def test_full_disk_leaves_the_old_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = tmp_path / "history.csv"
    add(history, output(tmp_path, 1), commit="a1")
    before = history.read_bytes()

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        add(history, output(tmp_path, 2), commit="a2")
    assert history.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.csv", "out.json"]


APPENDS = """
import sys
from barograph.sources.git import Repository
from barograph.sources.append import append
from barograph.sources.formats.base import ReadOptions
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import read_files
history, output, name = sys.argv[1:]
for number in range(15):
    options = ReadOptions(commit=f"{name}{number}", time=0)
    append(history, [output], options, "", Repository("/"), RunContext())
"""


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    history, result = tmp_path / "history.csv", output(tmp_path, 1, 2)
    command = [sys.executable, "-c", APPENDS, str(history), str(result)]
    processes = [subprocess.Popen([*command, name]) for name in ("a", "b")]  # noqa: S603
    assert [process.wait() for process in processes] == [0, 0]
    assert len(rows(history)) == 60
    assert set(column(history, "commit")) == {f"{who}{n}" for who in "ab" for n in range(15)}
    assert sorted(set(map(int, column(history, "order")))) == list(range(1, 31))


@pytest.mark.parametrize(
    ("limit", "zeros", "message"),
    [
        ({"max_bytes": 1 << 20}, 2 << 20, "larger than"),
        ({"max_keys": 3}, 1, "4 columns; at most 3"),
    ],
)
def test_limits_are_those_of_the_history_too(
    tmp_path: Path, limit: dict[str, int], zeros: int, message: str
) -> None:
    output, history = tmp_path / "out.json", tmp_path / "history.csv"
    output.write_text('[{"name": "sort", "unit": "ms", "value": 4.5}]')
    content = "order,commit,test,value\n1,a1,sort," + "0" * zeros + "4\n"
    history.write_text(content)
    with pytest.raises(DataError, match=message):
        append(history, [output], ReadOptions(commit="b2", **limit))  # type: ignore[arg-type]
    assert history.read_text() == content


def test_builds_written_with_a_sign_are_continued(tmp_path: Path) -> None:
    output, history = tmp_path / "out.json", tmp_path / "history.csv"
    output.write_text('[{"name": "sort", "unit": "ms", "value": 4.5}]')
    history.write_text("order,commit,test,value\n#11,a1,sort,4\n#12,b2,sort,4\n")
    assert append(history, [output], ReadOptions(commit="c3")).commits == {"c3": 13}


def test_converted_results_keep_the_unit_of_their_values(tmp_path: Path) -> None:
    both = [{"name": "sort", "unit": unit, "value": 4.5} for unit in ("ms", "s")]
    path = tmp_path / "out.json"
    path.write_text(json.dumps(both), encoding="utf-8")
    history = tmp_path / "history.csv"
    add(history, path, commit="a1")
    assert (column(history, "unit"), column(history, "value")) == (["ms"] * 2, ["4.5", "4500"])
    assert read_files([history]).history.values.tolist() == [2252.25]


def no_locks(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Make locks of folders fail, as on a file system without them."""
    lock = fcntl.flock

    def flock(handle: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(code, os.strerror(code))
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)


NO_LOCKS = [errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL]


@pytest.mark.parametrize("code", NO_LOCKS)
def test_where_folders_have_no_locks_a_file_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    no_locks(monkeypatch, code)
    history = tmp_path / "history.csv"
    new = [output(tmp_path, 5, name=f"out{k}.json") for k in range(12)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda k: add(history, new[k], commit=f"c{k}"), range(12)))
    assert sorted(column(history, "order"), key=int) == [str(k) for k in range(1, 13)]
    assert len(set(column(history, "commit"))) == 12
    assert not list(tmp_path.glob(".*"))


def test_lock_of_a_file_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_locks(monkeypatch, errno.EBADF)
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    history = tmp_path / "history.csv"
    with (
        files.locked(history),
        pytest.raises(DataError, match=r"history\.csv: another process has been writing to it"),
    ):
        add(history, output(tmp_path, 5), commit="a1")
    add(history, output(tmp_path, 5), commit="a1")


def test_cpu_is_a_column_and_no_part_of_the_identity(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    for number, cpu in enumerate(["EPYC 7763", "EPYC 7763", "Xeon, 8370C"]):
        files = [output(tmp_path, 5.0 + number)]
        append(history, files, ReadOptions(commit=f"a{number}"), "", NOTHING, RunContext(), cpu)
    assert column(history, "cpu") == ["EPYC 7763", "EPYC 7763", "Xeon, 8370C"]
    loaded = read_files([history], context=RunContext())
    assert [(str(one.id), one.values.tolist()) for one in loaded.history] == [("b0", [5, 6, 7])]
    assert not any("ignored" in note for note in loaded.notes)


def test_cpu_in_the_file_counts_before_that_of_the_job(tmp_path: Path) -> None:
    table, history = tmp_path / "run.csv", tmp_path / "history.csv"
    table.write_text("test,value,CPU\nsort,1,M1\nscan,2,\n", encoding="utf-8")
    for cpu in ("EPYC", None):
        append(history, [table], ReadOptions(commit="a1"), "", NOTHING, RunContext(), cpu)
        written = [row["cpu"] for row in sorted(rows(history), key=lambda row: row["value"])]
        assert written == (["M1", "EPYC"] if cpu else ["", ""])
    # A history was measured by other jobs.
    table.write_text("test,commit,value\nsort,a1,1\nsort,a2,2\n", encoding="utf-8")
    append(tmp_path / "new.csv", [table], ReadOptions(), "", NOTHING, RunContext(), "EPYC")
    assert "cpu" not in rows(tmp_path / "new.csv")[0]


def test_series_whose_identity_has_the_cpu_keep_it(tmp_path: Path) -> None:
    history, new = tmp_path / "history.csv", tmp_path / "new.csv"
    history.write_text("order,commit,test,args.cpu,value\n1,a1,sort,M1,4\n", encoding="utf-8")
    new.write_text("test,args.cpu,value\nsort,M1,5\n", encoding="utf-8")
    append(history, [new], ReadOptions(commit="a2"), "", NOTHING, RunContext(), "Apple M1")
    loaded = read_files([history], context=RunContext()).history
    assert [(str(one.id), one.values.tolist()) for one in loaded] == [("sort cpu=M1", [4, 5])]
    assert column(history, "cpu") == ["", "Apple M1"]


def test_column_of_numbers_called_cpu_is_no_model(tmp_path: Path) -> None:
    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"
    wide.write_text("commit,cpu,p50\na1,88,5\na2,91,6\n", encoding="utf-8")
    long.write_text("commit,test,cpu,value\na1,b,88,5\na2,b,91,6\n", encoding="utf-8")
    assert [str(i) for i in read_files([wide]).history.ids] == ["wide/cpu", "wide/p50"]
    assert any("columns ignored: cpu" in note for note in read_files([long]).notes)
