"""The decorators of kernels, the choice between compiler and interpreter, and the folder."""

import ast
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from barograph.runtime import compiled
from barograph.runtime.compiled import choose, code_folder, kernel, kernel_or, make_code_folder

INSIDE = (
    "from barograph.runtime.compiled import kernel, choose\n"
    "@kernel\ndef add(x):\n    return x + 1\n"
    "@kernel\ndef run(x):\n    return add(x) * 2\n"
)


@kernel
def halved(x: float) -> float:
    """A kernel."""
    return x / 2.0


@kernel
def quartered(x: float) -> float:
    """A kernel that calls another one."""
    return halved(x) / 2.0


def one(x: float) -> float:
    """What is called where kernels are interpreted."""
    return x - x + 1.0


@kernel_or(one)
def two(x: float) -> float:
    """What is compiled."""
    return x - x + 2.0


@pytest.fixture
def undecided(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make this process one that has not called a kernel, and has none on disk."""
    for name, value in (("is_chosen", False), ("interprets", False), ("points", 0.0)):
        monkeypatch.setattr(compiled._Process, name, value)
    monkeypatch.setattr(compiled, "code_folder", lambda: tmp_path)


def is_interpreted() -> bool:
    return two(0.0) == 1.0


@pytest.mark.usefixtures("undecided")
def test_kernels_are_compiled_without_a_choice() -> None:
    assert (quartered(4.0), two(0.0)) == (1.0, 2.0)
    choose(1)
    assert not is_interpreted()


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize(("points", "expected"), [(compiled.SMALL, True), (1000, False)])
def test_large_input_is_compiled(points: int, *, expected: bool) -> None:
    choose(points)
    assert is_interpreted() is expected
    assert quartered(4.0) == 1.0


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize("points", [[1, 1000, 1], [compiled.SMALL] * 5])
def test_process_changes_once_and_for_good(points: list[int]) -> None:
    states = []
    for number in points:
        choose(number)
        states.append(is_interpreted())
    assert states == sorted(states, reverse=True)
    assert (states[0], states[-1]) == (True, False)


@pytest.mark.usefixtures("undecided")
def test_process_changes_sooner_if_every_kernel_is_on_disk(tmp_path: Path) -> None:
    (tmp_path / compiled.COMPLETE).touch()
    states = []
    for _ in range(2):
        choose(0.6 * compiled.SMALL)
        states.append(is_interpreted())
    assert states == [True, False]


def test_kernel_is_pickled_by_its_name() -> None:
    copy: object = pickle.loads(pickle.dumps(halved))  # noqa: S301 - from this process
    assert copy is halved


def test_kernel_that_calls_another_is_compiled_once_and_then_loaded(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        f"{INSIDE}print(run(1), sum(run.compiled().stats.cache_hits.values()))\n"
    )
    cache = tmp_path / "cache"
    outputs = [printed("import kernels", tmp_path, NUMBA_CACHE_DIR=str(cache)) for _ in range(2)]
    assert outputs == ["4 0", "4 1"]
    [folder] = cache.iterdir()
    assert compiled.FOLDER.fullmatch(folder.name)


def test_kernel_is_compiled_where_no_folder_is_writable(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(f"{INSIDE}print(run(1), run.compiled().stats.cache_path)")
    (tmp_path / "file").touch()  # no folder can be made below it
    done = printed("import kernels", tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "file"))
    assert done == "4 None"


def test_caches_of_other_functions_stay_where_they_were(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        f"{INSIDE}run(1)\nimport numba\nprint(repr(numba.config.CACHE_DIR))\n"
    )
    for named in ("", str(tmp_path / "cache")):
        assert printed("import kernels", tmp_path, NUMBA_CACHE_DIR=named) == repr(named)


def test_folder_is_named_after_the_files_and_those_of_other_versions_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(compiled, "PACKAGE", package)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    folders = []
    for name, content in (("a.py", "1"), ("a.py", "1"), ("a.py", "2"), ("b.py", "2")):
        for path in package.iterdir():
            path.unlink()
        (package / name).write_text(content)
        code_folder.cache_clear()
        make_code_folder.cache_clear()
        folders.append(make_code_folder())
        (tmp_path / "cache" / "other").mkdir(exist_ok=True)
    code_folder.cache_clear()
    make_code_folder.cache_clear()
    assert folders[0] == folders[1]
    assert len(set(folders)) == 3
    assert {*(tmp_path / "cache").iterdir()} == {folders[3], tmp_path / "cache" / "other"}


@pytest.mark.parametrize("is_writable", [True, False])
def test_folder_is_beside_the_package_or_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_writable: bool
) -> None:
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: is_writable)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    code_folder.cache_clear()
    expected = tmp_path / "__pycache__" if is_writable else tmp_path / "user" / "barograph"
    assert code_folder().parent == expected
    code_folder.cache_clear()


def test_process_reports_once_that_it_compiles(tmp_path: Path) -> None:
    script = (
        "import sys\nsys.stderr = sys.stdout\nimport numba\nimport numpy as np\n"
        "from barograph.features.contrast.robust import median\nmedian(np.ones(3, np.float32))\n"
        "numba.njit(lambda x: x)(1)\nprint('first')\n"
        "median(np.ones(3)), median(np.ones(3, np.int64))\n"
    )
    [note, *others] = printed(script, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "c")).splitlines()
    assert (note, others) == ("compiling numeric code, once for this installation...", ["first"])
    assert printed(script, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "c")) == "first"


def test_process_reports_nothing_about_functions_of_others(tmp_path: Path) -> None:
    script = (
        "import sys\nsys.stderr = sys.stdout\nimport numba\nimport barograph.runtime.jit\n"
        "print(numba.njit(lambda x: x)(1))\n"
    )
    assert printed(script, tmp_path) == "1"


def test_no_kernel_sorts_places() -> None:
    """Numba names the code of `np.sort` and `np.argsort` alike; on disk they would be mixed up."""
    for path in compiled.PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                decorators = " ".join(map(ast.unparse, node.decorator_list))
                assert "kernel" not in decorators or "argsort" not in ast.unparse(node), path


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


def test_folder_is_named_after_every_file_of_the_package() -> None:
    assert Path(__file__).parents[1] / "src" / "barograph" == compiled.PACKAGE


def test_rooms_that_are_left_out_of_the_digest_hold_no_kernel() -> None:
    package = compiled.PACKAGE
    holders = {
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if re.search(r"^@\w*kernel", path.read_text(), re.MULTILINE)
    }
    assert "detection" in holders
    assert not holders & compiled.WITHOUT_KERNELS
