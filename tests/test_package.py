"""Data files are declared as package data, or a wheel would lack them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "barograph"


def test_data_files_are_declared() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    patterns = tool["package-data"]["barograph"]
    declared = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    there = {
        path
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }
    assert PACKAGE / "py.typed" in there
    assert there <= declared


def test_folders_with_code_are_packages() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").is_file()} == set()
