"""The modules of sources import each other in one direction, also inside functions and by name."""

from graphlib import TopologicalSorter

from barograph.sources.formats.registry import MODULES
from tests.test_layout import PACKAGE, modules_of

FORMATS = "barograph.sources.formats"


def test_no_module_imports_itself_through_others() -> None:
    paths = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
        for path in (PACKAGE / "sources").rglob("*.py")
        if path.name != "__init__.py"
    }
    imports = {
        name: {module for full in modules_of(path) for module in (full, full.rpartition(".")[0])}
        & (paths.keys() - {name})
        for name, path in paths.items()
    }
    imports[f"{FORMATS}.registry"] |= {f"{FORMATS}.{module}" for module in MODULES}
    order = list(TopologicalSorter(imports).static_order())  # raises an error that names a circle
    assert order.index(f"{FORMATS}.registry") < order.index(f"{FORMATS}.locations")
