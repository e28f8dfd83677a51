"""Run every benchmark, one after the other, and render one page: `make bench`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from side_by_side import arguments, machine

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "data" / "reports" / "benchmarks.md"
# In the order of the page. What else lies here helps these.
BENCHMARKS = (
    "load",
    "simulator",
    "features",
    "holt",
    "human_marks",
    "detectors",
    "detector_comparison",
    "step_clusters",
    "models",
    "leznik",
    "evaluate",
    "online_marks",
    "online_settings",
    "online",
    "store",
    "service",
)


def main() -> None:
    """Run them and write the page; one that fails is named there and does not stop the others."""
    only = arguments(__doc__ or "").parse_args().output == "json"
    results = [measured(name) for name in BENCHMARKS]
    if only:
        print(json.dumps(results))
        return
    page = "\n\n".join(["# Benchmarks", described(), *map(section, results)])
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page + "\n", encoding="utf-8")
    print(page)


def measured(name: str) -> dict[str, Any]:
    """Run one benchmark in a process of its own, and return what it printed as JSON."""
    print(f"benchmark {name} ...", file=sys.stderr)
    command = [sys.executable, str(HERE / f"{name}.py"), "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return {"title": name, "rows": [], "failed": f"exit status {done.returncode}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"title": name, "rows": [], **found}


def described() -> str:
    """Return the machine in one line."""
    return ", ".join(f"{name} {value}" for name, value in machine().items())


def section(result: dict[str, Any]) -> str:
    """Render one benchmark: its title, its rows, and what else it says."""
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
    """Render one value short."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
