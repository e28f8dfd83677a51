"""Print changes for people: aligned text with a sparkline per series, and Markdown."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

import click

from barograph.cli.rendering import SHOWN, escaped, more
from barograph.report.changes import EFFECTS, SLOW, Findings, ReportedChange
from barograph.results.series import Floats, Series
from barograph.results.wording import (
    BETTER,
    CHANGED,
    TREND,
    WORSE,
    middle_cut,
    number,
    plural,
    printable,
    probability_text,
    unit_text,
)

BLOCKS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
MARK = "\u2502"  # where a level begins
COLOURS = {WORSE: "red", BETTER: "green", CHANGED: "yellow", TREND: None}
NOUNS = {WORSE: "regression", BETTER: "improvement", CHANGED: "change", TREND: "trend"}
FEW = 3  # the results of a level are counted if there are fewer
NAME = 100  # longest name in a line
SUBJECT = 60


def lines(findings: Findings, *, every: bool = False) -> Iterator[str]:
    """Yield the lines of all series that changed, which fit the terminal or COLUMNS.

    Args:
        findings: The changes.
        every: Whether to list the series without a change, too.
    """
    is_limited = sys.stdout.isatty() or os.environ.get("COLUMNS")
    width = shutil.get_terminal_size().columns if is_limited else 0
    rows = {id(change): _cells(change) for change in findings.rows}
    widths = [max(map(len, column)) for column in zip(*rows.values(), strict=True)]
    for number_ in sorted(range(len(findings.series)), key=findings.is_low):
        series, changes = findings.series[number_], findings.changes[number_]
        if not findings.listed[number_] and not every:
            continue
        short = "too short to search" if len(series) < findings.shortest else ""
        known = series.direction.name.lower().replace("_", " ") if series.direction else ""
        facts = [unit_text(series.unit), known, plural(len(series), "point")]
        facts += [findings.kind_of(number_).replace("_", " "), short]
        name = click.style(middle_cut(printable(str(series.id)), NAME), bold=True)
        yield f"{name}  {click.style(', '.join(filter(None, facts)), dim=True)}"
        if len(series):
            yield f"  {_spark(series, changes, min(width - 4, 60) if width else 60)}"
        for change in findings.listed[number_]:
            is_last = bool(changes) and change.point is changes[-1].point
            note = _note(change, is_last=is_last)
            yield _line(change, rows[id(change)], note, widths, width)


def summary(findings: Findings, seconds: float) -> str:
    """Return the line that says how many series and changes there are.

    Args:
        findings: The changes.
        seconds: How long the search took.
    """
    count, quiet, short = (
        len(part) for part in (findings.worst_first, findings.quiet, findings.too_short)
    )
    named = [
        plural(found, NOUNS[effect]) + (" of unknown direction" if effect == CHANGED else "")
        for effect in EFFECTS
        if (found := findings.count(effect))
    ]
    text = f"{len(findings.series):,} series, {plural(count, 'change') if count else 'no change'}"
    text += f": {', '.join(named)}" if named else ""
    text += f"; {quiet:,} series without a change" if quiet and count else ""
    text += f"; {short:,} too short to search" if short else ""
    for kind, noun in SLOW.items():
        text += f"; {plural(found, noun)}" if (found := findings.count_slow(kind)) else ""
    return f"{text} ({seconds:.1f} s)"


def markdown(findings: Findings, seconds: float) -> Iterator[str]:
    """Yield the lines of a comment for a pull request: a table, the worst change first."""
    yield f"**{summary(findings, seconds)}**"
    if not findings.rows:
        return
    yield ""
    yield "| series | change | | level | real | commit | date |"
    yield "|---|---:|---|---|---:|---|---|"
    for change in findings.rows[:SHOWN]:
        name = middle_cut(printable(str(findings.series[change.series].id)), NAME)
        kind = findings.kind_of(change.series).replace("_", " ")
        notes = kind, "new" * change.point.is_new, change.note
        likely = change.point.probability
        cells = (
            escaped(name) + "".join(f" ({note})" for note in notes if note),
            change.amount,
            f"**{change.word}**" if change.effect == WORSE else change.word,
            "{} to {}".format(*map(number, change.size[:2])),
            "" if likely is None else probability_text(likely),
            *map(escaped, change.where),
        )
        yield f"| {' | '.join(cells)} |"
    if rest := more(len(findings.rows)):
        yield rest.removeprefix("\n")


def _spark(series: Series, changes: Sequence[ReportedChange], width: int) -> str:
    """Return the sparkline; the mark before each level has the colour of the change."""
    first, *rest = sparkline(series.values, [change.point.index for change in changes], width)
    marked = [
        f"{click.style(MARK, fg=COLOURS[change.effect])}{stretch}"
        for change, stretch in zip(changes, rest, strict=True)
    ]
    return "".join([first, *marked])


def _cells(change: ReportedChange) -> tuple[str, ...]:
    """Return the columns of a change, without colour."""
    before, after, _ = change.size
    arrow = "\u25b2" if after >= before else "\u25bc"
    pvalue, probability = change.point.pvalue, change.point.probability
    sure = f"p = {pvalue:.2g}" if pvalue is not None else ""
    return (
        f"{arrow} {change.word.replace(WORSE, WORSE.upper())}",
        *change.where,
        number(before),
        number(after),
        change.amount,
        sure if probability is None else f"{probability_text(probability)} real",
    )


def _note(change: ReportedChange, *, is_last: bool) -> str:
    """Return that a change is new, and how many results a new or short last level has."""
    is_new, count = change.point.is_new, change.point.after.count
    is_counted = is_last and (is_new or count < FEW)
    parts = ["new" * is_new, f"{plural(count, 'point')} so far" * is_counted]
    return ", ".join(filter(None, parts))


def _line(
    change: ReportedChange, cells: Sequence[str], note: str, widths: Sequence[int], width: int
) -> str:
    word, commit, date, before, after, percent, sure = (
        f"{cell:<{size}}" if place in (0, 1, 2, 4) else f"{cell:>{size}}"
        for place, (cell, size) in enumerate(zip(cells, widths, strict=True))
    )
    parts = [word, commit, date, f"{before} -> {after}", percent, sure, note, change.note]
    plain = "  ".join(filter(str.strip, parts))
    room = max(width - len(plain) - 4, 12) if width else SUBJECT
    text = f"  {plain}  {middle_cut(printable(change.subject), room)}".rstrip()
    shown = click.style(word, fg=COLOURS[change.effect], bold=change.effect == WORSE)
    return text.replace(word, shown, 1)


def sparkline(values: Floats, change_points: Sequence[int], width: int) -> list[str]:
    """Return a stretch of blocks for each level; each block is the median of some results.

    Args:
        values: The results; there must be at least one.
        change_points: The indices at which levels begin, ascending.
        width: Number of characters of all stretches with a mark between them.

    Example:
        >>> import numpy as np
        >>> sparkline(np.array([1.0, 1.0, 1.0, 2.0, 2.0, 8.0]), [3, 5], 8)
        ['▁▁▁', '▂▂', '█']
    """
    edges = [0, *change_points, values.size]
    room = max(width - len(change_points), len(edges) - 1)
    results = values.tolist()
    medians = []
    for start, end in pairwise(edges):
        size = end - start
        if values.size > room:
            size = max(1, round(room * size / values.size))
        cuts = [start + k * (end - start) // size for k in range(size + 1)]
        medians.append([median(results[a:b]) for a, b in pairwise(cuts)])
    shown = [value for part in medians for value in part]
    low, extent = min(shown), max(shown) - min(shown)
    if not extent or not math.isfinite(extent):
        return ["".join(BLOCKS[0] for _ in part) for part in medians]
    top = len(BLOCKS) - 1
    return ["".join(BLOCKS[round(top * (v - low) / extent)] for v in part) for part in medians]
