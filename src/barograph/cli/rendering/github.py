"""The answers as annotations of GitHub Actions, with the job summary."""

from __future__ import annotations

import os
from pathlib import Path

import click

from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.rendering import markdown, text
from barograph.cli.rendering.words import answers_by_kind, coverage, headline, sentence
from barograph.results.wording import printable

SUMMARY = "GITHUB_STEP_SUMMARY"
ANNOTATED = ("regression", "suspect", "improvement")
MOST = 10  # annotations of a level that GitHub shows for a step


def write(job: JobAnswer, file: str = "") -> None:
    """Print annotations and lines for the log, and add to the job summary if there is one.

    Args:
        job: The answers.
        file: The file that the annotations point at; none if empty.
    """
    text.echo(job, clean)
    for line in workflow_commands(job, file):
        click.echo(line)
    summary = os.environ.get(SUMMARY)
    if summary:
        with Path(summary).open("a", encoding="utf-8") as page:
            page.write(markdown.comment(job) + "\n")


def workflow_commands(job: JobAnswer, file: str = "") -> list[str]:
    """Return a workflow command for each answer: errors for those that fail the job.

    GitHub shows ten of a level. So there are no more, and the last says how many are left out.
    """
    levels: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for kind, answer in answers_by_kind(job):
        if kind in ANNOTATED:
            usual = "notice" if kind == "improvement" else "warning"
            level = "error" if job.fails(answer) else usual
            levels[level].append(_command(level, kind, answer, file))
    if job.exit_code and not levels["error"]:
        # The first jobs with a new history judge nothing, which alone is no failure.
        level = "error" if job.answers or job.missing else "warning"
        reason = f"{headline(job)}; {coverage(job)}"
        levels[level].append(f"::{level} title=Barograph::{message(reason)}")
    lines = []
    for level, commands in levels.items():
        shown = commands if len(commands) <= MOST else commands[: MOST - 1]
        lines += shown
        if len(shown) < len(commands):
            rest = f"{len(commands) - len(shown):,} more are in the log"
            lines.append(f"::{level} title=Barograph::{message(rest)}")
    return lines


def _command(level: str, kind: str, answer: SeriesAnswer, file: str) -> str:
    properties = [f"file={parameter(file)}"] if file else []
    properties.append(f"title={parameter(f'{kind}: {answer.series}')}")
    text = f"{answer.series}: {sentence(answer)}"
    return f"::{level} {','.join(properties)}::{message(text)}"


def message(text: str) -> str:
    """Return the message of a workflow command, on one line."""
    return printable(text).replace("##[", "## [").replace("%", "%25")


def parameter(value: str) -> str:
    """Escape a property of a workflow command.

    Example:
        >>> parameter("a::b, 5 %")
        'a%3A%3Ab%2C 5 %25'
    """
    return message(value).replace(":", "%3A").replace(",", "%2C")


def clean(line: str) -> str:
    """Return a line of the log in which GitHub finds no command."""
    return line.replace("##[", "## [").replace("::", ": :")
