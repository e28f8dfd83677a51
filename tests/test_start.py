"""Commands start quickly."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from barograph import compiled
from barograph.cli import main, warmup
from barograph.cli.detectors import DetectorChoice
from barograph.cli.score import _work

BIG = ("numpy", "numba", "pandas", "pyarrow", "sklearn", "scipy", "mlflow", "xgboost", "tsfeatures")


def printed(code: str) -> str:
    """Return the last line that code prints in a process of its own."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


def test_help_imports_no_large_package() -> None:
    code = (
        "import sys\nfrom barograph.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {BIG!r} if name in sys.modules])"
    )
    assert printed(code) == "[]"


def test_ctrl_c_is_handled_before_anything_is_imported() -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nimport barograph.__main__\n"
        "print(sorted(set(sys.modules) - before))"
    )
    assert printed(code) == "['barograph', 'barograph.__main__']"


def test_card_of_a_model_is_read_without_a_library_of_training() -> None:
    learning = ("pandas", "pyarrow", "sklearn", "xgboost")
    code = (
        "import sys\nfrom barograph.service.model_report import model_card\n"
        f"print(model_card(None)[:12], [name for name in {learning!r} if name in sys.modules])"
    )
    assert printed(code) == "# Model card []"


def test_background_process_does_without_the_web_framework() -> None:
    web = ("fastapi", "pydantic", "starlette", "uvicorn", "jinja2", "sklearn")
    code = (
        "import sys, barograph.__main__, barograph.service.background\n"
        f"print([name for name in {web!r} if name in sys.modules])"
    )
    assert printed(code) == "[]"


HISTORIES = {
    "step": [100.0 + (k * 7) % 5 + 20 * (k >= 60) for k in range(90)],
    "spike": [100.0 + (k * 7) % 5 for k in range(70)] + [500.0],
    "rerun": [100.0 + (k * 7) % 5 for k in range(70)] + [500.0],
    "constant": [5.0] * 80,
    "zero": [0.0] * 60 + [3.0] * 20,
    "huge": [1e90 * (100 + (k * 7) % 5) for k in range(80)],
    "tiny": [1e-300 * (100 + (k * 7) % 5) for k in range(80)],
}
CSV = "test,order,value\n" + "".join(
    f"{test},{order},{value!r}\n"
    for test, values in HISTORIES.items()
    for order, value in enumerate(values)
)
CSV += "rerun,70,501.0\n"  # a further run of the newest commit


@pytest.mark.parametrize(
    ("command", "size"), [("detect", None), ("gate", None), ("score", 180), ("classify", None)]
)
def test_small_input_needs_no_compiler_and_gets_the_same_answer(
    command: str,
    size: int | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "results.csv").write_text("".join(CSV.splitlines(keepends=True)[:size]))
    arguments = [command, str(tmp_path / "results.csv"), "--format", "json"]
    stores = (str(tmp_path / f"{number}.db") for number in range(2))
    monkeypatch.setenv("BAROGRAPH_STORE", next(stores))
    done = interpreted(arguments, tmp_path)
    assert done.stderr.splitlines()[-1] == "False False"
    monkeypatch.setenv("BAROGRAPH_STORE", next(stores))
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert (ended.value.code or 0) == done.returncode
    close = {
        path: pytest.approx(part, rel=1e-12, abs=1e-12) if isinstance(part, float) else part
        for path, part in flat(json.loads(capsys.readouterr().out)).items()
    }
    assert flat(json.loads(done.stdout)) == close


def test_memory_is_not_searched_for_garbage_when_a_command_ends() -> None:
    code = (
        "import atexit, gc, sys\natexit.register(lambda: print(gc.get_freeze_count() > 1000))\n"
        "sys.argv[1:] = ['formats']\nfrom barograph.cli import main\nmain()\n"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "True"


def interpreted(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command; the last line on stderr says whether Numba and its compiler were imported."""
    code = (
        f"import sys\nsys.argv[1:] = {arguments!r}\nfrom barograph.cli import main\n"
        "try:\n    main()\nfinally:\n"
        "    print('numba' in sys.modules, 'llvmlite' in sys.modules, file=sys.stderr)\n"
    )
    return subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")},
    )


def flat(content: object, path: str = "") -> dict[str, object]:
    """Return the parts of JSON by their path, without the time that a command took."""
    if isinstance(content, dict):
        pairs = [(str(name), part) for name, part in content.items() if name != "seconds"]
    elif isinstance(content, list):
        pairs = [(str(number), part) for number, part in enumerate(content)]
    else:
        return {path: content}
    return {
        key: value for name, part in pairs for key, value in flat(part, f"{path}/{name}").items()
    }


@pytest.fixture
def undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process one that runs a command and has not defined a kernel."""
    for name, value in (("is_command", True), ("is_made", False), ("interprets", False)):
        monkeypatch.setattr(compiled._Choice, name, value)


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize(("points", "expected"), [(compiled.SMALL, True), (1000, False)])
def test_large_input_is_compiled(points: int, *, expected: bool) -> None:
    compiled.interpret_small(points)
    assert compiled.is_interpreted() is expected


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize("name", ["is_made", "is_command"])
def test_library_and_later_choices_leave_kernels_compiled(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled._Choice, name, name == "is_made")
    compiled.interpret_small(1)
    assert not compiled.is_interpreted()


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize(
    ("name", "parameters", "interprets"),
    [
        ("triaged", {}, True),
        ("triaged", {"candidates": "hunter"}, False),
        ("edivisive", {}, True),
        ("edivisive", {"permutations": "9999"}, False),
        ("hunter", {"window": "30"}, True),
        ("stepfit", {"threshold": "20"}, True),
    ],
)
def test_methods_that_are_slow_without_a_compiler_are_compiled(
    name: str, parameters: dict[str, str], *, interprets: bool, tmp_path: Path
) -> None:
    DetectorChoice(name, parameters, tmp_path / "none.baro").interpret_small(1)
    assert compiled.is_interpreted() is interprets


@pytest.mark.usefixtures("undecided")
def test_search_with_a_model_of_the_user_is_compiled(tmp_path: Path) -> None:
    model = tmp_path / "model.baro"
    model.touch()
    DetectorChoice(model=model).interpret_small(1)
    assert not compiled.is_interpreted()


def test_gate_with_a_detector_needs_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(CSV)
    done = interpreted(["gate", str(tmp_path / "results.csv"), "--detector", "hunter"], tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "False False")


def test_series_of_an_existing_store_are_work(tmp_path: Path) -> None:
    store = tmp_path / "ci.db"
    new = _work(60, 60, str(store))
    store.touch()
    assert new < compiled.SMALL < _work(60, 60, str(store))
    assert _work(60, 60, "postgresql://host/name") == _work(60, 60, str(store))


def test_warmup_prints_where_the_compiled_code_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["warmup"])
    assert not ended.value.code
    assert capsys.readouterr().out.endswith(f" s: {tmp_path}\n")


@pytest.mark.usefixtures("undecided")
def test_warmup_compiles_although_its_series_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "_run", lambda _arguments: compiled.interpret_small(1))
    monkeypatch.setattr(warmup, "_try_models", lambda: None)
    with pytest.raises(SystemExit):
        main(["warmup"])
    assert not compiled.is_interpreted()


def test_warmup_refuses_to_run_where_nothing_is_compiled() -> None:
    command = [sys.executable, "-m", "barograph", "warmup"]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        command,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
    )
    assert (done.returncode, "NUMBA_DISABLE_JIT" in done.stderr) == (1, True)
