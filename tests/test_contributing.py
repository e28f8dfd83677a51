"""CONTRIBUTING.md names files and constants that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## Add an? (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
# The room that a recipe's file names are relative to.
ROOMS = {"source": "sources", "characteristic": "features", "detector": "detection"}
ROOMS |= {"model": "models", "format": "sources/formats", "command": "cli"}
ROOMS |= {"route": "server/web", "page": "server/web/pages"}


def test_recipe_exists_for_each_extension() -> None:
    assert set(RECIPES) >= set(ROOMS)


@pytest.mark.parametrize("name", ROOMS)
def test_files_named_by_a_recipe_exist(name: str) -> None:
    named = re.findall(r"[\w/.-]+\.(?:py|md|yaml)\b", RECIPES[name])
    package = ROOT / "src" / "barograph"
    tests = ROOT / "tests" / ROOMS[name]
    for path in (path for path in named if "NAME" not in path):
        places = [ROOT, package, package / ROOMS[name], tests, package / "detection"]
        assert any((place / path).is_file() for place in places), path


@pytest.mark.parametrize("name", ROOMS)
def test_constants_named_by_a_recipe_exist(name: str) -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in (ROOT / "src" / "barograph", ROOT / "tests" / ROOMS[name])
        for path in folder.rglob("*.py")
    )
    for word in re.findall(r"`([A-Z]{5,})`", RECIPES[name]):
        assert re.search(rf"^{word}\b", code, re.MULTILINE), word
