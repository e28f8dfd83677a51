"""The sample files of every format: one folder a format, one file or folder a sample."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from barograph.results.repeats import NO_ORDER, Results
from barograph.results.series import Direction
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.registry import formats
from barograph.sources.report import Skip

SAMPLES = Path(__file__).parent / "samples"


def all_formats() -> dict[str, Format]:
    """Return every format by its name."""
    return {form.name: form for form in formats()}


def sample_paths(kind: str = "") -> list[Path]:
    """Return all samples, or those of one kind of format."""
    known = all_formats()
    return [
        path
        for folder in sorted(SAMPLES.iterdir())
        if not kind or known[folder.name].kind == kind
        for path in sorted(folder.iterdir())
    ]


def sample_name(path: Path) -> str:
    """Return the name of a sample for the names of tests."""
    return path.relative_to(SAMPLES).as_posix()


def as_input(path: Path, content: bytes | None = None) -> InputFile:
    """Return what reading gets of a file, perhaps with another content."""
    if path.is_dir():
        return InputFile(path.name, path, None)
    return InputFile(path.name, path, path.read_bytes() if content is None else content)


def results_of(entries: Iterable[Result | Results | Judgement | str | Skip]) -> list[Result]:
    """Return the results among what a format yields."""
    actual = []
    for entry in entries:
        if isinstance(entry, Result):
            actual.append(entry)
        elif isinstance(entry, Results):
            orders = entry.orders.tolist()
            actual += [
                Result(
                    entry.ids[owner],
                    float(entry.values[i]),
                    entry.units[i],
                    Direction(entry.directions[owner]),
                    None if orders[i] == NO_ORDER else orders[i],
                    entry.commits[i],
                    int(entry.times[i]),
                    entry.runs[i],
                    entry.branches[i],
                )
                for i, owner in enumerate(entry.owners.tolist())
            ]
    return actual


def read_all(
    form: Format, path: Path, content: bytes | None = None
) -> tuple[list[Result], list[Judgement], list[Skip]]:
    """Return everything that a format reads of a file."""
    entries = list(form.read(as_input(path, content)))
    results = results_of(entries)
    judgements = [entry for entry in entries if isinstance(entry, Judgement)]
    return results, judgements, [entry for entry in entries if isinstance(entry, Skip)]
