"""Run all benchmarks one after the other, and write one page: `make bench`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from side_by_side import arguments, machine

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "data" / "reports" / "benchmarks.md"
# In the order of the page; the other modules are helpers.
BENCHMARKS = (
    "human_marks",
    "online_marks",
    "gate",
    "job_alarms",
    "machine",
    "hindsight",
    "self_taught",
    "retraining",
    "newest_commit",
    "limit",
    "beside_otava",
    "speed",
    "service",
    "board",
)


def main() -> None:
    """Run the benchmarks and write the page, which also names those that failed."""
    json_only = arguments(__doc__ or "").parse_args().output == "json"
    results = [table for name in BENCHMARKS for table in run_benchmark(name)]
    if json_only:
        print(json.dumps(results))
        return
    page = "\n\n".join(["# Benchmarks", machine_line(), *map(section, results)])
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page + "\n", encoding="utf-8")
    print(page)


def run_benchmark(name: str) -> list[dict[str, Any]]:
    """Run a benchmark in a separate process, and return the tables that it printed as JSON."""
    print(f"benchmark {name} ...", file=sys.stderr)
    command = [sys.executable, str(HERE / f"{name}.py"), "--format", "json"]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        return [{"title": name, "rows": [], "failed": f"exit status {process.returncode}"}]
    printed = [line for line in process.stdout.splitlines() if line.startswith("{")]
    return [{"title": name, "rows": [], **json.loads(line)} for line in printed]


def machine_line() -> str:
    """Describe the machine in one line."""
    return ", ".join(f"{name} {value}" for name, value in machine().items())


def section(result: dict[str, Any]) -> str:
    """Render a benchmark: its title, its rows, and its other figures."""
    lines = [f"## {result.pop('title')}", ""]
    rows = result.pop("rows")
    result.pop("machine", None)
    if rows:
        names = list(rows[0])
        lines += ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
        lines += ["| " + " | ".join(cell(row[name]) for name in names) + " |" for row in rows]
        lines.append("")
    lines += [f"- {name}: {cell(value)}" for name, value in result.items()]
    return "\n".join(lines)


def cell(value: object) -> str:
    """Render a value; floats with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
