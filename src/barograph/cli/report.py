"""`barograph report`: one page with the changes of every series."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.detect import ChangeSearch, find, search_options
from barograph.cli.detectors import DEFAULT_DETECTOR
from barograph.cli.inputs import Inputs, input_options
from barograph.results.wording import plural, printable

if TYPE_CHECKING:
    from barograph.results.history import History


@click.command(epilog="Example: barograph report results.csv --since 90d --out report.html")
@input_options()
@search_options
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    default=Path("report.html"),
    show_default=True,
    help="File to write, or - for the standard output.",
)
def command(inputs: Inputs, search: ChangeSearch, out: Path) -> None:
    """Write a page with the changes of every series.

    The page is one file that makes no request: a table of all changes, the worst first, and for
    each series that changed a chart with its levels, change points, probabilities and reasons.
    Without a detector of your own it also lists the newest results that `gate` calls suspects.
    """
    from barograph.report.page import Report
    from barograph.runtime.files import whole

    history = inputs.read()
    findings = find(history, search, explain=True)
    suspects = _suspects(history) if search.choice.name == DEFAULT_DETECTOR else []
    command = shlex.join(["barograph", *sys.argv[1:]]) if sys.argv[1:2] == ["report"] else ""
    page = Report(findings, command=command, note=_note(search), suspects=suspects).html()
    if str(out) == "-":
        click.echo(page, nl=False)
        return
    with whole(out) as draft:
        draft.write_text(page, encoding="utf-8")
    size = len(page.encode()) / 1e6
    changes = plural(len(findings.worst_first), "change")
    click.echo(f"{out}: {changes} in {len(findings.series):,} series ({size:.1f} MB)")


def _suspects(history: History) -> list[tuple[str, str]]:
    """Return the name of each series whose newest result is a suspect, and what `gate` says."""
    from barograph.cli.answers import JobAnswer
    from barograph.cli.gate import runs_of
    from barograph.cli.judged import answers_of, judge_series
    from barograph.cli.judging import Selection
    from barograph.cli.options import RELEASED, online_models
    from barograph.cli.rendering import sentence, worst_first
    from barograph.detection.online import make_judge

    judge = make_judge(online_models(RELEASED / "online.baro"))
    numbers = [number for number, entry in enumerate(history) if len(entry)]
    series = [history[number] for number in numbers]
    runs = [runs_of(history, number) for number in numbers]
    answers = answers_of(judge_series(judge, series, runs, Selection.of(series).counts), None)
    suspects = worst_first(JobAnswer(answers).of_kind("suspect"))
    return [(printable(answer.series), printable(sentence(answer))) for answer in suspects]


def _note(search: ChangeSearch) -> str:
    """Return what was searched for, as sentences."""
    model = "scored by a model" if search.choice.name == "triaged" else ""
    parts = [f"Found by {search.choice.name}", model]
    if search.since:
        parts.append(f"since {search.since}")
    if search.min_change:
        parts.append(f"of at least {search.min_change:g} %")
    if search.choice.min_probability is not None:
        parts.append(f"at least {100 * search.choice.min_probability:g} % real")
    return f"{', '.join(filter(None, parts))}."
