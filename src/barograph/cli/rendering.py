"""The answers of `gate` and `score` in every format of --format."""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.options import echo_csv, echo_json
from barograph.cli.words import (
    answers_by_kind,
    coverage,
    detail,
    headline,
    listed,
    movement,
    place,
    sentence,
    too_short,
    unjudged,
    worst_first,
)
from barograph.results.wording import change_text, printable

FORMATS = ("text", "json", "csv", "markdown", "junit", "github")
COLOURS = {
    "regression": "red",
    "suspect": "yellow",
    "improvement": "green",
    "known": "bright_black",
    "suppressed": "bright_black",
}
WIDEST = 60  # characters of a name that the other names are aligned with
COLUMNS = (
    *("kind", "series", "fails", "way", "percent", "probability", "order", "commit", "begins"),
    *("begins_commit", "runs", "reruns", "baseline_size", "reason", "suppressed", "suspect_reason"),
)
# Markdown.
SHOWN = 50  # rows of a table: the longest comment of GitHub has 65,536 characters
LONGEST = 200  # characters of a name
MOVED = ("regression", "suspect", "improvement")  # shown, or annotated; the rest is folded
REST = ("suppressed", "known")
# What may mean something: emphasis, a link, a mention, a column. Underscores within a word and dots
# mean nothing, except in "www.".
SPECIAL = re.compile(r"[^\w \-/.,+%()=]|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.")
# JUnit.
SUITE = "barograph"
SKIPPED = {
    "too short": "too short to judge",
    "new": "new: no earlier results to judge by",
    "missing": "no result of the newest commit",
}
# XML 1.0 has no way to write these, not even as references.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# GitHub.
SUMMARY = "GITHUB_STEP_SUMMARY"
MOST = 10  # annotations of a level that GitHub shows for a step


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
        echo_csv(COLUMNS, csv_rows(job))
    elif output == "markdown":
        click.echo(comment(job))
    elif output == "junit":
        click.echo(junit(job))
    else:
        is_github = output == "github"
        for line in text_lines(job):
            click.echo(_without_commands(line) if is_github else line)
        if is_github:
            _annotate(job, file)


def text_lines(job: JobAnswer) -> list[str]:
    """Return an aligned, coloured line for each answer that is not plainly quiet, and a summary."""
    rows = [
        (
            kind,
            printable(answer.series),
            change_text(answer.percent),
            answer.way,
            printable(place(answer)),
            printable(_text_detail(job, kind, answer)),
        )
        for kind, answer in answers_by_kind(job)
    ]
    texts = [click.style(line, fg=COLOURS.get(row[0])) for row, line in _aligned(rows)]
    for kind, names in (("too short", too_short(job)), ("new", job.new), ("missing", job.missing)):
        if names:
            texts.append(f"{kind:<11}  {listed(names)}")
    texts += [f"{'note':<11}  {printable(note)}" for note in job.notes]
    return [*texts, f"{headline(job)}; {coverage(job)}"]


def _text_detail(job: JobAnswer, kind: str, answer: SeriesAnswer) -> str:
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


def csv_rows(job: JobAnswer) -> Iterator[list[Any]]:
    """Yield a row for each answer, and one with the kind alone for a series that was not judged."""
    for answer in job.answers:
        yield _row(answer, job.kind_of(answer) or "quiet", fails=job.fails(answer))
    for name, kind in unjudged(job).items():
        yield [kind, encodable(name), *[""] * (len(COLUMNS) - 2)]


def _row(answer: SeriesAnswer, kind: str, *, fails: bool) -> list[Any]:
    first = (kind, encodable(answer.series), "yes" if fails else "no")
    values = [getattr(answer, name) for name in COLUMNS[len(first) :]]
    return [*first, *("" if _is_unknown(value) else value for value in values)]


def encodable(name: str) -> str:
    """Return a name that UTF-8 can hold: lone surrogates become question marks."""
    return name.encode("utf-8", "replace").decode()


def _is_unknown(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def comment(job: JobAnswer) -> str:
    """Return a comment for a pull request: a headline, what moved, and the rest, folded."""
    parts = [f"### Barograph: {headline(job)}", f"{coverage(job)}."]
    moved = [row for kind in MOVED for row in _rows(job, kind)]
    if moved:
        parts.append(_table(moved))
    rest = [row for kind in REST for row in _rows(job, kind)]
    if rest:
        parts.append(_folded(f"{len(rest):,} more: suppressed or known", _table(rest)))
    for text, names in (("new", job.new), ("without the newest commit", job.missing)):
        if names:
            shown = "\n".join(f"- {name_cell(name)}" for name in names[:SHOWN])
            parts.append(_folded(f"{len(names):,} series {text}", shown + more(len(names))))
    if job.notes:
        parts.append("\n".join(f"- {escaped(note)}" for note in job.notes))
    return "\n\n".join(parts)


def _rows(job: JobAnswer, kind: str) -> Iterable[tuple[str, SeriesAnswer]]:
    for answer in worst_first(job.of_kind(kind)):
        yield f"**{kind}**" if job.fails(answer) else kind, answer


def _table(rows: Sequence[tuple[str, SeriesAnswer]]) -> str:
    lines = ["| | series | change | at | |", "|---|---|---|---|---|"]
    for kind, answer in rows[:SHOWN]:
        cells = kind, name_cell(answer.series), escaped(movement(answer)), name_cell(place(answer))
        lines.append(f"| {' | '.join(cells)} | {escaped(detail(answer))} |")
    return "\n".join(lines) + more(len(rows))


def more(count: int) -> str:
    """Return how many of the rows of a table are not shown, as a paragraph; empty for none."""
    return f"\n\n{count - SHOWN:,} more are not shown." if count > SHOWN else ""


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{escaped(summary)}</summary>\n\n{content}\n\n</details>"


def name_cell(name: str) -> str:
    """Return a name as code, in which nothing is a mention or a link."""
    text = printable(name)
    return f"<code>{escaped(text if len(text) <= LONGEST else text[: LONGEST - 1] + '…')}</code>"


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is.

    Example:
        >>> escaped("a|b `c`")
        'a&#124;b &#96;c&#96;'
        >>> escaped("test_insert/p50 (+1.5 %) _x_ www.a")
        'test_insert/p50 (+1.5 %) &#95;x&#95; www&#46;a'
    """
    return SPECIAL.sub(lambda match: f"&#{ord(match[0])};", printable(text))


def junit(job: JobAnswer) -> str:
    """Return JUnit XML: series that fail the job are failures, those not judged are skipped."""
    from xml.etree import ElementTree as ET

    lines: dict[str, list[str]] = defaultdict(list)
    failed: dict[str, list[str]] = defaultdict(list)
    for kind, answer in answers_by_kind(job):
        text = f"{kind}: {sentence(answer)}"
        (failed if job.fails(answer) else lines)[answer.series].append(text)
    skipped = {name: SKIPPED[kind] for name, kind in unjudged(job).items()}
    names = [*dict.fromkeys([*(answer.series for answer in job.answers), *skipped])]
    suite = ET.Element(
        "testsuite",
        name=SUITE,
        tests=str(len(names)),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(skipped)),
    )
    for name in names:
        case = ET.SubElement(suite, "testcase", classname=SUITE, name=valid(name))
        if name in failed:
            failure = ET.SubElement(case, "failure", message=valid(failed[name][0]))
            failure.text = valid("\n".join(failed[name]))
        elif name in skipped:
            ET.SubElement(case, "skipped", message=skipped[name])
        if name in lines:
            ET.SubElement(case, "system-out").text = valid("\n".join(lines[name]))
    ET.SubElement(suite, "system-out").text = valid("\n".join([headline(job), *job.notes]))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode")


def valid(text: str) -> str:
    r"""Return a text with escapes for characters that XML does not allow.

    Example:
        >>> valid("a" + chr(1))
        'a\\x01'
    """
    return FORBIDDEN.sub(
        lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(), text
    )


def _annotate(job: JobAnswer, file: str) -> None:
    """Print annotations of GitHub Actions, and add to the job summary if there is one."""
    for line in workflow_commands(job, file):
        click.echo(line)
    summary = os.environ.get(SUMMARY)
    if summary:
        with Path(summary).open("a", encoding="utf-8") as page:
            page.write(comment(job) + "\n")


def workflow_commands(job: JobAnswer, file: str = "") -> list[str]:
    """Return a workflow command for each answer: errors for those that fail the job.

    GitHub shows ten of a level. So there are no more, and the last says how many are left out.
    """
    levels: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    for kind, answer in answers_by_kind(job):
        if kind in MOVED:
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


def _without_commands(line: str) -> str:
    """Return a line of the log in which GitHub finds no command."""
    return line.replace("##[", "## [").replace("::", ": :")
