"""The output in README.md is true, and every link of the documentation works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from barograph.cli import group
from barograph.features import FEATURE_SETS
from barograph.models import TriageModel
from barograph.models.triage import USES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOLDERS = (".", "docs", "docs/research", "data", "notebooks")
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / folder).glob("*.md"))
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
SHOWN = dict(re.findall(r"^\$ barograph (\w+ docs/\S+)[^\n]*\n([^$`]+)", README, re.MULTILINE))


@pytest.mark.parametrize(("line", "code"), {"detect": 0, "gate": 0}.items())
def test_commands_print_the_documented_output(
    line: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command = f"{line} docs/results.csv"
    done = CliRunner().invoke(group, command.split())
    assert (without_seconds(done.output), done.exit_code) == (without_seconds(SHOWN[command]), code)


def test_models_are_those_that_the_readme_names() -> None:
    shipped = {use: TriageModel.default(use) for use in USES}
    assert {model.classifier.kind for model in shipped.values()} == {"boosted"}
    sets = [shipped[use].feature_set for use in ("adaptive", "label_free", "online", "confirm")]
    assert sets == ["contrast", "contrast", "online", "confirm"]
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert "random_forest" in params["evaluate"]["feature_sets"]["bauer8"]
    assert len(FEATURE_SETS["bauer8"]) == 16


def without_seconds(text: str) -> str:
    """Return an output without the time that the command took."""
    return re.sub(r" \(\d+\.\d s\)", "", text)


def test_first_block_works_in_an_empty_environment(tmp_path: Path) -> None:
    [clone, *rest] = re.findall(r"^\$ (.*)$", BLOCKS[0], re.MULTILINE)
    assert clone == "git clone https://github.com/OWNER/barograph && cd barograph"
    checkout = tmp_path / "barograph"
    shutil.copytree(ROOT, checkout, symlinks=True, ignore=_untracked)
    # The shells of CI services and of this test may be in an environment: the reader's is not.
    path = f"{sys.base_prefix}/bin:{os.defpath}"
    environment = {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    printed = output(["bash", "-ec", "\n".join(rest)], checkout, environment)
    shown = "".join(SHOWN.values())
    assert without_seconds(printed).endswith(without_seconds(shown).strip() + "\n")


def _untracked(folder: str, names: list[str]) -> set[str]:
    """Return the entries of a folder that a clone would not have."""
    ignored = output(["git", "check-ignore", "--", ".", *names], Path(folder), codes=(0, 1))
    return {".git", *ignored.splitlines()}


def output(
    command: list[str],
    folder: Path = ROOT,
    environment: dict[str, str] | None = None,
    codes: tuple[int, ...] = (0,),
) -> str:
    """Return what a command prints, after a check of its exit code."""
    done = subprocess.run(  # noqa: S603 - commands of the page and of this file
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in codes, done.stderr
    return done.stdout


def test_targets_of_the_second_block_exist() -> None:
    targets = re.findall(r"^\$ make (\w+)", BLOCKS[1], re.MULTILINE)
    assert targets == ["repro", "test"]
    listed = output(["make", "--dry-run", *targets])
    steps = (
        "barograph.pipeline.repro",
        "python -m tests.parts",
        "ruff check .",
        "mypy",
        "python -m pytest",
    )
    assert all(step in listed for step in steps)


def test_start_of_the_tests_says_what_will_be_skipped() -> None:
    environment = {"PATH": "", "BAROGRAPH_SHARED": "nowhere"}
    listed = output([sys.executable, "-m", "tests.parts"], environment=environment)
    assert "the board in a browser (apt-get install chromium-headless-shell)" in listed
    assert "real histories" in listed


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 80


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_to_a_page_and_its_heading(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    for path, heading in links:
        target = (page.parent / path) if path else page
        assert target.exists(), path
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
            assert heading in slugs, f"{path}#{heading}"
