"""The whole pipeline as a user runs it: `dvc repro` in a clone, on very little data."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
STAGES = (
    "simulate",
    "load",
    "subseries",
    "characterise",
    "prior",
    "learning",
    "tune",
    "train",
    "evaluate",
    "windows",
    "audit",
    "classify",
    "explain",
    "replay",
    "statistics",
    "release",
)
COPIED = ("dvc.yaml", "params.yaml", "studies", ".dvc/config", ".dvcignore", ".gitignore")
SMALL = {
    "simulate": {"long_series": 25, "short_series": 200},
    "train": {"trees": 10},
    "tune": {"trials": 2},
    "audit": {"trees": 10},
    "learning": {"sizes": [20], "repetitions": 2, "trees": 10},
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
    repro(folder, workers=2)
    return folder


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def run(folder: Path, *command: str, **more: str) -> str:
    """Run a command as a person would in the folder, with this interpreter first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder / "src")} | more
    environment |= {"BAROGRAPH_MLFLOW": "off", "DVC_NO_ANALYTICS": "true"}
    done = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def repro(folder: Path, workers: int) -> list[str]:
    """Run `dvc repro` and return the stages that ran."""
    said = run(folder, "dvc", "repro", BAROGRAPH_WORKERS=str(workers))
    return [name for name in STAGES if f"Running stage '{name}'" in said]


def recorded(folder: Path) -> list[dict[str, str]]:
    """Return what DVC recorded of every out and metric."""
    lock = yaml.safe_load((folder / "dvc.lock").read_text())
    return [out for stage in lock["stages"].values() for out in stage.get("outs", [])]


def outs(folder: Path) -> dict[str, str]:
    """Return the hash of every out and metric."""
    return {out["path"]: out["md5"] for out in recorded(folder)}


def change(folder: Path, section: str, name: str, value: object) -> None:
    document = yaml.safe_load((folder / "params.yaml").read_text())
    document[section][name] = value
    (folder / "params.yaml").write_text(yaml.safe_dump(document))


def test_it_runs_to_the_end_and_a_second_time_does_nothing(clone: Path) -> None:
    assert set(yaml.safe_load((clone / "dvc.yaml").read_text())["stages"]) >= set(STAGES)
    assert (clone / "data/release/label_free.baro").is_file()
    assert repro(clone, workers=2) == []


def test_one_parameter_reruns_just_what_depends_on_it(clone: Path) -> None:
    change(clone, "classify", "use", "adaptive")
    assert repro(clone, workers=2) == ["classify"]
    change(clone, "windows", "seed", 2)
    assert repro(clone, workers=2) == ["windows"]


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_workers(clone: Path) -> None:
    before = outs(clone)
    shutil.rmtree(clone / "data/cache")  # judge everything again
    run(clone, "dvc", "repro", "--force", BAROGRAPH_WORKERS="1")
    assert outs(clone) == before
    assert len(before) > 20


def test_the_table_of_results_and_the_way_on_are_printed(clone: Path) -> None:
    said = run(clone, sys.executable, "-m", "barograph.pipeline.summary")
    assert "profile quick" in said
    assert "Where to look next" in said


def test_the_notebooks_run_and_hold_no_outputs(clone: Path) -> None:
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        cells = [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
        assert all(not cell["outputs"] for cell in cells), f"{path}: clear its outputs"
        code = "\n".join("".join(cell["source"]) for cell in cells)
        run(clone, sys.executable, "-c", code, MPLBACKEND="Agg")


def test_the_lines_of_the_readme_run(clone: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for code in blocks:
        run(clone, sys.executable, "-c", code)


def test_no_out_holds_a_path_of_the_machine(clone: Path) -> None:
    for out in recorded(clone):
        path = clone / out["path"]
        for file in [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]:
            assert str(clone).encode() not in file.read_bytes(), file


def test_a_mistake_is_one_line_and_leaves_the_last_good_files(clone: Path) -> None:
    good = hashlib.md5((clone / "data/reports/classify.json").read_bytes()).hexdigest()  # noqa: S324
    change(clone, "classify", "use", "dreaming")
    done = subprocess.run(
        [sys.executable, "-m", "barograph.pipeline.classify"],
        cwd=clone,
        env=os.environ | {"PYTHONPATH": str(clone / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    change(clone, "classify", "use", "adaptive")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "dreaming" in done.stderr
    assert json.loads((clone / "data/reports/classify.json").read_text())["candidates"] > 0
    now = (clone / "data/reports/classify.json").read_bytes()
    assert hashlib.md5(now).hexdigest() == good  # noqa: S324
