"""Every sample is recognised as its own format only, and read as expected."""

from pathlib import Path

import pytest

from barograph.sources.formats.base import Format, Judgement, ReadOptions, Result
from barograph.sources.formats.read import Collector
from barograph.sources.formats.registry import MODULES, may_be, recognise
from barograph.sources.report import Skip
from tests.sources.formats.samples import (
    SAMPLES,
    all_formats,
    as_input,
    read_all,
    sample_name,
    sample_paths,
)

EXPECTED = Path(__file__).parent
FORMATS = all_formats()


@pytest.mark.parametrize("path", sample_paths(), ids=sample_name)
def test_sample_is_recognised_as_its_own_format_only(path: Path) -> None:
    sample = as_input(path)
    assert recognise(sample).name == path.parent.name
    # Tables come last and take what looks like rows, so they may match, too.
    recognised = {name for name, form in FORMATS.items() if form.matches(sample)}
    assert recognised - {"tables"} == {path.parent.name} - {"tables"}


@pytest.mark.parametrize("path", sample_paths(), ids=sample_name)
def test_sample_holds_results(path: Path) -> None:
    collector = Collector(ReadOptions(), path.name)
    collector.add(as_input(path), FORMATS[path.parent.name])
    assert len(collector.finish())


@pytest.mark.parametrize(("module", "form"), list(zip(MODULES, FORMATS.values(), strict=True)))
def test_a_format_matches_no_input_of_another_kind(module: str, form: Format) -> None:
    samples = [as_input(path) for path in sample_paths()]
    left_out = [sample for sample in samples if not may_be(sample, module)]
    assert module == "tables" or any(not sample.is_json for sample in left_out)
    assert not any(form.matches(sample) for sample in left_out)


def test_every_format_of_runs_has_a_sample() -> None:
    runs = {name for name, form in FORMATS.items() if form.kind == "run"}
    assert {folder.name for folder in SAMPLES.iterdir()} >= runs


def shown(entry: Result | Judgement | Skip) -> str:
    """Return what a format yields as a line of `expected.txt`."""
    if isinstance(entry, Skip):
        return f"  skipped: {entry.field}: {entry.reason}"
    if isinstance(entry, Judgement):
        place = f"position={entry.position}" if entry.position is not None else entry.commit
        return f"  {entry.verdict}: {entry.series} at {place}"
    direction = {1: "higher", -1: "lower", 0: "unknown"}[int(entry.direction)]
    parts = [f"{entry.series} = {entry.value:g} {entry.unit} ({direction})"]
    names = ("commit", "run", "branch", "order", "cpu")
    parts += [
        f"{name}={getattr(entry, name)}" for name in names if getattr(entry, name) is not None
    ]
    parts += [f"time={entry.time}"] if entry.time > 0 else []
    return "  " + " ".join(part for part in parts if not part.endswith("="))


@pytest.mark.parametrize(("kind", "name"), [("run", "expected"), ("history", "histories")])
def test_samples_are_read_as_written_down(kind: str, name: str) -> None:
    lines = []
    for path in sample_paths(kind):
        if path.parent.name in ("tables", "folder"):
            continue  # read in batches; tests of tables say what they hold
        results, judgements, skips = read_all(FORMATS[path.parent.name], path)
        entries: list[Result | Judgement | Skip] = [*results, *judgements, *skips]
        lines += [sample_name(path), *map(shown, entries)]
    assert "\n".join(lines) + "\n" == (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")
