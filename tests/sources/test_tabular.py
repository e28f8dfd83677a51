"""Tables of our own and flat files of points: whole, in any order, and with every kind of fault."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from barograph.errors import ConfigError, DataError
from barograph.history import History
from barograph.parquet import SCHEMAS
from barograph.series import SeriesId
from barograph.sources import Document, LoadReport, load, open_source
from barograph.sources.tabular import Tabular, runs
from tests.sources.documents import Memory, change_point, series

HEAD = "project,test,order,commit,time,value\n"


def loaded(location: Path, **options: Any) -> tuple[History, LoadReport]:
    out = location.parent / "out"
    report = load(Tabular(str(location), **options), out, max_skipped_share=1.0)
    return History.read(out), report


def flat(folder: Path, text: str, name: str = "points.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def own_tables(folder: Path) -> Path:
    """Tables as the loader writes them."""
    documents = [series(f"t{n}", count=3 + n) for n in range(5)]
    documents[2]["direction"] = -1
    candidates = [change_point(f"t{n}", order=10 * (n % 2 + 1)) for n in range(5)]
    load(Memory([*documents], [*candidates]), folder)
    return folder


def as_csv(folder: Path, target: Path, ending: str = ".csv") -> Path:
    target.mkdir()
    for name in SCHEMAS:
        sink = pa.BufferOutputStream()
        csv.write_csv(pq.read_table(folder / f"{name}.parquet"), sink)
        data = sink.getvalue().to_pybytes()
        (target / f"{name}{ending}").write_bytes(gzip.compress(data) if "gz" in ending else data)
    return target


def skips(report: LoadReport) -> dict[str, tuple[str, int]]:
    """What was skipped: reason to kind and count."""
    return {
        reason: (kind, entry.count)
        for kind, reasons in report.skipped.items()
        for reason, entry in reasons.items()
    }


def same(left: Path, right: Path) -> bool:
    names = [f"{name}.parquet" for name in SCHEMAS]
    return all(pq.read_table(left / name).equals(pq.read_table(right / name)) for name in names)


@pytest.mark.parametrize("form", ["parquet", "csv", "csv.gz"])
def test_own_tables_come_back_as_they_were(tmp_path: Path, form: str) -> None:
    own = own_tables(tmp_path / "own")
    folder = own if form == "parquet" else as_csv(own, tmp_path / "csv", f".{form}")
    report = load(open_source("tabular", str(folder)), tmp_path / "out")
    assert same(own, tmp_path / "out")
    assert (report.series, report.points, report.candidates) == (5, 25, 5)
    assert skips(report) == {}


def test_documents_say_what_columns_say(tmp_path: Path) -> None:
    class AsDocuments(Tabular):
        def columns(self) -> Any:
            return self.time_series()

    own = own_tables(tmp_path / "own")
    load(AsDocuments(str(own)), tmp_path / "out")
    assert same(own, tmp_path / "out")


def test_flat_file_in_any_order(tmp_path: Path) -> None:
    rows = [
        "p,b,2,c2,2024-01-02T00:00:00+00:00,20.5",
        "p,a,1,c1,2024-01-01T00:00:00+00:00,1.5",
        "p,b,1,c1,2024-01-01T00:00:00+00:00,10.5",
        "p,a,2,c2,2024-01-02T00:00:00+00:00,2.5",
    ]
    history, report = loaded(flat(tmp_path, HEAD + "\n".join(rows)))
    assert [history.ids[k].test for k in range(2)] == ["b", "a"]
    assert history.values.tolist() == [10.5, 20.5, 1.5, 2.5]
    assert list(history.commits) == ["c1", "c2", "c1", "c2"]
    assert history.times[0] == 1_704_067_200_000
    assert report.corrected == {"points out of order, sorted": 1}


def test_arguments_by_json_and_by_column(tmp_path: Path) -> None:
    text = (
        "project,variant,task,test,measurement,args,args.threads,direction,order,value\n"
        'p,v,t,x,m,"{""size"": 3}",16,-1,1,5\n'
        "p,v,t,x,m,,8,,1,6\n"
        "p,v,t,x,m,{},,1,1,7\n"
    )
    history, _ = loaded(flat(tmp_path, text))
    base = ("p", "v", "t", "x", "m")
    assert [history.ids[k] for k in range(3)] == [
        SeriesId(*base, (("size", "3"), ("threads", "16"))),
        SeriesId(*base, (("threads", "8"),)),
        SeriesId(*base),
    ]
    assert history.directions.tolist() == [-1, 0, 1]


def test_flat_parquet_with_types_of_all_kinds(tmp_path: Path) -> None:
    table = pa.table(
        {
            "test": pa.array(["a", "a", "b"]).dictionary_encode(),
            "order": pa.array([1.0, 2.0, 3.0]),
            "value": pa.array([1, 2, 3], pa.int32()),
            "commit": pa.array([7, 8, 9]),
            "time": pa.array([0, 86_400, 2**31], pa.timestamp("s")),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    history, _ = loaded(tmp_path / "x.parquet")
    assert list(history.commits) == ["7", "8", "9"]
    assert history.values.tolist() == [1.0, 2.0, 3.0]
    assert history.times.tolist() == [0, 86_400_000, 2**31 * 1000]


FAULTS = {
    "p,a,1,c,,": "value is missing",
    "p,a,1,c,,nan": "value is not finite",
    "p,a,1,c,,-inf": "value is not finite",
    "p,a,1,c,,1e999": "value is not finite",
    "p,a,1,c,,fast": "value is not a number",
    "p,a,1,c,,1_0": "value is not a number",
    "p,a,,c,,1": "order is missing",
    "p,a,1.5,c,,1": "order is not a whole number",
    "p,a,x,c,,1": "order is not a whole number",
    f"p,a,{2**63},c,,1": "order is not a whole number",
    f"p,a,{'9' * 5000},c,,1": "order is not a whole number",
    "p,a,1,c,yesterday,1": "not a time",
    "p,a,1,c,99999999999999999999,1": "not a time",
    "p,a,1,c,1": "not as many cells as columns",
    "p,a,1,c,,1,1": "not as many cells as columns",
    ",,1,c,,1": "no identity",
}


@pytest.mark.parametrize("row", FAULTS)
def test_bad_row_is_reported_and_the_others_are_kept(tmp_path: Path, row: str) -> None:
    path = flat(tmp_path, f"{HEAD}p,a,5,c5,,5\n{row}\np,a,6,c6,,6\n")
    history, report = loaded(path)
    assert history.values.tolist() == [5.0, 6.0]
    assert skips(report) == {FAULTS[row]: ("points", 1)}
    assert report.read["points"] == 3
    example = report.skipped["points"][FAULTS[row]].examples[0]
    assert (example["file"], example["document"]) == (str(path), 2)


def test_text_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(f"{HEAD}p,a,1,c,,1\np,\N{SNOWMAN},2,".encode() + b"\xff\xfe,,2\n")
    history, report = loaded(path)
    assert history.values.tolist() == [1.0]
    assert skips(report) == {"not valid text": ("points", 1)}


def test_malformed_row_that_is_no_text_either(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(f"{HEAD}p,a,1,c,,1\n".encode() + b"\xff,a\np,a,2,c,,2\np,a,3,\xc3")
    history, report = loaded(path)
    assert history.values.tolist() == [1.0, 2.0]
    assert skips(report) == {"not as many cells as columns": ("points", 2)}


def test_name_of_a_column_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"test,order,value,\xff\na,1,1,1\n")
    with pytest.raises(DataError, match="unknown columns"):
        loaded(path)


def test_rows_are_numbered_past_malformed_and_empty_ones(tmp_path: Path) -> None:
    rows = ["p,a,1,c,,1", "p,a", "", "p,a,2,c,,2", "p", "p,a,3,c,,bad", "p,a,4,c,,4"]
    _, report = loaded(flat(tmp_path, HEAD + "\n".join(rows) + "\n"))
    malformed = report.skipped["points"]["not as many cells as columns"].examples
    assert [one["document"] for one in malformed] == [2, 4]
    assert report.skipped["points"]["value is not a number"].examples[0]["document"] == 5
    assert report.read["points"] == 6


def test_direction_must_be_one_and_the_same(tmp_path: Path) -> None:
    text = "test,order,value,direction\na,1,1,1\na,2,2,-1\na,3,3,\nb,1,1,7\n"
    history, report = loaded(flat(tmp_path, text))
    assert history.values.tolist() == [1.0, 3.0]
    assert skips(report) == {
        "not the direction of its series' first row": ("points", 1),
        "direction is not -1, 0 or 1": ("points", 1),
    }


def test_a_direction_may_be_named_as_the_service_names_it(tmp_path: Path) -> None:
    told = ["higher_is_better", "lower_is_better", "unknown", "-1", "", "up"]
    rows = [f"{name},1,1,{one}" for name, one in zip("abcdef", told, strict=True)]
    history, report = loaded(flat(tmp_path, "test,order,value,direction\n" + "\n".join(rows)))
    assert history.directions.tolist() == [1, -1, 0, -1, 0]
    reason = "direction is not -1, 0 or 1, nor one of lower_is_better, unknown, higher_is_better"
    assert skips(report) == {reason: ("points", 1)}


@pytest.mark.parametrize("args", ["[1]", "{", "7", "[" * 9999])
def test_arguments_that_are_no_object(tmp_path: Path, args: str) -> None:
    history, report = loaded(flat(tmp_path, f"test,args,order,value\na,,1,1\na,{args},2,2\n"))
    assert len(history) == 1
    assert skips(report) == {"args is not a JSON object": ("points", 1)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a readable table: Empty CSV file"),
        ("project,order\np,1\n", r"misses the columns \['value'\]"),
        ("project,order,value,thread_level\np,1,1,4\n", r"unknown columns \['thread_level'\]"),
        ("project,order,value,args.\np,1,1,4\n", r"unknown columns \['args\.'\]"),
        ("test,order,value,value\np,1,1,1\n", "two columns of one name"),
        (HEAD, "contains no time series"),
        (HEAD + 'p,a,1,"c,,1\np,a,2,c,,2\n', "runs over the end of its line"),
        (HEAD + 'p,"a\nb",1,c,,1\n', "runs over the end of its line"),
    ],
)
def test_files_that_are_no_such_table(tmp_path: Path, text: str, message: str) -> None:
    path = flat(tmp_path, text)
    with pytest.raises(DataError, match=message) as caught:
        loaded(path)
    assert str(path) in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_parquet_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a readable table"):
        loaded(flat(tmp_path, "PAR1 and then nothing", "x.parquet"))
    with pytest.raises(DataError, match=r"nowhere\.parquet: no such file"):
        loaded(tmp_path / "nowhere.parquet")
    with pytest.raises(DataError, match="cannot be read"):
        loaded(flat(tmp_path, "no gzip", "x.csv.gz"))


def test_parquet_column_of_a_wrong_type(tmp_path: Path) -> None:
    table = pa.table({"test": ["a", "a"], "order": [1, 2], "value": [True, False]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"100\.0% of 2 points are unusable.* not a number"):
        load(Tabular(str(tmp_path / "x.parquet")), tmp_path / "out")


def test_other_delimiter(tmp_path: Path) -> None:
    history, _ = loaded(flat(tmp_path, "test;order;value\na;1;1.5\n"), delimiter=";")
    assert history.values.tolist() == [1.5]
    with pytest.raises(ConfigError, match="delimiter"):
        Tabular("x.csv", delimiter="::")


def test_folder_without_its_tables(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(DataError, match="has no table points"):
        loaded(tmp_path / "in")
    own = own_tables(tmp_path / "own")
    (own / "points.csv").write_text("")
    with pytest.raises(DataError, match=r"points\.parquet.*points\.csv.*one of them"):
        loaded(own)


def test_candidates_may_be_missing(tmp_path: Path) -> None:
    own = own_tables(tmp_path / "own")
    (own / "candidates.parquet").unlink()
    history, report = loaded(own)
    assert len(history) == 5
    assert report.candidates == 0


def tables(folder: Path, series_rows: str, points: str, candidates: str = "") -> Path:
    target = folder / "in"
    target.mkdir()
    (target / "series.csv").write_text(
        "project,variant,task,test,measurement,args,direction\n" + series_rows
    )
    (target / "points.csv").write_text("series,order,commit,time,value\n" + points)
    if candidates:
        (target / "candidates.csv").write_text("series,order,commit,verdict\n" + candidates)
    return target


def test_every_row_of_a_broken_folder_is_accounted_for(tmp_path: Path) -> None:
    where = tables(
        tmp_path,
        "p,,,a,m,,\np,,,b,m,[],\nbroken\np,,,c,m,,5\np,,,d,m,,1\np,,,e,m,,\n",
        "5,2,,,1\n0,1,,,1\n0,2,,,2\n-1,1,,,1\n1,1,,,1\n2,1,,,1\n3,1,,,1\n99,1,,,1\nx,1,,,1\n"
        "4,1,,,bad\n",
        "0,2,,true_positive\n1,1,,hidden\n2,1,,hidden\n99,1,,hidden\n-5,1,,hidden\n0,y,,hidden\n"
        "0,2,,maybe\n",
    )
    history, report = loaded(where)
    assert history.values.tolist() == [1.0, 2.0, 1.0]
    assert [history.ids[k].test for k in range(2)] == ["a", "e"]
    counts = {
        (kind, reason.split(";")[0]): entry.count
        for kind, reasons in report.skipped.items()
        for reason, entry in reasons.items()
    }
    assert counts == {
        ("series", "args is not a JSON object"): 1,
        ("series", "not as many cells as columns"): 1,
        ("series", "direction is not -1, 0 or 1"): 1,
        ("series", "no usable point"): 1,
        ("points", "no such series"): 2,
        ("points", "its series was skipped"): 3,
        ("points", "order is not a whole number"): 1,
        ("points", "value is not a number"): 1,
        ("candidates", "its series was skipped"): 2,
        ("candidates", "no such series"): 2,
        ("candidates", "order is not a whole number"): 1,
        ("candidates", "unknown label"): 1,
    }
    for kind, table in (("series", "series"), ("points", "points"), ("candidates", "candidates")):
        rows = len((where / f"{table}.csv").read_text().splitlines()) - 1
        assert report.read[kind] == rows
        assert report.kept[kind] + sum(n for (k, _), n in counts.items() if k == kind) == rows


def test_same_identity_twice(tmp_path: Path) -> None:
    where = tables(tmp_path, "p,,,a,m,,\np,,,a,m,{},\n", "0,1,,,1\n1,1,,,2\n")
    history, report = loaded(where)
    assert history.values.tolist() == [1.0]
    assert report.skipped["series"]["an earlier series has the same identity"].count == 1


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.integers(-9, 9)), min_size=1, max_size=60),
    run=st.integers(1, 9),
    group=st.integers(1, 9),
)
def test_runs_and_groups_change_nothing(
    rows: list[tuple[int, int]],
    run: int,
    group: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("flat")
    text = "".join(f"s{s},{order},{place}\n" for place, (s, order) in enumerate(rows))
    path = flat(folder, "test,order,value\n" + text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "RUN", run)
        patch.setattr(runs, "GROUP", group)
        patch.setattr("barograph.sources.tabular.reading.BLOCK", 64)
        history, _ = loaded(path)
    names = list(dict.fromkeys(f"s{s}" for s, _ in rows))
    assert [history.ids[k].test for k in range(len(history))] == names
    for number, name in enumerate(names):
        found: dict[int, list[int]] = {}
        for place, (s, order) in enumerate(rows):
            if f"s{s}" == name:
                found.setdefault(order, []).append(place)
        expected = [float(np.median(found[order])) for order in sorted(found)]
        assert history.values_of(number).tolist() == expected


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    path = flat(tmp_path, "test,order,value\na,1,1\nb,1,1\n")
    stream = Tabular(str(path)).time_series()
    assert isinstance(next(stream), Document)
    assert list((tmp_path / "tmp").iterdir())
    stream.close()  # type: ignore[attr-defined]
    assert not list((tmp_path / "tmp").iterdir())


def test_many_series_and_long_ones(tmp_path: Path) -> None:
    count = 60_000
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "test": [f"t{n}" for n in rng.integers(0, 1000, count)],
            "args": [json.dumps({"n": int(n)}) for n in rng.integers(0, 2, count)],
            "order": np.arange(count),
            "value": rng.normal(size=count),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    history, report = loaded(tmp_path / "x.parquet")
    assert report.points == count
    assert len(history) == 2000
    assert np.isclose(history.values.sum(), table.column("value").to_numpy().sum())
