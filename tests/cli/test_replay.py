"""`barograph replay`: every result of a history is judged as if it had just arrived."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barograph.results.parquet import SCHEMAS
from tests.cli.store_commands import learned_pair, run, run_json, write
from tests.training.online_histories import histories

pytestmark = pytest.mark.usefixtures("workplace")


def test_replay_judges_every_point(capsys: pytest.CaptureFixture[str]) -> None:
    name = write("results.csv")
    code, output = run_json(capsys, "replay", name, "--out", "replayed")
    assert (code, output["points"]) == (0, 60)
    assert output["found"] >= 1
    lines = Path("replayed/found.csv").read_text().splitlines()
    assert len(lines) == output["found"] + 1
    assert "that needs some of real and some of noise" in run(capsys, "replay", name)[2]
    assert sorted(path.name for path in Path("replayed").iterdir()) == [
        *("found.csv", "found.parquet")
    ]


def marked_tables() -> None:
    """Steps and spikes that people judged, as tables."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    histories_ = histories(3)
    for number in range(6):
        values = histories_.values[220 * number : 220 * (number + 1)].tolist()
        rows["series"].append({"project": "db", "test": f"t{number}", "args": "{}", "direction": 0})
        rows["points"] += [
            {"series": number, "order": k, "commit": f"c{k}", "value": value}
            for k, value in enumerate(values)
        ]
        both = [(place, "true_positive") for place in histories_.marks[number][0]]
        rows["candidates"] += [
            {
                "series": number,
                "index": place,
                "order": place,
                "commit": f"c{place}",
                "verdict": verdict,
            }
            for place, verdict in sorted([*both, (15, "false_positive")])
        ]
    Path("tables").mkdir()
    for name, schema in SCHEMAS.items():
        pq.write_table(pa.Table.from_pylist(rows[name], schema), f"tables/{name}.parquet")


def test_replay_with_a_second_look_is_compared_with_verdicts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned_pair()
    marked_tables()
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    options = ("--model", "models/online.baro", "--out", "out")
    strict = run_json(capsys, "replay", "tables", *options)[1]
    Path("barograph.toml").write_text("[replay]\nfalse-alarms-per-1000 = 10\n")
    code, output = run_json(capsys, "replay", "tables", *options)
    assert code == 0
    assert output["alarms"] >= strict["alarms"]
    assert output["alarms_per_series"] == output["alarms"] / 6
    assert output["found_by_verdict"]["true_positive"] >= 8
    assert output["auc"] == strict["auc"] > 0.9
    text = run(capsys, "replay", "tables", *options)[1]
    assert f"AUC {output['auc']:.3f}" in text
