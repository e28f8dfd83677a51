"""The commands around the embedded store, as a shell runs them."""

import csv
import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.cli import COMMANDS, group, main
from barograph.cli.options import open_store
from barograph.evaluation import replay as replaying
from barograph.history import History
from barograph.models import OnlineModels, TriageModel
from barograph.parquet import SCHEMAS
from barograph.series import SeriesId
from barograph.sources import load, open_source
from barograph.store import Measurement, commit_details, export
from tests.repositories import Made, make_repository
from tests.service.models import small_model
from tests.training.online_histories import histories, learned


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
    output = capsys.readouterr()
    return int(left.value.code or 0), output.out, output.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code, out, _ = run(capsys, *arguments, "--format", "json")
    return code, json.loads(out)


def test_score_fails_on_a_regression_and_repeats_its_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = write("results.csv")
    code, output = run_json(capsys, "score", name)
    assert code == 2
    assert output["points"]["written"] == 60
    [one] = output["regressions"]
    assert (one["series"], one["order"]) == ("db/query/-", 29)
    assert one["percent"] == pytest.approx(30, abs=3)
    code, again = run_json(capsys, "score", name)
    assert code == 2
    assert again["points"] == {"written": 0, "duplicate": 60, "revised": 0, "rejected": 0}
    assert again["regressions"] == output["regressions"]


def test_score_reads_the_json_lines_of_the_service(capsys: pytest.CaptureFixture[str]) -> None:
    with Path(write("results.csv")).open() as file:
        rows = [*csv.DictReader(file)]
    for row in rows:
        typed = {"order": int(row["order"]), "value": float(row["value"]), "args": {}}
        line = json.dumps({**row, **typed, "direction": "lower_is_better"})
        with Path("results.ndjson").open("a") as lines:
            lines.write(f"{line}\n")
    expected = run_json(capsys, "score", "results.csv", "--store", "csv.db")
    assert run_json(capsys, "score", "results.ndjson", "--store", "json.db") == expected
    assert expected[0] == 2


def test_score_compares_a_result_with_the_level_before_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    noise = np.random.default_rng(0).normal(0.0, 0.5, 120)
    values = [*(noise[:60] + 100.0), *(noise[60:] + 200.0), 180.0]
    rows = [f"query,{k},-1,{value!r}" for k, value in enumerate(map(float, values))]
    Path("results.csv").write_text("\n".join(["test,order,direction,value", *rows, ""]))
    TriageModel.default("online").save("online.baro")
    code, output = run_json(capsys, "score", "results.csv", "--model", "online.baro")
    [one] = output["series"]
    assert one["answer"] == "change"
    assert one["percent"] == pytest.approx(-10, abs=0.5)
    assert (code, output["regressions"], output["improvements"]) == (0, [], [one])


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
def test_score_respects_the_direction(
    capsys: pytest.CaptureFixture[str], options: dict[str, Any], expected: int
) -> None:
    assert run(capsys, "score", write("results.csv", **options))[0] == expected


def test_score_accepts_results_one_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "score", write("old.csv", by=0.0))[0] == 0
    Path("new.csv").write_text("project,test,order,commit,value\ndb,query,30,c30,150\n")
    code, output = run_json(capsys, "score", "new.csv")
    assert code == 2
    assert [one["baseline_size"] for one in output["series"]] == [30]
    assert run(capsys, "score", "new.csv", "--min-change", "90")[0] == 0


@pytest.mark.parametrize("command", ["score", "import"])
def test_rejected_points_are_reported_with_their_reason(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    run(capsys, "import", write("results.csv", by=0.0))
    head = "project,test,order,commit,value"
    Path("new.csv").write_text(f"{head}\ndb,query,29,other,100\ndb,query,30,c30,100\n")
    code, out, err = run(capsys, command, "new.csv", "--format", "json")
    reason = "commit: order 29 of this series is 'c29'"
    assert (code, json.loads(out)["reasons"]) == (command == "import", {reason: 1})
    assert f"1 points were rejected: {reason} (1 times)" in err
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


def test_import_stores_subjects_and_authors_that_git_knows(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    name = make_repository(place, {"Use fewer locks": Made()})["Use fewer locks"]
    rows = [f"db,query,{k},{commit},{k}" for k, commit in enumerate([name, "f" * 40])]
    Path("results.csv").write_text("\n".join(["project,test,order,commit,value", *rows, ""]))
    run(capsys, "import", "results.csv", "--store", "s.db")
    with open_store("s.db") as store, store.read() as connection:
        found = commit_details.find(connection, "db", [name, "f" * 40])
    assert [one.subject for one in found.values()] == ["Use fewer locks", ""]
    assert found[name].author == "A"


def test_export_is_a_source_of_every_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(capsys, "import", write("results.csv"))
    with open_store("share/barograph/barograph.db", OnlineModels(small_model())) as store:
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


def write_steps(name: str) -> None:
    """Write a series with a step in the middle."""
    rows = ["project,test,order,value"]
    rows += [f"db,query,{k},{100 + k % 3 + (50 if k >= 20 else 0)}" for k in range(40)]
    Path(name).write_text("\n".join([*rows, ""]))


def test_recompute_finds_and_scores_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    write_steps("steps.csv")
    run(capsys, "import", "steps.csv")
    code, output = run_json(capsys, "recompute", "--min-probability", "0")
    assert (code, output["series"], output["added"]) == (0, 1, 1)
    assert run_json(capsys, "recompute", "--min-probability", "0")[1]["added"] == 0
    run(capsys, "export", "out")
    assert History.read("out").candidates.index.tolist() == [20]
    code, output = run_json(capsys, "classify", "out", "--workers", "1")
    assert (code, output["total"]) == (0, 1)
    assert output["candidates"][0]["commit"] is None
    assert 0 <= output["candidates"][0]["probability"] <= 1


def test_recompute_follows_the_reporting_rule_of_the_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_steps("steps.csv")
    run(capsys, "import", "steps.csv")
    assert run_json(capsys, "recompute", "--min-probability", "1")[1]["added"] == 0
    Path("data/release/label_free.baro").unlink()  # the built-in model is sure of the step
    assert run_json(capsys, "recompute")[1]["added"] == 1


def test_classify_finds_candidates_if_the_source_has_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_steps("steps.csv")
    code, output = run_json(capsys, "classify", "steps.csv", "--workers", "1")
    assert (code, output["total"]) == (0, 1)
    _, detected = run_json(capsys, "detect", "steps.csv", "--min-probability", "0")
    [found] = detected["series"][0]["change_points"]
    [best] = output["candidates"]
    assert (best["order"], best["probability"]) == (found["order"], found["probability"])
    assert best["reasons"] == found["reasons"]
    first, why, last = run(capsys, "classify", "steps.csv")[1].splitlines()
    assert first == f" {best['probability']:.0%}".replace("%", " % real  20  db/query/-")
    assert all(reason["text"] in why for reason in best["reasons"])
    verb = "is" if output["real"] else "are"
    assert last == f"{output['real']} of 1 candidate {verb} probably real"


def test_classify_exits_3_without_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    Path("flat.csv").write_text("test,order,value\n" + "".join(f"a,{k},1.0\n" for k in range(30)))
    code, _, error = run(capsys, "classify", "flat.csv", "--workers", "1")
    assert code == 3
    assert error.endswith("barograph: flat.csv: no change point\n")


@pytest.mark.parametrize(
    "arguments",
    [("export", "tables"), ("recompute",), ("token", "list"), ("token", "revoke", "ci")],
)
def test_mistyped_store_is_an_error_and_not_created(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = run(capsys, *arguments, "--store", "absent.db")
    assert code == 1
    assert error == (
        "barograph: --store absent.db: no such store; score, import and serve create one\n"
    )
    assert not Path("absent.db").exists()


def test_classify_names_series_like_every_command(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["project,test,measurement,order,value"]
    rows += [
        f"db,query,{what},{k},{100 + k % 3 + 30 * (k > 19)}" for what in "ab" for k in range(40)
    ]
    Path("results.csv").write_text("\n".join([*rows, ""]))
    run(capsys, "import", "results.csv")
    run(capsys, "recompute")
    run(capsys, "export", "tables")
    code, output = run_json(capsys, "classify", "tables", "--workers", "1")
    assert code == 0
    assert {one["name"] for one in output["candidates"]} == {"db/query/a", "db/query/b"}


def test_replay_judges_every_point(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("results.csv")
    code, output = run_json(capsys, "replay", name, "--workers", "1", "--out", "replayed")
    assert (code, output["points"]) == (0, 60)
    assert output["found"] >= 1
    lines = Path("replayed/found.csv").read_text().splitlines()
    assert len(lines) == output["found"] + 1
    assert sorted(path.name for path in Path("replayed").iterdir()) == [
        *("found.csv", "found.parquet")
    ]


def learned_pair() -> None:
    _, models = learned()
    Path("models").mkdir()
    OnlineModels(models.online, models.confirm).save("models/online.baro")


def marked_tables() -> None:
    """Steps and spikes that people judged, as tables."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    found = histories(3)
    for number in range(6):
        values = found.values[220 * number : 220 * (number + 1)].tolist()
        rows["series"].append({"project": "db", "test": f"t{number}", "args": "{}", "direction": 0})
        rows["points"] += [
            {"series": number, "order": k, "commit": f"c{k}", "value": value}
            for k, value in enumerate(values)
        ]
        both = [(at, "true_positive") for at in found.marks[number][0]]
        rows["candidates"] += [
            {"series": number, "index": at, "order": at, "commit": f"c{at}", "verdict": verdict}
            for at, verdict in sorted([*both, (15, "false_positive")])
        ]
    Path("tables").mkdir()
    for name, schema in SCHEMAS.items():
        pq.write_table(pa.Table.from_pylist(rows[name], schema), f"tables/{name}.parquet")


def test_replay_with_a_second_look_is_compared_with_verdicts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned_pair()
    marked_tables()
    options = ("--model", "models/online.baro", "--workers", "1", "--out", "out")
    _, alone = run_json(capsys, "replay", "tables", *options)
    again = ("--second-look", "--alarm-policy", "sure", "--false-alarms-per-1000", "10")
    code, output = run_json(capsys, "replay", "tables", *options, *again)
    assert code == 0
    assert output["alarms_per_series"] == output["alarms"] / 6
    assert output["found_by_verdict"]["true_positive"] >= 8
    assert output["delay"]["share_within_0"] == 0 < alone["delay"]["share_within_0"]
    assert output["auc"] == alone["auc"] > 0.9
    text = run(capsys, "replay", "tables", *options, *again)[1]
    assert f"AUC {output['auc']:.3f}" in text
    # What was done before the last part failed is not done again.
    monkeypatch.setattr("barograph.cli.bulk.SERIES", 2)
    whole = Path("out/found.csv").read_bytes()
    judge, done = replaying._replay, []

    def failing(task: replaying.ReplayTask, series: Sequence[Any]) -> Any:
        done.append(len(series))
        if len(done) == 3:
            raise OSError("killed")
        return judge(task, series)

    monkeypatch.setattr(replaying, "_replay", failing)
    assert run(capsys, "replay", "tables", *options, *again)[0] == 1
    assert len(list(Path("out/.parts").iterdir())) == 2
    assert run(capsys, "replay", "tables", *options, *again)[0] == 0
    assert (len(done), Path("out/found.csv").read_bytes()) == (4, whole)
    assert not Path("out/.parts").exists()


def scored(
    capsys: pytest.CaptureFixture[str], values: Sequence[float], *options: str, rerun: str = ""
) -> tuple[int, dict[str, Any], str]:
    """Return the exit code, the answer and the text of `score` on the last of some values."""
    head = "project,test,order,commit,direction,run,value"
    rows = [f"db,query,{k},c{k},-1,,{value!r}" for k, value in enumerate(values)]
    if rerun:
        rows = [f"db,query,{len(values) - 1},c{len(values) - 1},-1,{rerun},{values[-1]!r}"]
    Path("r.csv").write_text("\n".join([head, *rows, ""]))
    options = (*options, "--model", "models/online.baro", "--alarm-policy", "sure")
    code, output = run_json(capsys, "score", "r.csv", *options)
    [one] = output["series"]
    return code, one, run(capsys, "score", "r.csv", *options)[1]


def test_score_is_red_at_one_commit_and_names_it_as_known_later(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned_pair()
    steady = np.random.default_rng(2).normal(100.0, 0.5, 90).tolist()
    found = [scored(capsys, [*steady, *[130.0] * k]) for k in range(1, 9)]
    assert [code for code, _, _ in found].count(2) == 1
    first = [code for code, _, _ in found].index(2)
    assert first <= 3
    assert abs(found[first][1]["begins"] - 90) <= 1
    assert 15 < found[first][1]["percent"] < 31
    for code, one, text in found[first + 1 :]:
        assert (code, one["answer"]) == (0, "quiet")
        assert one["known_since"] in ("c89", "c90")
        assert text.startswith("known ")
        assert f"at {one['known_since']}" in text
        assert one["probability"] > 0.5
    assert {code for code, _, _ in found[:first]} <= {0, 4}


def test_score_asks_for_a_rerun_of_a_suspect_and_settles_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned_pair()
    steady = np.random.default_rng(3).normal(100.0, 0.5, 90).tolist()
    jump = [*steady, 200.0]
    for store, rerun, settled in (("step.db", 199.0, 2), ("spike.db", 100.2, 0)):
        code, one, text = scored(capsys, jump, "--store", store)
        assert (code, one["answer"], one["reruns"], one["runs"]) == (4, "suspect", 1, 1)
        assert "noise units beyond the last 80 results; none of" in one["reason"]
        assert one["reason"].partition(";")[0] in text
        assert "run this commit once more" in text
        assert scored(capsys, jump, "--store", store)[:2] == (code, one)
        code, one, text = scored(capsys, [*steady, rerun], "--store", store, rerun="2")
        assert (code, one["runs"], one["reruns"]) == (settled, 2, 0)
        assert one["answer"] == ("change" if settled else "quiet")
    code, one, text = scored(capsys, [*steady, 107.0], "--store", "small.db")
    assert (code, one["answer"]) == (0, "suspect")
    assert text.startswith("suspect")


def test_score_takes_another_value_without_a_run_for_a_correction(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned_pair()
    steady = np.random.default_rng(4).normal(100.0, 0.5, 90).tolist()
    scored(capsys, [*steady, 100.0])
    Path("r.csv").write_text("project,test,order,commit,value\ndb,query,90,c90,101.0\n")
    code, _, err = run(capsys, "score", "r.csv", "--no-second-look")
    assert code == 0
    assert "1 results correct the stored value of their run" in err


def test_models_without_a_second_look_are_reported_or_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned_pair()
    write("results.csv")
    _, models = learned()
    OnlineModels(small_model(), models.confirm).save("models/other.baro")
    options = ("score", "results.csv", "--model", "models/other.baro")
    code, _, error = run(capsys, *options, "--second-look")
    assert (code, "tail rates" in error) == (1, True)
    code, _, error = run(capsys, *options, "--no-second-look")
    assert (code, error.count("second look")) == (2, 0)
    code, _, error = run(capsys, *options)
    assert (code, error.count("there is no second look")) == (2, 1)


def test_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    code, secret, _ = run(capsys, "token", "add", "ci", "--scope", "ingest")
    assert code == 0
    assert secret.startswith("baro_")
    assert run(capsys, "token", "add", "ci", "--scope", "read")[0] == 1
    listed = run_json(capsys, "token", "list")[1]
    assert listed == {"tokens": [{"name": "ci", "scopes": ["ingest"], "revoked": False}]}
    assert run(capsys, "token", "revoke", "ci")[0] == 0
    assert run(capsys, "token", "list")[1] == "ci  ingest  revoked\n"


def test_serve_needs_a_token_for_other_addresses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, error = run(capsys, "serve", "--host", "0.0.0.0")  # noqa: S104
    assert code == 1
    assert "without a token" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", "results.csv", "--model", "data/release/label_free.baro"), "label_free"),
        (("score", "results.csv", "--store", "mysql://x/y"), "mysql"),
        (("score", "none.csv"), "none.csv"),
        (("score", "results.csv", "--store", "results.csv"), "results.csv: not an SQLite database"),
        (("replay", "results.csv", "--scheduler", "tcp://127.0.0.1:1"), "cannot be reached"),
    ],
)
def test_errors_are_printed_in_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.setattr("barograph.parallel.CONNECT", 1)
    write("results.csv")
    code, _, error = run(capsys, *arguments)
    assert code == 1
    assert message in error
    assert "Traceback" not in error
    assert not list(Path().glob("*-gate"))


def test_full_disk_is_reported_in_plain_words_with_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file")

    run(capsys, "import", write("results.csv"), "--store", "s.db")
    monkeypatch.setattr(pq, "write_table", full)
    code, _, error = run(capsys, "export", "out", "--store", "s.db")
    assert (code, error) == (1, "barograph: out/series.parquet: no space left on device\n")
    assert not list(Path("out").iterdir())


TAKE_MODELS = [
    (command, option)
    for command, options in (
        (("classify", "results.csv"), ("--model",)),
        (("gate", "results.csv"), ("--model",)),
        (("import", "results.csv"), ("--model",)),
        (("recompute",), ("--model",)),
        (("detect", "results.csv"), ("--model",)),
        (("gate", "results.csv"), ("--model",)),
        (("replay", "results.csv"), ("--model",)),
        (("report", "results.csv"), ("--model",)),
        (("score", "results.csv"), ("--model",)),
        (("serve",), ("--model", "--label-free")),
    )
    for option in options
]


@pytest.mark.parametrize(("command", "option"), TAKE_MODELS)
def test_missing_model_is_never_replaced(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    option: str,
) -> None:
    import uvicorn

    monkeypatch.setattr(uvicorn, "run", lambda *_arguments, **_more: None)
    write("results.csv")
    code, _, error = run(capsys, *command, option, "typo.baro")
    assert (code, error.count("\n")) == (1, 1)
    assert error.startswith(
        f"barograph: {option} typo.baro: no such file; name an existing model, or "
    )
    assert "built-in" in error
    # The same for the default path, if it is given explicitly.
    released = f"data/release/{option.removeprefix('--').replace('-', '_')}.baro"
    Path(released).unlink(missing_ok=True)
    assert f"{option} {released}: no such file" in run(capsys, *command, option, released)[2]


def test_every_model_option_is_tested() -> None:
    named = {
        (name, option)
        for name in COMMANDS
        for parameter in (group.get_command(click.Context(group), name) or group).params
        for option in parameter.opts
        if option in ("--model", "--label-free")
    }
    assert named == {(command[0], option) for command, option in TAKE_MODELS}


def test_built_in_model_is_used_until_one_is_released(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("results.csv")
    for path in Path("data/release").iterdir():
        path.unlink()
    for second_look in ("--no-second-look", "--second-look"):
        store = ("--store", f"s{second_look}.db", second_look)
        assert run(capsys, "import", "results.csv", *store)[0] == 0
    assert run(capsys, "recompute", "--store", "s--second-look.db")[0] == 0


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
    archived = run_json(capsys, "import", "out", "--restore", "--store", "two.db")[1]
    assert archived["points"] == 60
    assert run_json(capsys, "export", "later", "--store", "s.db")[1]["points"] == 80


def test_restore_copies_a_whole_store(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"query,{k},{100 + k % 3}" for k in range(30)]
    Path("results.csv").write_text("\n".join(["test,order,value", *rows, ""]))
    run_json(capsys, "import", "results.csv", "--store", "one.db")
    assert run(capsys, "export", "out", "--store", "one.db")[0] == 0
    code, output = run_json(capsys, "import", "out", "--restore", "--store", "two.db")
    assert (code, output["points"], output["models"]) == (0, 30, 1)
    assert run(capsys, "import", "out", "--restore", "--store", "two.db")[0] == 1


def test_export_refuses_the_outputs_of_a_stage(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "score", write("results.csv"))
    stage = "{cmd: x, outs: [data/interim/points.parquet, data/raw: {persist: true}]}"
    Path("dvc.yaml").write_text(f"stages: {{load: {stage}}}\n")
    for folder in ("data/interim", "data/raw", "data/raw/export"):
        code, _, error = run(capsys, "export", folder)
        assert code == 1
        assert f"{folder}: the stage 'load' of dvc.yaml writes data/" in error
        assert "kind: store" in error
        assert len(error) <= 330
    for folder in ("exports/today", "data", "."):
        assert run(capsys, "export", folder)[0] == 0
    Path("dvc.yaml").write_text("stages: [")
    assert run(capsys, "export", "data/interim")[0] == 0


def test_series_are_renamed_merged_retired_and_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "score", write("history.csv", by=0.0), "--store", "ci.db")[0] == 0
    store = ("--store", "ci.db")
    assert run(capsys, "series", "list", *store)[1] == "1  db/query/-\n2  db/insert/-\n"
    renamed = run(capsys, "series", "rename", "db/query/-", "--test", "q", "--arg", "n=8", *store)
    assert renamed[:2] == (0, "1  db/q/- n=8\n")
    assert run(capsys, "series", "retire", "2", *store)[0] == 0
    assert "2  db/insert/-  retired" in run(capsys, "series", "list", *store)[1]
    merged = run(capsys, "series", "merge", "2", "db/q/- n=8", *store)
    assert merged[:2] == (0, "30 results moved to series 1\n")
    assert run(capsys, "series", "delete", "2", *store)[2] == "barograph: there is no series 2\n"
    pruned = run(capsys, "prune", "--older-than", "400d", "--format", "json", *store)
    assert json.loads(pruned[1])["points"] == 0
    assert "not a number of days" in run(capsys, "prune", "--older-than", "1y", *store)[2]
    deleted = run(capsys, "series", "delete", "1", "--format", "json", *store)
    assert json.loads(deleted[1]) == {"points": 30, "candidates": 0, "verdicts": 0}
    assert run(capsys, "series", "rename", "1", *store)[0] == 1
