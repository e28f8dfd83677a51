"""Commands start quickly."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from barograph.cli import main
from barograph.cli.detectors import ChangeSearch
from barograph.runtime import compiled

BIG = ("numpy", "numba", "pandas", "pyarrow", "sklearn", "scipy", "mlflow", "xgboost")


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
        "import sys\nfrom barograph.learning.registry import card\n"
        "from barograph.server.web.model_watch import CandidateModel\n"
        "text = card(CandidateModel(None).newest())\n"
        f"print(text[:12], [name for name in {learning!r} if name in sys.modules])"
    )
    assert printed(code) == "# Model card []"


def test_background_process_does_without_the_web_framework() -> None:
    web = ("fastapi", "pydantic", "starlette", "uvicorn", "jinja2", "sklearn")
    code = (
        "import sys, barograph.__main__, barograph.server.web.background\n"
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


def interpreted(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command; the last line on stderr says whether Numba and its compiler were imported."""
    code = (
        f"import sys\nsys.argv[1:] = {arguments!r}\nfrom barograph.cli import main\n"
        "try:\n    main()\nfinally:\n"
        "    print('numba' in sys.modules, 'llvmlite' in sys.modules, file=sys.stderr)\n"
    )
    return run_python(code, folder)


def run_python(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process whose compiled code is in a folder."""
    return subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code, *arguments],
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


@pytest.mark.parametrize(
    ("name", "parameters", "is_slow"),
    [
        ("triaged", {}, False),
        ("triaged", {"candidates": "hunter"}, False),
        ("edivisive", {}, False),
        ("edivisive", {"permutations": "9999"}, True),
        ("hunter", {"window": "30"}, False),
        ("stepfit", {"threshold": "20"}, False),
    ],
)
def test_methods_that_are_slow_without_a_compiler_are_compiled(
    name: str, parameters: dict[str, str], *, is_slow: bool
) -> None:
    assert (ChangeSearch(name, parameters).make().work(120) > compiled.SMALL) is is_slow


def test_first_detection_in_python_waits_for_no_compiler(tmp_path: Path) -> None:
    code = (
        "import sys, barograph as bg\n"
        "values = [10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20\n"
        "detector = bg.OnlineDetector()\n"
        "print(bg.detect(values)[0].index, len(detector.update_many(values)))\n"
        "print('numba' in sys.modules)\n"
    )
    done = run_python(code, tmp_path)
    assert (done.stdout.split(), done.stderr) == (["60", "120", "False"], "")


def test_process_compiles_once_it_gets_many_points(tmp_path: Path) -> None:
    code = (
        "import pickle, sys, numpy as np, barograph as bg\n"
        "from time import process_time\n"
        "values = np.random.default_rng(0).normal(100.0, 1.0, 50_000)\n"
        "values[25_000:] += 5.0\n"
        "print(*([p.index for p in bg.detect(values[:120])] if sys.argv[1:] else []))\n"
        "print('numba' in sys.modules)\n"
        "times = [process_time() for _ in range(7) if (found := bg.detect(values))]\n"
        "print(pickle.dumps(found).hex())\n"
        "print(min(np.diff(times)))\n"
    )
    first = run_python(code, tmp_path, "small first")
    second = run_python(code, tmp_path)
    third = run_python(code, tmp_path, "small first")
    outputs = [done.stdout.splitlines() for done in (first, second, third)]
    assert [lines[1] for lines in outputs] == ["False"] * 3
    assert outputs[0][2] == outputs[1][2] == outputs[2][2]
    assert first.stderr == "compiling numeric code, once for this installation...\n"
    assert (second.stderr, third.stderr) == ("", "")
    times = [float(lines[3]) for lines in outputs]
    assert min(times[0], times[2]) <= 1.2 * times[1]


def test_gate_with_a_detector_needs_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(CSV)
    done = interpreted(["gate", str(tmp_path / "results.csv"), "--detector", "hunter"], tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "False False")


def test_series_of_an_existing_store_are_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works: list[float] = []
    monkeypatch.setattr("barograph.cli.gate.choose", works.append)
    rows = [f"t{series},{order},{order}.5\n" for series in range(15) for order in range(2)]
    (tmp_path / "results.csv").write_text("".join(["test,order,value\n", *rows]))
    store = str(tmp_path / "ci.db")
    for url in (store, store, "postgresql://localhost:1/none"):
        with pytest.raises(SystemExit):
            main(["score", str(tmp_path / "results.csv"), "--store", url])
    new, known, remote = works
    assert new < compiled.SMALL < known == remote


def test_commands_compile_nothing_after_warmup(tmp_path: Path) -> None:
    code = "from barograph.cli import main\nmain(['warmup'])"
    done = run_python(code, tmp_path)
    assert (done.returncode, done.stdout.endswith(f" s: {tmp_path / 'cache'}\n")) == (0, True)
    many = [
        f"t,{order},{order % 7 + 5 * (order > 500)}" for order in range(int(compiled.SMALL) + 1)
    ]
    (tmp_path / "results.csv").write_text("\n".join(["test,order,value", *many, ""]))
    for command in ("detect", "gate", "classify"):
        after = interpreted([command, str(tmp_path / "results.csv")], tmp_path)
        assert after.stderr.splitlines()[-1] == "True True"  # loaded, and nothing was compiled
        assert "compiling" not in after.stderr


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
