"""The commands around the embedded store, as a shell runs them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.cli import main
from barograph.history import History
from tests.service.models import small_model


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own to work in, with its own store, and models that were released."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("BAROGRAPH_STORE", raising=False)
    release()
    return tmp_path


def release() -> None:
    folder = Path("data/release")
    folder.mkdir(parents=True)
    small_model().save(folder / "online.baro")
    small_model(use="label_free").save(folder / "label_free.baro")


def write(name: str, *, length: int = 30, by: float = 30.0, direction: int = -1) -> str:
    """Write two series, the first with a step at its newest point."""
    rows = ["project,test,order,commit,direction,value"]
    for test, step in (("query", by), ("insert", 0.0)):
        values = 100 + np.random.default_rng(3).standard_normal(length)
        values[-1] = 100 + step
        rows += [f"db,{test},{k},c{k},{direction},{v!r}" for k, v in enumerate(values.tolist())]
    Path(name).write_text("\n".join([*rows, ""]))
    return name


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    told = capsys.readouterr()
    return int(left.value.code or 0), told.out, told.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code, out, _ = run(capsys, *arguments, "--output", "json")
    return code, json.loads(out)


def test_score_fails_on_a_regression_and_says_the_same_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = write("results.csv")
    code, told = run_json(capsys, "score", name)
    assert code == 2
    assert told["points"]["written"] == 60
    [one] = told["regressions"]
    assert (one["series"], one["order"]) == ("db/query", 29)
    assert one["percent"] == pytest.approx(30, abs=3)
    code, again = run_json(capsys, "score", name)
    assert code == 2
    assert again["points"] == {"written": 0, "duplicate": 60, "revised": 0, "rejected": 0}
    assert again["regressions"] == told["regressions"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"by": -30.0}, 0),
        ({"by": 0.0}, 0),
        ({"by": -30.0, "direction": 1}, 2),
        ({"by": -30.0, "direction": 0}, 2),
        ({"length": 4}, 3),
    ],
)
def test_score_judges_by_the_direction(
    capsys: pytest.CaptureFixture[str], options: dict[str, Any], expected: int
) -> None:
    assert run(capsys, "score", write("results.csv", **options))[0] == expected


def test_score_takes_one_result_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "score", write("old.csv", by=0.0))[0] == 0
    Path("new.csv").write_text("project,test,order,commit,value\ndb,query,30,c30,150\n")
    code, told = run_json(capsys, "score", "new.csv")
    assert code == 2
    assert [one["pre"] for one in told["series"]] == [30]
    assert run(capsys, "score", "new.csv", "--least", "90")[0] == 0


def test_import_export_and_import_again(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("results.csv")
    assert run_json(capsys, "import", name)[1]["points"]["written"] == 60
    assert run_json(capsys, "import", name)[1]["points"]["duplicate"] == 60
    code, told = run_json(capsys, "export", "out")
    assert (code, told["series"], told["points"]) == (0, 2, 60)
    history = History.read("out")
    assert len(history) == 2
    assert history.values.size == 60


def test_recompute_finds_candidates_and_scores_them(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["project,test,order,value"]
    rows += [f"db,query,{k},{100 + k % 3 + (50 if k >= 20 else 0)}" for k in range(40)]
    Path("steps.csv").write_text("\n".join([*rows, ""]))
    run(capsys, "import", "steps.csv")
    code, told = run_json(capsys, "recompute")
    assert (code, told["series"], told["added"]) == (0, 1, 1)
    assert run_json(capsys, "recompute")[1]["added"] == 0
    run(capsys, "export", "out")
    [candidate] = History.read("out").candidates.to_pylist()
    assert candidate["index"] == 20
    code, told = run_json(capsys, "classify", "out", "--workers", "1")
    assert (code, told["candidates"]) == (0, 1)
    assert told["first"][0]["commit"] is None
    assert 0 <= told["first"][0]["probability"] <= 1


def test_classify_says_when_nothing_waits(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(capsys, "classify", write("results.csv"), "--workers", "1")
    assert code == 3
    assert "holds no candidate" in error


def test_replay_judges_every_point(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("results.csv")
    code, told = run_json(capsys, "replay", name, "--workers", "1", "--to", "replayed")
    assert (code, told["points"]) == (0, 60)
    assert told["found"] >= 1
    lines = Path("replayed/found.csv").read_text().splitlines()
    assert len(lines) == told["found"] + 1
    assert Path("replayed/found.parquet").is_file()


def test_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    code, secret, _ = run(capsys, "token", "add", "ci", "--scope", "ingest")
    assert code == 0
    assert secret.startswith("baro_")
    assert run(capsys, "token", "add", "ci", "--scope", "read")[0] == 1
    listed = run_json(capsys, "token", "list")[1]
    assert listed == {"tokens": [{"name": "ci", "scopes": ["ingest"], "revoked": False}]}
    assert run(capsys, "token", "revoke", "ci")[0] == 0
    assert run(capsys, "token", "list")[1] == "ci  ingest  revoked\n"


def test_serve_listens_to_others_only_with_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(capsys, "serve", "--host", "0.0.0.0")  # noqa: S104
    assert code == 1
    assert "without any token" in error


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("score", "results.csv", "--model", "none.baro"), "none.baro"),
        (("score", "results.csv", "--model", "data/release/label_free.baro"), "label_free"),
        (("score", "results.csv", "--store", "mysql://x/y"), "mysql"),
        (("score", "none.csv"), "none.csv"),
        (("replay", "results.csv", "--scheduler", "tcp://127.0.0.1:1"), "cannot be reached"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.setattr("barograph.evaluation.spread.CONNECT", 1)
    write("results.csv")
    code, _, error = run(capsys, *arguments)
    assert code == 1
    assert says in error
    assert "Traceback" not in error
