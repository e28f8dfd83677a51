"""Write the graph of the stages in docs/pipeline.md from dvc.yaml.

    python tools/stages.py          # write it
    python tools/stages.py --check  # fail if it is out of date

It is a Mermaid diagram between the comments `<!-- stages -->` and `<!-- end -->`. An arrow that
follows from others is left out: a stage that reads what the last but one stage wrote, too.
"""

import re
import sys
from pathlib import Path, PurePath
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "pipeline.md"
GRAPH = re.compile(r"(<!-- stages -->\n).*?(<!-- end -->)", re.DOTALL)
DATA = "data/"
Stages = dict[str, dict[str, Any]]


def page(text: str, stages: Stages) -> str:
    """Return the page with the graph that belongs into it."""
    lines = ["", "```mermaid", "flowchart LR"]
    lines += [f"    {first} --> {second}" for first, second in arrows(stages)]
    block = "\n".join([*lines, "```", "", ""])
    return GRAPH.sub(lambda match: match[1] + block + match[2], text)


def arrows(stages: Stages) -> list[tuple[str, str]]:
    """Return each pair of stages of which the second reads what the first wrote, in their order.

    Example:
        >>> first = {"outs": ["data/a"]}
        >>> second = {"deps": ["src", "data/a/b"], "outs": [{"data/c": {"cache": False}}]}
        >>> arrows({"one": first, "two": second, "three": {"deps": ["data/a", "data/c"]}})
        [('one', 'two'), ('two', 'three')]
    """
    written = {name: paths(stage.get("outs", ())) for name, stage in stages.items()}
    before = {
        name: {
            other
            for other, outs in written.items()
            for dep in paths(stage.get("deps", ()))
            if any(overlap(dep, out) for out in outs) and other != name
        }
        for name, stage in stages.items()
    }
    all_before = {name: ancestors(name, before) for name in stages}
    return [
        (other, name)
        for other in stages
        for name in stages
        if other in before[name] and not any(other in all_before[each] for each in before[name])
    ]


def paths(entries: Any) -> list[PurePath]:
    """Return the paths below data/ of some entries of dvc.yaml."""
    names = [entry if isinstance(entry, str) else next(iter(entry)) for entry in entries]
    return [PurePath(name) for name in names if name.startswith(DATA)]


def overlap(first: PurePath, second: PurePath) -> bool:
    """Return whether two paths are equal, or one is inside of the other."""
    return first.is_relative_to(second) or second.is_relative_to(first)


def ancestors(name: str, before: dict[str, set[str]]) -> set[str]:
    """Return all stages that come before a stage."""
    return before[name].union(*(ancestors(other, before) for other in before[name]))


def main() -> None:
    """Write the page, or check it."""
    text = PAGE.read_text(encoding="utf-8")
    written = page(text, yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"])
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(written, encoding="utf-8")
    elif written != text:
        sys.exit(f"{PAGE.name} is out of date: run python tools/stages.py")


if __name__ == "__main__":
    main()
