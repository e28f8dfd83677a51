"""`make bench` runs every benchmark and renders its results."""

from pathlib import Path

import every

HERE = Path(__file__).resolve().parent.parent / "benchmarks"
SHARED = {"side_by_side", "every"}


def test_bench_runs_every_script_with_a_format_option() -> None:
    scripts = {p.stem for p in HERE.glob("*.py") if "arguments(" in p.read_text()}
    assert scripts - SHARED == set(every.BENCHMARKS)


def test_section_renders_rows_and_notes() -> None:
    found = {
        "title": "speed",
        "rows": [{"who": "ours", "seconds": 0.123456}],
        "machine": {},
        "n": 3,
    }
    assert every.section(found) == (
        "## speed\n\n| who | seconds |\n|---|---|\n| ours | 0.1235 |\n\n- n: 3"
    )
