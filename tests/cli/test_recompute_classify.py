"""`barograph recompute` and `classify`: candidates of stored and of read results."""

from pathlib import Path

import pytest

from barograph.results.history import History
from tests.cli.store_commands import run, run_json, write_steps

pytestmark = pytest.mark.usefixtures("workplace")


def test_recompute_finds_and_scores_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    write_steps("steps.csv")
    run(capsys, "import", "steps.csv")
    Path("data/release/label_free.baro").unlink()  # the built-in model is sure of the step
    code, output = run_json(capsys, "recompute")
    assert (code, output["series"], output["added"]) == (0, 1, 1)
    assert run_json(capsys, "recompute")[1]["added"] == 0
    run(capsys, "export", "out")
    assert History.read("out").candidates.index.tolist() == [20]
    code, output = run_json(capsys, "classify", "out")
    assert (code, output["total"]) == (0, 1)
    assert output["candidates"][0]["commit"] is None
    assert 0 <= output["candidates"][0]["probability"] <= 1


def test_recompute_counts_what_it_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_steps("steps.csv")
    run(capsys, "import", "steps.csv")
    Path("data/release/label_free.baro").unlink()  # the built-in model is sure of the step
    assert run(capsys, "recompute")[1].startswith("1 series: 1 candidate added, 0 moved, ")


def test_classify_finds_candidates_if_the_source_has_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_steps("steps.csv")
    code, output = run_json(capsys, "classify", "steps.csv")
    assert (code, output["total"]) == (0, 1)
    _, detected = run_json(capsys, "detect", "steps.csv", "--min-probability", "0")
    [change] = detected["series"][0]["change_points"]
    [best] = output["candidates"]
    assert (best["order"], best["probability"]) == (change["order"], change["probability"])
    assert best["reasons"] == change["reasons"]
    first, why, last = run(capsys, "classify", "steps.csv")[1].splitlines()
    assert first == f" {best['probability']:.0%}".replace("%", " % real  order 20  db/query/-")
    assert all(reason["text"] in why for reason in best["reasons"])
    verb = "is" if output["real"] else "are"
    assert last == f"{output['real']} of 1 candidate {verb} probably real"


def test_classify_exits_3_without_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    Path("flat.csv").write_text("test,order,value\n" + "".join(f"a,{k},1.0\n" for k in range(30)))
    code, _, error = run(capsys, "classify", "flat.csv")
    assert code == 3
    assert error.endswith("barograph: flat.csv: no change point\n")


def test_classify_names_series_like_every_command(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["project,test,measurement,order,value"]
    rows += [
        f"db,query,{what},{k},{100 + k % 3 + 30 * (k > 19)}" for what in "ab" for k in range(40)
    ]
    Path("results.csv").write_text("\n".join([*rows, ""]))
    run(capsys, "import", "results.csv")
    run(capsys, "recompute")
    run(capsys, "export", "tables")
    code, output = run_json(capsys, "classify", "tables")
    assert code == 0
    assert {candidate["name"] for candidate in output["candidates"]} == {"db/query/a", "db/query/b"}
