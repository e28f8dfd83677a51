"""The layout of the package: links, the imports between rooms, and the names of classes."""

import ast
import subprocess
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from barograph.sources.formats.registry import MODULES
from tests.conftest import LONGEST, TESTS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "barograph"

LINKS = ("features", "models", "pipeline")

# The layers: an arrow goes down only. A room imports from its own layer and from those below it, as
# the table says. `cli` may import everything, inside its commands. `api` is the way in for Python.
CORE = {"runtime", "results", "sources", "features", "models", "detection", "report"}
LEARNING = {"simulator", "learning", "studies", "pipeline"}
SERVER = {"server/store", "server/triage", "server/web"}
FRONT_DOOR = {"__init__", "api", "report"}
FRONT = {"__init__", "__main__", "api", "cli"}
BASE = {"runtime", "results"}
METHODS = BASE | {"features", "models", "detection"}
ALLOWED: dict[str, set[str]] = {
    "runtime": set(),
    "results": {"runtime"},
    "sources": BASE,
    "features": BASE,
    "models": BASE | {"features"},
    "detection": METHODS,
    "report": METHODS | {"api"},
    "simulator": BASE | {"sources"},
    "learning": METHODS | {"sources", "simulator"},
    "pipeline": METHODS | {"sources", "simulator", "learning"},
    "studies": METHODS | {"sources", "simulator", "learning", "pipeline"},
    "server": set(),
    "server/store": METHODS,
    "server/triage": METHODS | {"server/store"},
    "server/web": METHODS | {"report", "learning", "server/store", "server/triage"},
}
LOADS_FROM_A_STORE = ("pipeline/load.py", "server/store")
MOST_ENTRIES = 16  # at the top of the package

# All that the root may hold, besides what git ignores.
DOTTED = {".ci", ".dockerignore", ".dvc", ".dvcignore", ".gitignore", ".pre-commit-config.yaml"}
PAPERS = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"}
RECIPES = {"Dockerfile", "Makefile", "action.yml", "constraints.txt", "dvc.yaml", "params.yaml"}
FOLDERS = {"benchmarks", "data", "docs", "notebooks", "src", "studies", "tests", "tools"}


def test_root_holds_only_what_belongs_there() -> None:
    command = ["git", "ls-files", "-z"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)  # noqa: S603
    if listing.returncode:
        pytest.skip("this folder is no git repository")
    entries = {name.split("/")[0] for name in listing.stdout.decode().split("\0") if name}
    assert entries == DOTTED | PAPERS | RECIPES | FOLDERS | {"pyproject.toml", *LINKS}


@pytest.mark.parametrize("name", LINKS)
def test_root_link_points_to_its_room(name: str) -> None:
    link = ROOT / name
    assert link.is_symlink()
    assert link.readlink() == Path(f"src/barograph/{name}")
    assert link.resolve() == PACKAGE / name


def room_of(module: tuple[str, ...]) -> str:
    """Return the room of a module below `barograph`."""
    if module[:1] == ("server",):
        return "/".join(module[:2]) if (PACKAGE / "/".join(module[:2])).is_dir() else "server"
    return module[0] if module else "__init__"


@cache
def modules_of(path: Path) -> set[str]:
    """Return the full names of all that a file imports, at any depth of its code."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; name the room in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imports_of(path: Path) -> set[str]:
    """Return the rooms that a file imports from."""
    rooms = set()
    for name in modules_of(path):
        head, *rest = name.split(".")
        if head == "barograph":
            is_name = not rest or (len(rest) == 1 and not is_module(rest[0]))
            rooms.add("__init__" if is_name else room_of(tuple(rest)))
    return rooms


def is_module(name: str) -> bool:
    return (PACKAGE / f"{name}.py").is_file() or (PACKAGE / name).is_dir()


def test_rooms_import_only_what_the_table_allows() -> None:
    offenders = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        room = room_of(path.relative_to(PACKAGE).with_suffix("").parts)
        if room in FRONT:
            continue
        assert room in ALLOWED, f"{path}: the table has no room {room}"
        for other in imports_of(path) - {room, "__init__"} - ALLOWED[room]:
            offenders.add((path.relative_to(PACKAGE).as_posix(), other))
    assert offenders == {LOADS_FROM_A_STORE}


def test_layers_import_only_what_is_below_them() -> None:
    assert set(ALLOWED) == CORE | LEARNING | SERVER | {"server"}
    assert not any(ALLOWED[room] & (LEARNING | SERVER) for room in CORE)
    assert not any(ALLOWED[room] & SERVER for room in LEARNING)


def test_the_top_of_the_package_is_short() -> None:
    ignored = {"__pycache__", "py.typed"}
    entries = {path.name for path in PACKAGE.iterdir()} - ignored
    assert len(entries) <= MOST_ENTRIES


def test_no_module_imports_itself_through_others() -> None:
    """Imports inside functions and of types count, those of packages that import lazily do not."""
    paths = {
        ".".join(path.relative_to(PACKAGE.parent).parts).removesuffix(".py"): path
        for path in PACKAGE.rglob("*.py")
    }
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    del paths["barograph"], paths["barograph.detection"]
    imports = {
        name: {full if full in paths else full.rpartition(".")[0] for full in modules_of(path)}
        & (paths.keys() - {name})
        for name, path in paths.items()
    }
    imports["barograph.sources.formats.registry"] |= {
        f"barograph.sources.formats.{place.partition('.')[0]}" for place in MODULES
    }
    TopologicalSorter(imports).prepare()  # raises an error that names a circle


def test_the_front_door_needs_no_command_and_no_service() -> None:
    offenders = {
        (str(path.relative_to(PACKAGE)), module)
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).with_suffix("").parts[0] in FRONT_DOOR
        for module in modules_of(path)
        if module.startswith(("barograph.cli", "barograph.server"))
    }
    assert offenders == set()


def test_no_room_imports_the_front_door_by_its_names() -> None:
    import barograph

    names = {f"barograph.{name}" for name in dir(barograph) if name != "__version__"}
    offenders = {
        (str(path.relative_to(PACKAGE)), module)
        for path in PACKAGE.rglob("*.py")
        if room_of(path.relative_to(PACKAGE).with_suffix("").parts) not in FRONT
        for module in modules_of(path) & names
    }
    assert offenders == set()


def test_every_folder_is_a_room_of_the_table() -> None:
    top = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    server = {f"server/{path.name}" for path in (PACKAGE / "server").iterdir() if path.is_dir()}
    rooms = {name for name in top | server if not name.endswith("__pycache__")}
    assert rooms - FRONT == set(ALLOWED)


def test_public_class_names_are_unique() -> None:
    """Also of a name for a type: `Rows = list[int]` beside a class `Rows` elsewhere misleads."""
    modules: dict[str, set[str]] = defaultdict(set)
    classes = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].add(str(path.relative_to(PACKAGE)))
                classes.add(node.name)
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if isinstance(target, ast.Name):
                    modules[target.id].add(str(path.relative_to(PACKAGE)))
    assert {name: modules[name] for name in classes if len(modules[name]) > 1} == {}


def test_files_that_start_first_exist() -> None:
    assert [name for name in LONGEST if not (TESTS / name).exists()] == []
