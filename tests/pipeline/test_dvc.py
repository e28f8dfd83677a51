"""The whole pipeline as a user runs it: `dvc repro` in a clone, on very little data."""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src/barograph"
STAGES = (
    "simulate",
    "load",
    "subseries",
    "characterise",
    "prior",
    "tune",
    "train",
    "evaluate",
    "windows",
    "classify",
    "replay",
    "release",
)
REPRO = (sys.executable, "-m", "barograph.pipeline.repro")  # what `make repro` runs
STUDIES = ("audit", "statistics")  # and those of tests of their own
# Modules that no result depends on.
PLUMBING = {"__init__.py"}
COPIED = ("dvc.yaml", "params.yaml", "studies", ".dvc/config", ".dvcignore", ".gitignore")
SMALL = {
    "simulate": {"long_series": 25, "short_series": 200},
    "train": {
        "trees": 10,
        "points": 4000,
        "simulated": {"seed": 4711, "long_series": 20, "short_series": 0},
        "reporting": {"seed": 90001, "long_series": 8, "short_series": 10},
    },
    "tune": {"trials": 2},
    "audit": {"trees": 10},
    "evaluate": {
        "policies": ["adaptive"],
        "feature_sets": {"bauer8": ["svm", "xgboost"], "contrast": ["logistic"]},
        "footnote": {"change8": ["most_frequent"]},
        "repetitions": 2,
        "trees": 10,
    },
    "windows": {"repetitions": 2, "trees": 5},
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with little data, run to its end once."""
    folder = tmp_path_factory.mktemp("clone")
    for name in COPIED:
        copy(ROOT / name, folder / name)
    # The code is the checkout's own, so that kernels compiled once stay compiled.
    (folder / "src").symlink_to(ROOT / "src")
    document = yaml.safe_load((ROOT / "params.yaml").read_text())
    document["quick"] |= SMALL
    document["prior"]["simulate"] |= {"long_series": 10, "short_series": 100}
    (folder / "params.yaml").write_text(yaml.safe_dump(document))
    run(folder, "git", "init", "--quiet")
    run(folder, "git", "add", ".")
    people = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    run(folder, "git", *people, "commit", "--quiet", "--message", "Begin")
    assert stages_in(run(folder, *REPRO, BAROGRAPH_MLFLOW="")) == [*STAGES]
    return folder


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def run(folder: Path, *command: str, **more: str) -> str:
    """Run a command as a person would in the folder, with this interpreter first on the path.

    One worker: on so little data, to start more of them takes longer than all stages.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder / "src")}
    environment |= {"BAROGRAPH_MLFLOW": "off", "DVC_NO_ANALYTICS": "true", "BAROGRAPH_WORKERS": "1"}
    environment |= more
    done = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def repro(folder: Path, *options: str) -> list[str]:
    """Run `dvc repro` and return the stages that ran, or would run with `--dry`."""
    return stages_in(run(folder, "dvc", "repro", *options))


def stages_in(output: str) -> list[str]:
    """Return the stages that ran, from the output of DVC."""
    return [name for name in STAGES if f"Running stage '{name}'" in output]


def outs(folder: Path) -> dict[str, str]:
    """Return the hash of every out and metric that DVC recorded."""
    lock = yaml.safe_load((folder / "dvc.lock").read_text())
    paths = [out["path"] for stage in lock["stages"].values() for out in stage.get("outs", [])]
    return {path: digest(folder / path) for path in paths}


def digest(path: Path) -> str:
    """Return a hash of a file, or of all files of a folder with their names."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    result = hashlib.sha256()
    for file in files:
        result.update(f"{file.relative_to(path)}\0".encode() + file.read_bytes() + b"\0")
    return result.hexdigest()


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def change(folder: Path, section: str, name: str, value: object) -> None:
    document = yaml.safe_load((folder / "params.yaml").read_text())
    document[section][name] = value
    (folder / "params.yaml").write_text(yaml.safe_dump(document))


def test_repro_runs_every_stage_once(clone: Path) -> None:
    assert set(yaml.safe_load((clone / "dvc.yaml").read_text())["stages"]) == set(STAGES)
    assert "label_free: " in (clone / "data/release/release.md").read_text()
    assert repro(clone) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # MLflow's use of SQLAlchemy
def test_runs_of_the_stages_belong_to_that_of_the_pipeline(clone: Path) -> None:
    """Two runs of the pipeline that differ in a parameter, and a stage by itself."""
    mlflow = pytest.importorskip("mlflow")
    params = clone / "params.yaml"
    before = params.read_text()
    change(clone, "classify", "coverage", 0.8)
    assert stages_in(run(clone, *REPRO, BAROGRAPH_MLFLOW="")) == ["classify"]
    change(clone, "classify", "coverage", 0.85)
    run(clone, "dvc", "repro", "classify", BAROGRAPH_MLFLOW="", DVC_EXP_NAME="tidy-lark")
    params.write_text(before)
    assert repro(clone) == ["classify"]
    client = mlflow.MlflowClient(f"sqlite:///{clone / 'data/mlflow.db'}")
    experiment = client.get_experiment_by_name("barograph").experiment_id
    found = client.search_runs([experiment], order_by=["attributes.start_time ASC"])
    assert len(found) == 2 * (1 + len(STAGES)) + 1
    commit = run(clone, "git", "rev-parse", "HEAD").strip()
    assert {each.data.tags["mlflow.source.git.commit"] for each in found} == {commit}
    assert {each.info.status for each in found} == {"FINISHED"}
    first, second = (each for each in found if each.info.run_name == "repro")
    differing = {k for k, v in first.data.params.items() if second.data.params[k] != v}
    assert differing == {"classify.coverage"}
    assert first.data.params["train.trees"] == "10"
    assert first.data.metrics["auc.label_free"] == second.data.metrics["auc.label_free"]
    for parent, ran in ((first, set(STAGES)), (second, {"classify"})):
        its = [e for e in found if e.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
        assert sorted(each.info.run_name for each in its) == sorted(STAGES)
        assert {e.info.run_name for e in its if "cached" not in e.data.tags} == ran
        assert all(len(each.data.tags["data.digest"]) == 16 for each in its)
        assert all(each.data.metrics for each in its if each.info.run_name in ran)
    [alone] = [
        e for e in found if "mlflow.parentRunId" not in e.data.tags and e.info.run_name != "repro"
    ]
    assert (alone.info.run_name, alone.data.tags["dvc.experiment"]) == ("classify", "tidy-lark")
    assert not list((clone / "data/mlflow-waiting").iterdir())


def test_studies_run_after_the_pipeline(clone: Path) -> None:
    run(clone, "dvc", "repro", *(f"studies/dvc.yaml:{name}" for name in STUDIES))
    for name in STUDIES:
        assert list((clone / "data/reports" / name).glob("*.csv"))
    lock = yaml.safe_load((clone / "studies/dvc.lock").read_text())
    assert set(lock["stages"]) == set(STUDIES)


def stages() -> list[tuple[str, list[str]]]:
    """Every stage with its dependencies on code."""
    dependencies = []
    for path in ("dvc.yaml", "studies/dvc.yaml"):
        for name, stage in yaml.safe_load((ROOT / path).read_text())["stages"].items():
            code = [dep for dep in stage["deps"] if dep.startswith("${package}/")]
            dependencies.append((name, [dep.removeprefix("${package}/") for dep in code]))
    return dependencies


@pytest.mark.parametrize(("name", "code"), stages())
def test_stage_depends_on_all_code_it_uses(name: str, code: list[str]) -> None:
    (stage,) = (
        path for room in ("pipeline", "studies") for path in PACKAGE.glob(f"{room}/{name}.py")
    )
    used = closure(stage)
    missing = {
        str(path)
        for path in (path.relative_to(PACKAGE) for path in used if path.name not in PLUMBING)
        if not any(str(path) == dep or str(path).startswith(f"{dep}/") for dep in code)
    }
    assert missing == set()


@pytest.mark.parametrize(("name", "code"), stages())
def test_text_that_people_read_reruns_no_stage(name: str, code: list[str]) -> None:
    assert not [dep for dep in code if dep.split("/")[0] in ("cli", "report", "server/web")]
    modules = [dep for dep in code if dep.endswith(".py")]
    assert all(dep.startswith("pipeline/") for dep in modules), "name the room, not a module"


def closure(start: Path) -> set[Path]:
    """Return a module and all modules that it imports, but no other module of the pipeline."""
    seen: set[Path] = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += [p for p in imported(path) if p.parent != PACKAGE / "pipeline"]
    return seen


@cache
def imported(path: Path) -> set[Path]:
    """Return the modules of the package that a module imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    modules: set[Path] = set()
    for name in names:
        if name.startswith("barograph."):
            place = PACKAGE.joinpath(*name.split(".")[1:])
            modules |= {
                place.with_suffix(".py"),
                place / "__init__.py",
                place.parent / "__init__.py",
            }
    # The front door loads nothing by itself.
    return {path for path in modules if path.is_file()} - {PACKAGE / "__init__.py"}


def test_repro_runs_only_stages_that_depend_on_a_changed_parameter(clone: Path) -> None:
    params = clone / "params.yaml"
    before = params.read_text()
    change(clone, "classify", "use", "adaptive")
    assert repro(clone, "--dry") == ["classify"]
    change(clone, "windows", "seed", 2)
    assert repro(clone, "--dry") == ["windows", "classify"]
    params.write_text(before)


def test_stages_give_same_bytes_with_any_number_of_workers(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = outs(clone)
    for path in before:
        remove(clone / path)
    monkeypatch.chdir(clone)
    for name, value in {"BAROGRAPH_WORKERS": "2", "BAROGRAPH_MLFLOW": "off"}.items():
        monkeypatch.setenv(name, value)
    for name in STAGES:  # in this process: all stages share the two workers
        import_module(f"barograph.pipeline.{name}").main()
    assert {path: digest(clone / path) for path in before} == before
    assert len(before) > 20


def test_report_prints_results(clone: Path) -> None:
    output = run(clone, sys.executable, "-m", "barograph.pipeline.report")
    assert "profile quick" in output
    assert "Where to look next" in output


def test_outputs_hold_no_path_of_the_machine(clone: Path) -> None:
    for path in map(clone.joinpath, outs(clone)):
        for file in [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]:
            assert str(clone).encode() not in file.read_bytes(), file


def test_failed_stage_prints_one_line_and_keeps_last_files(clone: Path) -> None:
    good = hashlib.md5((clone / "data/reports/classify.json").read_bytes()).hexdigest()  # noqa: S324
    params = clone / "params.yaml"
    before = params.read_text()
    change(clone, "classify", "use", "dreaming")
    done = subprocess.run(
        [sys.executable, "-m", "barograph.pipeline.classify"],
        cwd=clone,
        env=os.environ | {"PYTHONPATH": str(clone / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    params.write_text(before)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "dreaming" in done.stderr
    assert json.loads((clone / "data/reports/classify.json").read_text())["candidates"] > 0
    now = (clone / "data/reports/classify.json").read_bytes()
    assert hashlib.md5(now).hexdigest() == good  # noqa: S324
