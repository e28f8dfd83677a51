"""The answers of `gate` and `score` in every format of --format, one module each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from barograph.cli.answers import JobAnswer
from barograph.cli.options import echo_csv, echo_json

FORMATS = ("text", "json", "csv", "markdown", "junit", "github")


def render(
    job: JobAnswer, output: str, extra: Mapping[str, Any] | None = None, file: str = ""
) -> None:
    """Print the answers on all series of a job.

    Args:
        job: The answers.
        output: One of FORMATS.
        extra: What the JSON object holds besides the answers.
        file: The file that annotations point at.
    """
    if output == "json":
        echo_json({**(extra or {}), **job.as_dict()})
    elif output == "csv":
        from barograph.cli.rendering.table import COLUMNS, rows

        echo_csv(COLUMNS, rows(job))
    elif output == "markdown":
        from barograph.cli.rendering.markdown import comment

        click.echo(comment(job))
    elif output == "junit":
        from barograph.cli.rendering.junit import report

        click.echo(report(job))
    elif output == "github":
        from barograph.cli.rendering.github import write

        write(job, file)
    else:
        from barograph.cli.rendering.text import echo

        echo(job)
