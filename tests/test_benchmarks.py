"""`make bench` leaves no benchmark out, and renders whatever it is given."""

from pathlib import Path

import every

HERE = Path(__file__).resolve().parent.parent / "benchmarks"
SHARED = {"side_by_side", "every"}


def test_every_script_with_an_output_option_is_run() -> None:
    scripts = {p.stem for p in HERE.glob("*.py") if "arguments(" in p.read_text()}
    assert scripts - SHARED == set(every.BENCHMARKS)


def test_a_section_holds_rows_and_the_rest() -> None:
    found = {
        "title": "speed",
        "rows": [{"who": "ours", "seconds": 0.123456}],
        "machine": {},
        "n": 3,
    }
    assert every.section(found) == (
        "## speed\n\n| who | seconds |\n|---|---|\n| ours | 0.1235 |\n\n- n: 3"
    )
