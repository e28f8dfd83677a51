"""The answers of `gate` and `score` in every format of --format, one module each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from barograph.cli.answers import JobAnswer
from barograph.cli.options import echo_json

FORMATS = ("text", "json", "csv", "markdown", "junit", "github")


def render(
    job: JobAnswer, output: str, more: Mapping[str, Any] | None = None, file: str = ""
) -> None:
    """Print the answers on all series of a job.

    Args:
        job: The answers.
        output: One of FORMATS.
        more: What the JSON object holds besides the answers.
        file: The file that annotations point at.
    """
    from barograph.cli.rendering import github, junit, markdown, table, text

    if output == "json":
        echo_json({**(more or {}), **job.as_dict()})
    elif output == "csv":
        click.echo(table.table(job), nl=False)
    elif output == "markdown":
        click.echo(markdown.comment(job))
    elif output == "junit":
        click.echo(junit.report(job))
    elif output == "github":
        github.write(job, file)
    else:
        text.echo(job)
