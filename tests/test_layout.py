"""The house stands as its plan says: links, and which room may import which."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "barograph"

LINKS = ("features", "models", "pipeline")

# Modules directly in the package are the domain; the three that start everything may use it all.
FRONT = {"cli", "__init__", "__main__"}
EVERYTHING = {"sources", "features", "models", "detection", "evaluation", "training", "store"} | {
    "triage",
    "studies",
}
ALLOWED: dict[str, set[str]] = {
    "domain": set(),
    "sources": set(),
    "features": set(),
    "models": {"features"},
    "detection": {"features", "models"},
    "evaluation": {"features", "detection", "models"},
    "training": {"features", "detection", "models", "evaluation", "sources"},
    "store": {"detection", "models"},
    "triage": {"store", "features", "detection", "models"},
    "studies": EVERYTHING - {"studies"},
    "service": {"store", "triage", "detection", "models", "training"},
    "pipeline": EVERYTHING,
}
# Imports that the table does not allow and that are still to go.
KNOWN: set[tuple[str, str]] = set()


@pytest.mark.parametrize("name", LINKS)
def test_link_in_the_root_leads_to_its_room(name: str) -> None:
    link = ROOT / name
    assert link.is_symlink()
    assert link.readlink() == Path(f"src/barograph/{name}")
    assert link.resolve() == PACKAGE / name


def room_of(module: tuple[str, ...]) -> str:
    """The room a dotted module below `barograph` belongs to."""
    if module and module[0] in FRONT:
        return "front"
    if not module or (PACKAGE / f"{module[0]}.py").is_file():
        return "domain"
    return module[0]


def imports_of(path: Path) -> set[str]:
    """The rooms that a file imports from, at any depth of its code."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; name the room in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            head, *rest = name.split(".")
            if head == "barograph":
                if not rest or (len(rest) == 1 and not is_module(rest[0])):
                    rooms.add("domain")
                else:
                    rooms.add(room_of(tuple(rest)))
    return rooms


def is_module(name: str) -> bool:
    return (PACKAGE / f"{name}.py").is_file() or (PACKAGE / name).is_dir()


def test_each_room_imports_only_what_the_plan_allows() -> None:
    offenders = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        room = room_of(path.relative_to(PACKAGE).with_suffix("").parts)
        if room == "front":
            continue
        assert room in ALLOWED, f"{path}: the plan knows no room named {room}"
        for other in imports_of(path) - {room, "domain"} - ALLOWED[room]:
            offenders.add((str(path.relative_to(PACKAGE)), other))
    assert offenders == KNOWN


def test_every_folder_of_the_package_is_a_room_of_the_plan() -> None:
    rooms = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert rooms - FRONT <= set(ALLOWED)
