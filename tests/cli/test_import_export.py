"""`barograph import` and `export`: what goes into a store comes out of it again."""

import errno
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from barograph.cli.options import open_store
from barograph.results.history import History
from barograph.results.series import SeriesId
from barograph.server.store import Measurement, commit_details, export
from barograph.server.triage.suspects import KnownRange, known_ranges
from barograph.sources import open_source
from tests.cli.store_commands import run, run_json, write
from tests.repositories import Made, make_repository
from tests.service.models import small_pair
from tests.sources.documents import load

pytestmark = pytest.mark.usefixtures("workplace")


@pytest.mark.parametrize("command", ["score", "import"])
def test_rejected_points_are_reported_with_their_reason(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    run(capsys, "import", write("results.csv", by=0.0))
    head = "project,test,order,commit,value"
    Path("new.csv").write_text(f"{head}\ndb,query,29,other,100\ndb,query,30,c30,100\n")
    code, out, err = run(capsys, command, "new.csv", "--format", "json")
    reason = "commit: order 29 of this series is 'c29'"
    assert (code, json.loads(out)["reasons"]) == (1, {reason: 1})
    assert f"1 point rejected: {reason} (1 time)" in err
    assert f"rejected: db/query/-, order 29: {reason}\n" in err
    Path("none.csv").write_text(f"{head}\ndb,query,29,other,100\n")
    assert run(capsys, command, "none.csv")[0] == 1


def test_import_names_at_most_twenty_rejected_points(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "import", write("results.csv", by=0.0))
    rows = "".join(f"db,query,{k},other{k},100\n" for k in range(25))
    Path("new.csv").write_text(f"project,test,order,commit,value\n{rows}db,query,30,c30,100\n")
    code, out, err = run(capsys, "import", "new.csv")
    assert code == 1
    assert "1 written" in out
    lines = err.splitlines()
    assert sum(line.startswith("rejected: db/query/-, order ") for line in lines) == 20
    assert "rejected: 5 more points" in lines
    assert max(map(len, lines)) <= 300


def test_import_export_and_import_again(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("results.csv")
    assert run_json(capsys, "import", name)[1]["points"]["written"] == 60
    assert run_json(capsys, "import", name)[1]["points"]["duplicate"] == 60
    code, output = run_json(capsys, "export", "out")
    assert (code, output["series"], output["points"]) == (0, 2, 60)
    history = History.read("out")
    assert len(history) == 2
    assert history.values.size == 60


def test_large_numbers_have_separators(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"query,{k},{100 + k % 3}\n" for k in range(1200))
    Path("long.csv").write_text(f"test,order,value\n{rows}")
    assert "points: 1,200 written" in run(capsys, "import", "long.csv")[1]
    assert "1,200 points" in run(capsys, "export", "out")[1]
    deleted = run(capsys, "series", "delete", "query")[1]
    assert deleted.startswith("1,200 results")


def test_import_stores_subjects_and_authors_that_git_knows(
    capsys: pytest.CaptureFixture[str], workplace: Path
) -> None:
    name = make_repository(workplace, {"Use fewer locks": Made()})["Use fewer locks"]
    rows = [f"db,query,{k},{commit},{k}" for k, commit in enumerate([name, "f" * 40])]
    Path("results.csv").write_text("\n".join(["project,test,order,commit,value", *rows, ""]))
    run(capsys, "import", "results.csv", "--store", "s.db")
    with open_store("s.db") as store, store.read() as connection:
        details = commit_details.find(connection, "db", [name, "f" * 40])
    assert [detail.subject for detail in details.values()] == ["Use fewer locks", ""]
    assert details[name].author == "A"


def test_import_in_a_repository_stores_the_commits_between_the_measured_ones(
    capsys: pytest.CaptureFixture[str], workplace: Path
) -> None:
    made = {
        "root": Made(),
        "first": Made(("root",), 1),
        "branch": Made(("root",), 2, "topic"),
        "merge": Made(("first", "branch"), 3),
        "fix": Made(("merge",), 4),
        "last": Made(("fix",), 5),
    }
    hashes = make_repository(workplace, made)
    names = [hashes["first"], hashes["merge"][:9], hashes["last"]]
    rows = [f"db,query,{k},{commit},{k}" for k, commit in enumerate(names)]
    Path("results.csv").write_text("\n".join(["project,test,order,commit,value", *rows, ""]))
    run(capsys, "import", "results.csv", "--store", "s.db")
    with open_store("s.db") as store, store.read() as connection:
        known = known_ranges(connection, "db", [(0, 1), (1, 2)])
        details = commit_details.find(connection, "db", [hashes["fix"]])
    assert known[0, 1] == KnownRange(((None, hashes["branch"]), (1, names[1])), True)
    assert known[1, 2] == KnownRange(((None, hashes["fix"]), (2, names[2])), True)
    assert details[hashes["fix"]].subject == "fix"


def test_export_is_a_source_of_every_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(capsys, "import", write("results.csv"))
    with open_store("share/barograph/barograph.db", small_pair()) as store:
        name = SeriesId("db", "", "", "query", "")
        store.ingest([Measurement(name, 101.0, 3, "c3", run) for run in ("2", "3")], "ci")
    run(capsys, "recompute")
    code, output = run_json(capsys, "export", "out")
    assert (code, output["points"], output["runs"]) == (0, 60, 3)
    assert run_json(capsys, "import", "out", "--store", "s.db")[1]["points"]["written"] == 62
    assert run_json(capsys, "import", "out", "--store", "s.db")[1]["points"]["duplicate"] == 62
    report = load(open_source("files", "out"), "interim")
    assert report.skipped_share("points") == 0
    assert History.read("interim").values.size == 60
    for command in ("detect", "gate", "score"):
        assert run(capsys, command, "out")[0] in (0, 2)


def test_export_is_a_snapshot(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = export.export_tables

    def interrupted(*arguments: Any) -> dict[str, int]:
        counts = written(*arguments)
        assert run(capsys, "import", write("more.csv", length=40), "--store", "s.db")[0] == 0
        return counts

    monkeypatch.setattr(export, "export_tables", interrupted)
    run(capsys, "import", write("results.csv"), "--store", "s.db")
    code, output = run_json(capsys, "export", "out", "--store", "s.db")
    assert (code, output["points"]) == (0, 60)
    archived = run_json(capsys, "import", "out", "--restore", "--store", "second.db")[1]
    assert archived["points"] == 60
    assert run_json(capsys, "export", "later", "--store", "s.db")[1]["points"] == 80


def test_full_disk_is_reported_in_plain_words_with_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file")

    run(capsys, "import", write("results.csv"), "--store", "s.db")
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    code, _, error = run(capsys, "export", "out", "--store", "s.db")
    assert (code, error) == (1, "barograph: out/points.parquet: no space left on device\n")
    assert not Path("out").exists()
    assert not list(Path().glob(".out.*"))


def test_restore_copies_a_whole_store(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"query,{k},{100 + k % 3}" for k in range(30)]
    Path("results.csv").write_text("\n".join(["test,order,value", *rows, ""]))
    run_json(capsys, "import", "results.csv", "--store", "first.db")
    assert run(capsys, "export", "out", "--store", "first.db")[0] == 0
    code, output = run_json(capsys, "import", "out", "--restore", "--store", "second.db")
    assert (code, output["points"], output["models"]) == (0, 30, 1)
    assert run(capsys, "import", "out", "--restore", "--store", "second.db")[0] == 1
    text = run(capsys, "import", "out", "--restore", "--store", "third.db")[1]
    assert text.startswith("rows restored: ")
    assert "points 30" in text
