"""`make bench` runs every benchmark and renders its results."""

import subprocess
from pathlib import Path

import every
import pytest

HERE = Path(__file__).resolve().parent.parent / "benchmarks"
SHARED = {"side_by_side", "every"}


def test_bench_runs_every_script_with_a_format_option() -> None:
    scripts = {p.stem for p in HERE.glob("*.py") if "arguments(" in p.read_text()}
    assert scripts - SHARED == set(every.BENCHMARKS)


def test_section_renders_rows_and_notes() -> None:
    result = {
        "title": "speed",
        "rows": [{"who": "ours", "seconds": 0.123456}],
        "machine": {},
        "n": 3,
    }
    assert every.section(result) == (
        "## speed\n\n| who | seconds |\n|---|---|\n| ours | 0.1235 |\n\n- n: 3"
    )


def test_all_tables_of_a_benchmark_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = '{"title": "first", "rows": [{"n": 1}]}\nprogress\n{"title": "second"}\n'

    def run(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, stdout=printed)

    monkeypatch.setattr(subprocess, "run", run)
    first, second = every.run_benchmark("any")
    assert (first["title"], first["rows"]) == ("first", [{"n": 1}])
    assert (second["title"], second["rows"]) == ("second", [])
