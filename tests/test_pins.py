"""The pinned requirements: names and versions of all declared packages, without addresses."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==[A-Za-z0-9.+!]+")


def pins() -> set[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    names = set()
    for line in lines:
        if line.startswith("#"):
            continue
        match = PIN.fullmatch(line)
        assert match, f"constraints.txt: {line!r} is not NAME==VERSION"
        names.add(plain(match[1]))
    return names


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_declared_packages_are_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        declared += extra
    names = {plain(re.split(r"[<>=~!;\[ ]", requirement)[0]) for requirement in declared}
    assert names - {"barograph"} <= pins()
