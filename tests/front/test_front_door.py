"""`import barograph` offers the public names, and imports none of them before they are used."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import barograph as bg
from barograph import detection
from barograph.detection import registry
from barograph.detection.base import Detector

DETECTORS = {name: getattr(bg, name) for name in registry.DETECTORS}
NAMES = sorted({*dir(bg)} - {"__version__"})
PROMISED = {"detect", "plot", "read", "OnlineDetector", "TriageModel", "History"}


def run(code: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_import_loads_no_library() -> None:
    slow = "('numpy', 'pandas', 'pyarrow', 'numba', 'scipy', 'sklearn', 'matplotlib', 'click')"
    loaded = run(f"import sys, barograph; print([n for n in {slow} if n in sys.modules])")
    assert loaded == "[]"
    ours = run("import sys, barograph; print([n for n in sys.modules if 'barograph.' in n])")
    assert ours == "[]"


def test_star_imports_the_public_names() -> None:
    assert run("from barograph import *; print(Hunter.__name__, read.__name__)") == "Hunter read"


def test_the_promised_names_and_all_detectors_are_offered() -> None:
    assert {"Triaged", "Hunter", "EDivisive"} <= set(DETECTORS)
    assert set(NAMES) >= PROMISED | set(DETECTORS)
    assert all(issubclass(kind, Detector) for kind in DETECTORS.values())


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_has_the_methods_of_an_estimator(name: str) -> None:
    detector = DETECTORS[name]()
    assert DETECTORS[name](**detector.get_params()) == detector
    assert detector.set_params(**detector.get_params()) == detector
    values = [10.0, 10.1, 9.9] * 10 + [20.0, 20.1, 19.9] * 10
    points = detector.detect(values)
    assert detector.fit_predict(values).tolist() == [point.index for point in points]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_found_listed_and_documented_with_an_example(name: str) -> None:
    member = getattr(bg, name)
    assert member.__name__ == name
    assert "Example:" in member.__doc__


def for_type_checkers(module: ModuleType) -> dict[str, str]:
    """Return the names that a module declares to type checkers, with their modules."""
    tree = ast.parse(Path(str(module.__file__)).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_type_checkers_see_the_same_names() -> None:
    assert for_type_checkers(registry).keys() == DETECTORS.keys()
    for module, names in ((bg, NAMES), (detection, detection.__dict__["__all__"])):
        declared = for_type_checkers(module)
        assert declared.pop("*") == registry.__name__
        declared |= for_type_checkers(registry)
        assert declared.keys() == set(names)
        for name, source in declared.items():
            assert getattr(importlib.import_module(source), name) is getattr(module, name)


@pytest.mark.parametrize("module", [bg, detection])
def test_type_checkers_know_no_other_names(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    # A `__getattr__` outside the block would give a type to every name.
    assert not [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'barograph' has no attribute 'Hunted'"):
        _ = bg.Hunted  # type: ignore[attr-defined]
