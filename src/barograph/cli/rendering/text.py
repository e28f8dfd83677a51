"""The answers as aligned lines for a terminal or the log of a CI job."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.rendering.words import (
    answers_by_kind,
    coverage,
    detail,
    headline,
    listed,
    place,
    too_short,
)
from barograph.results.wording import change_text, printable

COLOURS = {
    "regression": "red",
    "suspect": "yellow",
    "improvement": "green",
    "known": "bright_black",
    "suppressed": "bright_black",
}
WIDEST = 60  # characters of a name that the other names are aligned with


def echo(job: JobAnswer, clean: Callable[[str], str] = str) -> None:
    """Print a line for each answer that is not plainly quiet, and a summary.

    Args:
        job: The answers.
        clean: Removes from a line what another program would read as a command.
    """
    for line in lines(job):
        click.echo(clean(line))


def lines(job: JobAnswer) -> list[str]:
    """Return the lines, coloured."""
    rows = [
        (
            kind,
            printable(answer.series),
            change_text(answer.percent),
            answer.way,
            printable(place(answer)),
            printable(_detail(job, kind, answer)),
        )
        for kind, answer in answers_by_kind(job)
    ]
    texts = [click.style(line, fg=COLOURS.get(row[0])) for row, line in _aligned(rows)]
    for kind, names in (("too short", too_short(job)), ("new", job.new), ("missing", job.missing)):
        if names:
            texts.append(f"{kind:<11}  {listed(names)}")
    texts += [f"{'note':<11}  {printable(note)}" for note in job.notes]
    return [*texts, f"{headline(job)}; {coverage(job)}"]


def _detail(job: JobAnswer, kind: str, answer: SeriesAnswer) -> str:
    """Return what else is known of an answer, and of a suspect whether it fails the job."""
    fails = "fails the job" if kind == "suspect" and job.fails(answer) else ""
    return "; ".join(filter(None, (detail(answer), fails)))


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[tuple[tuple[str, ...], str]]:
    """Return each row with its line; sizes are aligned to the right."""
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(5)]
    widths[0], widths[1] = max(widths[0], 11), min(widths[1], WIDEST)
    return [
        (
            row,
            f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  "
            f"{row[3]:<{widths[3]}}  at {row[4]:<{widths[4]}}  {row[5]}".rstrip(),
        )
        for row in rows
    ]
