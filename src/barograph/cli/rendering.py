"""The answers of `gate` and `score` in every format of --format."""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from barograph.cli.answers import KINDS, MACHINE, RERUNS, SLOW, JobAnswer, SeriesAnswer
from barograph.cli.config import current_config
from barograph.cli.options import echo_csv, echo_json
from barograph.results.wording import change_text, place_text, plural, printable

FORMATS = ("text", "json", "csv", "markdown", "junit", "github")
COLOURS = {
    "machine": "yellow",
    "regression": "red",
    "suspect": "yellow",
    "improvement": "green",
    **dict.fromkeys(SLOW, "yellow"),
    "known": "bright_black",
    "suppressed": "bright_black",
}
NAMES = 5  # of new or missing series that are listed
WIDEST = 60  # characters of a name that the other names are aligned with
COLUMNS = (
    *("kind", "series", "fails", "way", "percent", "probability", "order", "commit", "begins"),
    *("begins_commit", "runs", "reruns", "baseline_size", "reason", "suppressed", "suspect_reason"),
)
# Markdown.
SHOWN = 50  # rows of a table: the longest comment of GitHub has 65,536 characters
LONGEST = 200  # characters of a name
# Shown, or annotated; the rest is folded.
MOVED = ("machine", "regression", "suspect", "improvement", *SLOW)
# What may mean something: emphasis, a link, a mention, a column. Underscores within a word and dots
# mean nothing, except in "www.".
SPECIAL = re.compile(r"[^\w \-/.,+%()=]|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.")
# JUnit.
SUITE = "barograph"
# Why series are not judged: in a sentence about how many there are, and about one of them.
UNJUDGED = {
    "too short": ("too short to judge", "too short to judge"),
    "new": ("new", "new: no earlier results to judge by"),
    "missing": ("without the newest commit", "no result of the newest commit"),
}
# XML 1.0 has no way to write these, not even as references.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
    elif output == "text":
        click.echo("\n".join(text_lines(job)))
    else:
        # GitHub must find no command in a line of the log.
        log = (line.replace("##[", "## [").replace("::", ": :") for line in text_lines(job))
        click.echo("\n".join([*log, *workflow_commands(job, file)]))
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(summary).open("a", encoding="utf-8") as page:
                page.write(comment(job) + "\n")


def answers_by_kind(job: JobAnswer) -> Iterable[tuple[str, SeriesAnswer]]:
    """Yield every answer that is not plainly quiet with its kind, the worst of each kind first."""
    for kind in KINDS:
        for answer in worst_first(job.of_kind(kind)):
            yield kind, answer


def worst_first(answers: Iterable[SeriesAnswer]) -> list[SeriesAnswer]:
    """Sort answers by size; series that the configuration calls `low_priority` come last."""
    config = current_config()
    return sorted(
        answers,
        key=lambda answer: (config.kind_of(answer.series) == "low_priority", -abs(answer.percent)),
    )


def movement(answer: SeriesAnswer) -> str:
    """Return the change in words, such as `up 19.3 % (worse)`."""
    text = change_text(answer.percent)
    moved = {"+": "up ", "-": "down "}.get(text[0])
    text = f"{moved}{text[1:]}" if moved else text
    is_known = answer.direction or answer.answer == "noise"
    return f"{text} ({answer.way})" if is_known else text


def sentence(answer: SeriesAnswer) -> str:
    """Return the change in words with its place and what else is known."""
    details = detail(answer)
    return f"{movement(answer)} at {place(answer)}{f'; {details}' if details else ''}"


def place(answer: SeriesAnswer) -> str:
    """Return where a change begins, or the result that an answer is about."""
    if answer.begins is None:
        return place_text(answer.commit, answer.order)
    return place_text(answer.begins_commit, answer.begins)


def detail(answer: SeriesAnswer) -> str:
    """Return what else is known of an answer: when it was seen, how sure it is, what to do."""
    parts = []
    if answer.answer == "change" and answer.begins not in (None, answer.order):
        parts.append(f"seen at {place_text(answer.commit, answer.order)}")
    if answer.answer == "change" and not math.isnan(answer.probability):
        parts.append(sureness(answer))
    if answer.answer in ("change", MACHINE) and answer.reason:
        parts.append(answer.reason)
    if answer.answer == "suspect":
        reason = answer.reason.partition(";")[0]
        parts.append(reason or f"probability {answer.probability:.2f}")
    if answer.answer in SLOW:
        parts.append(answer.reason)
    if answer.answer != "quiet" and not answer.is_certain:
        parts.append("not certain enough for the number of series")
    if answer.suspect_reason == RERUNS:
        parts.append(f"{answer.runs} runs differ")
    if answer.reruns:
        times = "once" if answer.reruns == 1 else f"{answer.reruns} times"
        parts.append(f"run this commit {times} more to settle it")
    if answer.event is not None:
        failed = place_text(answer.event_commit, answer.event)
        parts.append(f"one event with the regression that failed the job at {failed}")
    if answer.suppressed:
        parts.append(f"suppressed: {answer.suppressed}")
    return "; ".join(parts)


def sureness(answer: SeriesAnswer) -> str:
    """Return how sure a change is, in words where the share of such alarms is known.

    Example:
        >>> from dataclasses import replace
        >>> answer = SeriesAnswer("t", 0, 5, "", "change", 0.88, is_calibrated=True)
        >>> sureness(answer), sureness(replace(answer, probability=0.97))
        ('9 of 10 such alarms are real', 'more than 9 of 10 such alarms are real')
    """
    if not answer.is_calibrated:
        return f"probability {answer.probability:.2f}"
    tenths = round(10 * answer.probability)
    if 1 <= tenths <= 9:
        return f"{tenths} of 10 such alarms are real"
    return f"{'more than 9' if tenths else 'fewer than 1'} of 10 such alarms are real"


def headline(job: JobAnswer) -> str:
    """Return the numbers of answers of each kind, and of suspects that fail no job, as one line."""
    counts = Counter(map(job.kind_of, job.answers))
    parts = [plural(counts[kind], kind) for kind in ("regression", "suspect", "improvement")]
    passing = sum(not job.fails(answer) for answer in job.of_kind("suspect"))
    if passing:
        parts[1] += f" ({passing:,} {'does' if passing == 1 else 'do'} not fail the job)"
    for kind, noun in zip(SLOW, ("drift", "noise change"), strict=True):
        parts += [plural(counts[kind], noun)] if counts[kind] else []
    if counts["suppressed"]:
        parts.append(f"{counts['suppressed']:,} suppressed")
    return ", ".join(parts)


def unjudged(job: JobAnswer) -> dict[str, str]:
    """Return why each series that was not judged was not: one of UNJUDGED."""
    new = frozenset(job.new)
    kinds = {name: "new" if name in new else "too short" for name in job.too_short}
    return kinds | dict.fromkeys(job.missing, "missing")


def left_out(job: JobAnswer) -> dict[str, Sequence[str]]:
    """Return the series of each kind of UNJUDGED that has some; a new one is not too short."""
    short = [name for name, kind in unjudged(job).items() if kind == "too short"]
    groups = {"too short": short, "new": job.new, "missing": job.missing}
    return {kind: names for kind, names in groups.items() if names}


def coverage(job: JobAnswer) -> str:
    """Return how many series were judged, and how many could not be."""
    parts = [f"{len(names):,} {UNJUDGED[kind][0]}" for kind, names in left_out(job).items()]
    judged = len({answer.series for answer in job.answers if not answer.is_common})
    return ", ".join([f"{judged:,} series judged", *parts])


def listed(names: Iterable[str]) -> str:
    """Return some names, and how many more there are."""
    every = [printable(name) for name in names]
    rest = f" and {len(every) - NAMES:,} more" if len(every) > NAMES else ""
    return ", ".join(every[:NAMES]) + rest


def text_lines(job: JobAnswer) -> list[str]:
    """Return an aligned, coloured line for each answer that is not plainly quiet, and a summary."""
    rows = [
        (
            kind,
            printable(answer.series),
            change_text(answer.percent),
            answer.way,
            printable(place(answer)),
            printable(detail(answer)),
            "; fails the job" if kind in ("suspect", MACHINE) and job.fails(answer) else "",
        )
        for kind, answer in answers_by_kind(job)
    ]
    name, size, way, at = (max((len(row[k]) for row in rows), default=0) for k in range(1, 5))
    name = min(name, WIDEST)
    texts = [
        click.style(
            f"{row[0]:<11}  {row[1]:<{name}}  {row[2]:>{size}}  {row[3]:<{way}}  "
            f"at {row[4]:<{at}}  {row[5]}{row[6]}".rstrip(),
            fg=COLOURS.get(row[0]),
        )
        for row in rows
    ]
    texts += [f"{kind:<11}  {listed(names)}" for kind, names in left_out(job).items()]
    texts += [f"{'note':<11}  {printable(note)}" for note in job.notes]
    return [*texts, f"{headline(job)}; {coverage(job)}"]


def csv_rows(job: JobAnswer) -> Iterator[list[Any]]:
    """Yield a row for each answer, and one with the kind alone for a series that was not judged."""
    for answer in job.answers:
        first = (job.kind_of(answer) or "quiet", encodable(answer.series))
        values = [getattr(answer, name) for name in COLUMNS[3:]]
        known = ["" if value is None or value != value else value for value in values]
        yield [*first, "yes" if job.fails(answer) else "no", *known]
    for name, kind in unjudged(job).items():
        yield [kind, encodable(name), *[""] * (len(COLUMNS) - 2)]


def encodable(name: str) -> str:
    """Return a name that UTF-8 can hold: lone surrogates become question marks."""
    return name.encode("utf-8", "replace").decode()


def comment(job: JobAnswer) -> str:
    """Return a comment for a pull request: a headline, what moved, and the rest, folded."""
    parts = [f"### Barograph: {headline(job)}", f"{coverage(job)}."]
    rows = [*answers_by_kind(job)]
    if moved := [row for row in rows if row[0] in MOVED]:
        parts.append(_table(job, moved))
    if rest := [row for row in rows if row[0] not in MOVED]:
        parts.append(_folded(f"{len(rest):,} more: suppressed or known", _table(job, rest)))
    for kind, names in left_out(job).items():
        if kind != "too short":
            shown = "\n".join(f"- {name_cell(name)}" for name in names[:SHOWN])
            title = f"{len(names):,} series {UNJUDGED[kind][0]}"
            parts.append(_folded(title, shown + more(len(names))))
    if job.notes:
        parts.append("\n".join(f"- {escaped(note)}" for note in job.notes))
    return "\n\n".join(parts)


def _table(job: JobAnswer, rows: Sequence[tuple[str, SeriesAnswer]]) -> str:
    lines = ["| | series | change | at | |", "|---|---|---|---|---|"]
    for kind, answer in rows[:SHOWN]:
        first = f"**{kind}**" if job.fails(answer) else kind
        cells = first, name_cell(answer.series), escaped(movement(answer)), name_cell(place(answer))
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

    texts: dict[tuple[str, bool], list[str]] = defaultdict(list)  # by series, and if they fail
    for kind, answer in answers_by_kind(job):
        text = valid(f"{kind}: {sentence(answer)}")
        texts[answer.series, job.fails(answer)].append(text)
    skipped = unjudged(job)
    names = dict.fromkeys([*(answer.series for answer in job.answers), *skipped])
    failures = sum(fails for _, fails in texts)
    counts = {"tests": len(names), "failures": failures, "errors": 0, "skipped": len(skipped)}
    suites = ET.Element("testsuites")
    sizes = {name: str(count) for name, count in counts.items()}
    suite = ET.SubElement(suites, "testsuite", {"name": SUITE, **sizes})
    for name in names:
        case = ET.SubElement(suite, "testcase", classname=SUITE, name=valid(name))
        if failed := texts.get((name, True)):
            ET.SubElement(case, "failure", message=failed[0]).text = "\n".join(failed)
        elif name in skipped:
            ET.SubElement(case, "skipped", message=UNJUDGED[skipped[name]][1])
        if others := texts.get((name, False)):
            ET.SubElement(case, "system-out").text = "\n".join(others)
    ET.SubElement(suite, "system-out").text = valid("\n".join([headline(job), *job.notes]))
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


def workflow_commands(job: JobAnswer, file: str = "") -> list[str]:
    """Return a workflow command for each answer: errors for those that fail the job, first."""
    levels: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    where = f"file={parameter(file)}," if file else ""
    for kind, answer in answers_by_kind(job):
        if kind in MOVED:
            usual = "notice" if kind == "improvement" else "warning"
            level = "error" if job.fails(answer) else usual
            title, text = f"{kind}: {answer.series}", f"{answer.series}: {sentence(answer)}"
            levels[level].append(f"::{level} {where}title={parameter(title)}::{message(text)}")
    if job.exit_code and not levels["error"]:
        # The first jobs with a new history judge nothing, which alone is no failure.
        level = "error" if job.answers or job.missing else "warning"
        reason = f"{headline(job)}; {coverage(job)}"
        levels[level].append(f"::{level} title=Barograph::{message(reason)}")
    return [line for commands in levels.values() for line in commands]


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
