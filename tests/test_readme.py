"""What the pages for newcomers show is what happens, and where they lead there is something."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from barograph.cli import group

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(
    page for place in (".", "docs", "data", "notebooks") for page in (ROOT / place).glob("*.md")
)
SHOWN = dict(re.findall(r"^\$ barograph (\w+ docs/\S+)[^\n]*\n([^$`]+)", README, re.MULTILINE))


@pytest.mark.parametrize(("line", "code"), {"detect": 0, "gate": 2}.items())
def test_the_first_commands_print_what_the_page_shows(
    line: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command = f"{line} docs/results.csv"
    done = CliRunner().invoke(group, command.split())
    assert (done.output, done.exit_code) == (SHOWN[command], code)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_leads_to_a_page_and_its_heading(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    for path, heading in links:
        target = (page.parent / path) if path else page
        assert target.exists(), path
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
            assert heading in slugs, f"{path}#{heading}"
