"""The output in README.md is true, and every link of the documentation works."""

import re
import shutil
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
KINDS = ("python", "text")
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
    assert {model.flat.kind for model in shipped.values()} == {"boosted"}
    sets = [shipped[use].feature_set for use in ("adaptive", "label_free", "online", "confirm")]
    assert sets == ["contrast", "contrast", "online", "confirm"]
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert "random_forest" in params["evaluate"]["feature_sets"]["bauer8"]
    assert len(FEATURE_SETS["bauer8"]) == 16


def without_seconds(text: str) -> str:
    """Return an output without the time that the command took."""
    return re.sub(r" \(\d+\.\d s\)", "", text)


def test_python_example_prints_the_documented_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("research"))
    monkeypatch.chdir(tmp_path)
    section = README.split("## In Python\n")[1].split("\n## ")[0]
    [code], [shown] = (re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL) for kind in KINDS)
    assert "import barograph as bg" in code
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})  # noqa: S102 - our own
    assert capsys.readouterr().out == shown
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")


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
