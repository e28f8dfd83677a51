"""`barograph score`: results are stored and judged, and a regression fails the job."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barograph.models import OnlineModels
from tests.cli.store_commands import learned_pair, run, run_json, write
from tests.service.models import small_model
from tests.training.online_histories import learned

pytestmark = pytest.mark.usefixtures("workplace")


def test_score_fails_on_a_regression_and_repeats_its_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = write("results.csv")
    code, output = run_json(capsys, "score", name)
    assert code == 2
    assert output["points"]["written"] == 60
    [answer] = output["regressions"]
    assert (answer["series"], answer["order"]) == ("db/query/-", 29)
    assert answer["percent"] == pytest.approx(30, abs=3)
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
    OnlineModels.default().save("online.baro")
    code, output = run_json(capsys, "score", "results.csv", "--model", "online.baro")
    [answer] = output["series"]
    assert answer["answer"] == "change"
    assert answer["percent"] == pytest.approx(-10, abs=0.5)
    assert (code, output["regressions"], output["improvements"]) == (0, [], [answer])


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
    assert [answer["baseline_size"] for answer in output["series"]] == [30]
    assert run(capsys, "score", "new.csv", "--min-change", "90")[0] == 0


def scored(
    capsys: pytest.CaptureFixture[str], values: Sequence[float], *options: str, rerun: str = ""
) -> tuple[int, dict[str, Any], str]:
    """Return the exit code, the answer and the text of `score` on the last of some values."""
    head = "project,test,order,commit,direction,run,value"
    rows = [f"db,query,{k},c{k},-1,,{value!r}" for k, value in enumerate(values)]
    if rerun:
        rows = [f"db,query,{len(values) - 1},c{len(values) - 1},-1,{rerun},{values[-1]!r}"]
    Path("r.csv").write_text("\n".join([head, *rows, ""]))
    options = (*options, "--model", "models/online.baro")
    code, output = run_json(capsys, "score", "r.csv", *options)
    [answer] = output["series"]
    return code, answer, run(capsys, "score", "r.csv", *options)[1]


def test_score_is_red_at_one_commit_and_names_it_as_known_later(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned_pair()
    steady = np.random.default_rng(2).normal(100.0, 0.5, 90).tolist()
    answers = [scored(capsys, [*steady, *[130.0] * k]) for k in range(1, 9)]
    assert [code for code, _, _ in answers].count(2) == 1
    first = [code for code, _, _ in answers].index(2)
    assert first <= 3
    assert abs(answers[first][1]["begins"] - 90) <= 1
    assert 15 < answers[first][1]["percent"] < 31
    for code, answer, text in answers[first + 1 :]:
        assert (code, answer["answer"]) == (0, "quiet")
        assert answer["known_since"] in ("c89", "c90")
        assert text.startswith("known ")
        assert f"at {answer['known_since']}" in text
        assert answer["probability"] > 0.5
    assert {code for code, _, _ in answers[:first]} <= {0, 4}


def test_score_asks_for_a_rerun_of_a_suspect_and_settles_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("models").mkdir()
    OnlineModels.default().save("models/online.baro")
    steady = np.random.default_rng(3).normal(100.0, 1.0, 90).tolist()
    jump = [*steady, 140.0]
    for store, rerun, settled in (("step.db", 141.0, 2), ("spike.db", 100.2, 0)):
        code, answer, text = scored(capsys, jump, "--store", store)
        assert (code, answer["answer"], answer["reruns"], answer["runs"]) == (4, "suspect", 1, 1)
        assert "noise units beyond the last 80 results; none of" in answer["reason"]
        assert answer["reason"].partition(";")[0] in text
        assert "run this commit once more" in text
        assert scored(capsys, jump, "--store", store)[:2] == (code, answer)
        code, answer, text = scored(capsys, [*steady, rerun], "--store", store, rerun="2")
        assert (code, answer["runs"], answer["reruns"]) == (settled, 2, 0)
        assert answer["answer"] == ("change" if settled else "quiet")
    code, answer, text = scored(capsys, [*steady, 107.0], "--store", "small.db")
    assert (code, answer["answer"]) == (0, "suspect")
    assert text.startswith("suspect")


def test_score_takes_another_value_without_a_run_for_a_correction(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned_pair()
    steady = np.random.default_rng(4).normal(100.0, 0.5, 90).tolist()
    scored(capsys, [*steady, 100.0])
    Path("r.csv").write_text("project,test,order,commit,value\ndb,query,90,c90,101.0\n")
    code, _, err = run(capsys, "score", "r.csv")
    assert code == 0
    assert "1 correction of stored results; a rerun needs another value in the column run" in err


def test_score_fails_on_a_commit_with_two_orders(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "score", write("old.csv", by=0.0))[0] == 0
    head, wrong = "project,test,order,commit,value", "db,query,31,c3,100"
    Path("new.csv").write_text(f"{head}\n{wrong}\n")
    code, _, err = run(capsys, "score", "new.csv")
    assert (code, "order: 31, but commit 'c3' of project 'db' has order 3;" in err) == (1, True)
    Path("new.csv").write_text(f"{head}\ndb,query,30,c30,100\n{wrong}\n")
    code, output, err = run(capsys, "score", "new.csv")
    assert (code, "1 point rejected: order: 31, but commit 'c3'" in err) == (1, True)
    assert "1 series judged" in output


def test_models_that_are_no_pair_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned_pair()
    write("results.csv")
    _, models = learned()
    OnlineModels(small_model(), models.confirm).save("models/other.baro")
    options = ("score", "results.csv", "--model", "models/other.baro")
    code, _, error = run(capsys, *options)
    assert (code, "tail rates" in error) == (1, True)
    OnlineModels(models.online).save("models/other.baro")
    code, _, error = run(capsys, *options)
    assert (code, "train both models again with `barograph retrain`" in error) == (1, True)
