"""What a plain install has is enough for the core: everything else is imported when it is used."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from barograph.models import TriageModel, artifact
from barograph.models.kinds import Estimator
from barograph.runtime.errors import ConfigError
from barograph.runtime.extras import PACKAGES, missing, needed

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = {"click", "jinja2", "msgspec", "numba", "numpy", "sqlalchemy", "yaml"}
# Whole rooms and packages that need an extra, and single modules of others.
EXTRA_ROOMS = (*("learning", "pipeline", "server.web", "simulator", "studies"),)
WITHOUT_EXTRA = {"server.web", "server.web.settings"}  # the options of `serve`
EXTRA_MODULES = {
    "cli.demo",  # of the service
    *("results.parts", "results.parquet", "report.drawing"),
    *("models.classifiers", "models.stacked"),
    "models.voting",
    *("sources.mongodb", "sources.mongodump"),
    *("sources.zenodo", "server.store.export"),
}


def needs_an_extra(module: str) -> bool:
    """Return whether a module of ours may import optional packages when it is imported."""
    short = module.removeprefix("barograph.")
    rooms = (room for room in EXTRA_ROOMS if f"{short}.".startswith(f"{room}."))
    return short not in WITHOUT_EXTRA and (any(rooms) or short in EXTRA_MODULES)


def imported(body: list[ast.stmt], modules: set[str]) -> Iterator[str]:
    """Yield what statements import at once, outside functions and blocks for type checkers."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from full & modules
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imported(node.orelse, modules)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for name in ("body", "orelse", "handlers", "finalbody"):
                yield from imported(getattr(node, name, []), modules)


@cache
def imports_of_modules() -> dict[str, set[str]]:
    """Return the names that each of our modules imports when it is imported."""
    paths = {}
    for path in (SOURCE / "barograph").rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        paths[".".join(part for part in parts if part != "__init__")] = path
    known = set(paths)
    return {
        module: set(imported(ast.parse(path.read_text(encoding="utf-8")).body, known))
        for module, path in paths.items()
    }


def is_core(name: str) -> bool:
    """Return whether a plain install has a module, and needs no extra to import it."""
    package = name.partition(".")[0]
    if package == "barograph":
        return not needs_an_extra(name)
    return package in CORE or package in sys.stdlib_module_names


def test_core_imports_optional_packages_only_inside_functions() -> None:
    offenders = {
        (module, name)
        for module, names in imports_of_modules().items()
        if not needs_an_extra(module)
        for name in names
        if not is_core(name)
    }
    assert offenders == set()


def test_listed_modules_need_an_extra() -> None:
    imports = imports_of_modules()
    idle = {
        module
        for module in EXTRA_MODULES
        if all(map(is_core, imports.get(f"barograph.{module}", ())))
    }
    assert idle == set()


def names_of(requirements: list[str]) -> set[str]:
    """Return the names of packages in a list of requirements."""
    return {re.split(r"[<>=~!;\[ ]", text)[0].lower() for text in requirements}


def test_extras_are_those_of_the_project() -> None:
    imports = {"scikit-learn": "sklearn", "pyyaml": "yaml"}
    required = {imports.get(name, name) for name in names_of(PROJECT["dependencies"])}
    assert required == CORE
    extras = PROJECT["optional-dependencies"]
    for package, extra in PACKAGES.items():
        name = {"sklearn": "scikit-learn", "bson": "pymongo"}.get(package, package)
        assert name in names_of(extras[extra]) or package == "sklearn", package
        assert package not in CORE


def test_all_brings_every_extra_but_dev() -> None:
    extras = PROJECT["optional-dependencies"]

    def brought(extra: str) -> set[str]:
        inner = re.findall(r"barograph\[(.*?)\]", " ".join(extras[extra]))
        return {extra}.union(*(brought(name) for part in inner for name in part.split(",")))

    assert brought("all") == set(extras) - {"dev", "server", "learning"}  # two are other names


def test_missing_package_is_named_with_the_command_that_installs_it() -> None:
    error = ModuleNotFoundError("No module named 'ruptures'", name="ruptures.base")
    with pytest.raises(ConfigError) as caught, needed("detector pelt"):
        raise error
    assert str(caught.value) == (
        "detector pelt needs the package ruptures: "
        "pip install '.[detectors]' in a clone of Barograph"
    )
    assert missing(ModuleNotFoundError("x", name="barograph.gone"), "this") is None


BLOCKED = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(PACKAGES)}))
import barograph as bg
from barograph.cli import main
from barograph.runtime.errors import ConfigError
from barograph.models.catalogue import classifier
values = [100.0 + k % 3 for k in range(40)] + [130.0 + k % 3 for k in range(40)]
assert [point.index for point in bg.detect(values)] == [40]
for name in ("Hunter", "EDivisive", "Setds", "StepFit"):
    assert getattr(bg, name)().detect(values), name
assert bg.Gesd().detect([*values[:40], 200.0])
detector = bg.OnlineDetector()
assert "change" in [detector.update(value).answer for value in values]
assert bg.TriageModel.default("label_free").use == "label_free"
assert len(bg.read("results.csv")) == 1
for call in (
    lambda: bg.Pelt().detect(values),
    lambda: bg.plot(values),
    lambda: bg.History.read("."),
    lambda: bg.models.VotingTriage,
    lambda: classifier("random_forest", seed=0, trees=1),
    lambda: bg.TriageModel.load("svm.baro"),
):
    try:
        call()
    except ConfigError as error:
        print("needed", error)
for command in sys.argv[1:]:
    try:
        main(command.split())
    except SystemExit as left:
        print("left", command.split()[0], left.code or 0)
"""
COMMANDS = (
    *("detect results.csv", "gate results.csv", "score results.csv", "append own.csv run.json"),
    *("report results.csv --out report.html", "classify results.csv", "import results.csv"),
    *("recompute", "token add ci --scope read", "formats", "export tables", "serve", "retrain"),
)


def test_core_works_without_any_extra(tmp_path: Path) -> None:
    values = [100.0 + k % 3 for k in range(40)] + [130.0 + k % 3 for k in range(39)]
    rows = [f"insert,{k},{value}" for k, value in enumerate(values)]
    (tmp_path / "results.csv").write_text("\n".join(["test,order,value", *rows, ""]))
    run = [{"name": "insert", "unit": "ops/s", "value": 131.0}]
    (tmp_path / "run.json").write_text(json.dumps(run))
    default = TriageModel.default("label_free")
    header = {**default.content()[0], "kind": Estimator.kind}
    artifact.write(tmp_path / "svm.baro", header, {"estimator": np.zeros(9, np.uint8)})
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", BLOCKED, *COMMANDS],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(SOURCE), "BAROGRAPH_STORE": "store.db"},
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    named = [line[line.index("package") + 1] for line in lines if line[:1] == ["needed"]]
    assert named == ["ruptures:", "matplotlib:", "pyarrow:", "sklearn:", "sklearn:", "skops:"]
    codes = {line[1]: line[2] for line in lines if line[:1] == ["left"]}
    assert list(codes) == [command.split()[0] for command in COMMANDS]
    assert {name for name, code in codes.items() if code != "0"} == {"export", "serve", "retrain"}
    assert "export needs the package pyarrow: pip install" in done.stderr
    assert "retrain needs the package xgboost: pip install '.[train]'" in done.stderr
    assert re.search("the service needs the package [a-z]+: pip install", done.stderr)
