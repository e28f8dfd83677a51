"""The summary at the end of `make repro`."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from dvc.compare import show_metrics

from barograph.learning.candidates import shipped
from barograph.learning.metrics import METRICS, Interval
from barograph.learning.registry import card
from barograph.models.catalogue import CLASSIFIERS
from barograph.models.triage import FILES
from barograph.pipeline import evaluate, release, report
from barograph.runtime.errors import DataError
from tests.shared import ROOT

REPORTS = report.FOLDER


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write() -> None:
    """Write what the stages leave for the summary, every name and number as wide as it gets."""
    rows = [
        {
            "policy": "label_free",
            "protocol": protocol,
            "feature_set": "contrast",
            "classifier": classifier,
            "repetitions": 100,
            **dict.fromkeys(METRICS, Interval(1.0, 0.9, 1.0)),
        }
        for classifier in CLASSIFIERS
        for protocol in ("random", "grouped", "forward")
    ]
    note = "These words go on for longer than a line of any terminal is. " * 4
    table = report.markdown(evaluate.compact(rows))
    report.write_text(REPORTS / "evaluate/table.md", f"# A title\n\n{note}\n\n{table}\n\n## More\n")


def test_summary_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write()
    report.main()
    message = capsys.readouterr().out
    assert max(map(len, message.splitlines())) <= report.WIDTH
    assert "# A title" in message
    assert "These words go on" in message
    assert "## More" not in message
    assert message.count("| contrast ") == len(CLASSIFIERS)


def test_metrics_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = {use: {"auc": 0.123456789} for uses in FILES.values() for use in uses}
    shown = release.aucs({"label_free": {"metrics": metrics}})
    assert len(shown) == 4
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    (path,) = stages["release"]["metrics"][0]
    show_metrics({"workspace": {"data": {path: {"data": shown}}}})
    lines = capsys.readouterr().out.splitlines()
    assert "label_free" in lines[0]
    assert lines[1].split()[1:] == ["0.123456789"] * 4
    assert max(map(len, lines)) <= 80


def test_metrics_leave_out_models_that_were_not_learned() -> None:
    kept = shipped("label_free", "too few verdicts").model
    decisions = {"label_free": {"metrics": {kept.use: kept.metrics}}}
    assert release.aucs(decisions) == {}
    assert "AUC" not in card(kept)
    assert "AUC" not in repr(kept)


def test_summary_without_results_names_the_command() -> None:
    with pytest.raises(DataError, match=r"table\.md: no such file; run `make repro` first"):
        report.summary()


def test_summary_names_only_outputs_of_the_default_pipeline() -> None:
    text = (ROOT / "dvc.yaml").read_text()
    for place in report.NEXT:
        if place in ("params.yaml", "make studies"):
            continue
        assert place.rstrip("/") in text or place.endswith(".md")
        stage = place.split("/")[2] if place.startswith("data/reports/") else "release"
        assert f"  {stage}:\n" in text


def test_bars_in_names_do_not_divide_cells() -> None:
    lines = report.markdown(pd.DataFrame({"a|b": ["c|d"]})).splitlines()
    assert [lines[0], lines[2]] == [r"| a\|b |", r"| c\|d |"]
