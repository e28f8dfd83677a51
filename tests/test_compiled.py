"""The decorators of kernels, and the cache of compiled kernels."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from numba.core import config as numba_config

DECORATED = "from barograph.compiled import kernel\n\n@kernel\n"
SOURCE = """
from typing import NamedTuple
from barograph.compiled import kernel

class {name}(NamedTuple):
    size: int

@kernel
def doubled(shape: {name}) -> int:
    return 2 * shape.size

RESULT = doubled({name}(21))
HITS = sum(doubled.stats.cache_hits.values())
"""


SORTED = """
import re
import numpy as np
from barograph.compiled import kernel

@kernel
def first(values):
    return np.sort(values)[0]

first(np.zeros(3))
[code] = first.inspect_llvm().values()
print(*set(re.findall(r"run_quicksort\\d?B\\d*v(\\d+)", code)))
"""


def load(path: Path, class_name: str) -> ModuleType:
    """Import a module whose kernel takes a NamedTuple of this name; its stamp never changes."""
    path.write_text(SOURCE.format(name=class_name))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    spec = importlib.util.spec_from_file_location("upgraded", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "upgraded", module)
        patch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
    return module


def test_kernel_is_compiled_once_and_then_loaded(tmp_path: Path) -> None:
    first, second = (load(tmp_path / "upgraded.py", "Shape") for _ in range(2))
    assert (first.RESULT, first.HITS) == (42, 0)
    assert (second.RESULT, second.HITS) == (42, 1)


def test_kernel_is_compiled_where_no_folder_is_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba_config, "CACHE_DIR", "")
    (tmp_path / "__pycache__").touch()  # no folder can be made in place of a file
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "__pycache__"))
    assert load(tmp_path / "upgraded.py", "Shape").RESULT == 42


def test_kernel_is_compiled_again_if_a_cached_class_was_renamed(tmp_path: Path) -> None:
    path = tmp_path / "upgraded.py"
    modules = [load(path, name) for name in ("Shape", "Sizes", "Sizes")]
    assert [module.RESULT for module in modules] == [42, 42, 42]
    assert [module.HITS for module in modules] == [0, 0, 1]


@pytest.mark.parametrize(
    ("imported", "used"),
    [
        (f"{DECORATED}def change(x):\n    return x + {{number}}\n", "change(x)"),
        ("change = {number} + 1\n", "change * x"),  # this module has no kernel
    ],
)
def test_kernel_is_compiled_again_if_a_kernel_or_number_that_it_uses_has_changed(
    tmp_path: Path, imported: str, used: str
) -> None:
    (tmp_path / "outer.py").write_text(
        f"from inner import change\n{DECORATED}def run(x):\n    return {used}\n\n"
        "print(run(1), sum(run.stats.cache_hits.values()))"
    )
    outputs = []
    for number in (1, 1, 2):
        (tmp_path / "inner.py").write_text(imported.format(number=number))
        outputs.append(printed("import outer", tmp_path, PYTHONDONTWRITEBYTECODE="1"))
    assert outputs == ["2 0", "2 1", "3 0"]


def test_command_reports_once_that_it_compiles_for_long(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        "import sys\nfrom barograph import compiled, jit\n"
        "jit.PATIENCE = 0.0\nsys.stderr = sys.stdout\n"
        "if sys.argv[1:] == ['command']:\n    compiled.begin_command()\n"
        "@compiled.kernel\ndef add(x):\n    return x + 1\n"
        "@compiled.kernel\ndef run(x):\n    return add(x)\n"
        "run(1), run(1.0)\n"
    )
    note = "compiling numeric code, once for all later commands"
    for cache, expected in (("cold", note), ("cold", "")):
        command = "import sys; sys.argv[1:] = ['command']; import kernels"
        assert printed(command, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / cache)).strip() == expected
    assert printed("import kernels", tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "library")) == ""


def test_work_stops_before_it_compiles(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        "from barograph.compiled import has_compiled, kernel, runs_compiled\n"
        "@kernel\ndef add(x):\n    return x + 1\n"
        "print(runs_compiled(lambda: add(1)), has_compiled())\n"
        "print(add(1), has_compiled(), runs_compiled(lambda: add(1)))\n"
        "print(runs_compiled(lambda: add(1.0)))\n"  # for other arguments it is not compiled yet
    )
    outputs = [printed("import kernels", tmp_path).split() for _ in range(2)]
    assert outputs[0] == ["False", "False", "2", "True", "True", "False"]
    assert outputs[1] == ["True", "False", "2", "False", "True", "False"]
    interpreted = printed("import kernels", tmp_path, NUMBA_DISABLE_JIT="1").split()
    assert interpreted == ["True", "False", "2", "False", "True", "True"]


def test_code_that_different_processes_compile_has_different_names(tmp_path: Path) -> None:
    (tmp_path / "sorting.py").write_text(SORTED)
    numbers = []
    for cache in ("first", "second"):
        printed_numbers = printed("import sorting", tmp_path, NUMBA_CACHE_DIR=str(tmp_path / cache))
        numbers.append(set(printed_numbers.split()))
        assert numbers[-1]
    assert numbers[0].isdisjoint(numbers[1])


def test_forked_processes_number_functions_differently(tmp_path: Path) -> None:
    script = """
import os
from numba.core.bytecode import FunctionIdentity
import barograph.jit
for _ in range(2):
    if os.fork() == 0:
        print(next(FunctionIdentity._unique_ids), flush=True)
        os._exit(0)
    os.wait()
"""
    assert len(set(printed(script, tmp_path).split())) == 2


def printed(script: str, folder: Path, **environment: str) -> str:
    """Return what a script prints that imports from a folder."""
    done = subprocess.run(  # noqa: S603 - no part of it is input
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
