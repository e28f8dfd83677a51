"""The answers as a comment for a pull request, in the Markdown of GitHub and GitLab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from barograph.cli.answers import JobAnswer, SeriesAnswer
from barograph.cli.rendering.words import (
    coverage,
    detail,
    headline,
    movement,
    place,
    worst_first,
)
from barograph.results.wording import printable

SHOWN = 50  # rows of a table: the longest comment of GitHub has 65,536 characters
LONGEST = 200  # characters of a name
SHORTER_LIST = ("regression", "suspect", "improvement")
REST = ("suppressed", "known")
# What may mean something: emphasis, a link, a mention, a column. Underscores within a word and dots
# mean nothing, except in "www.".
SPECIAL = re.compile(r"[^\w \-/.,+%()=]|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.")


def comment(job: JobAnswer) -> str:
    """Return the comment: a headline, a table of what moved, and the rest, folded."""
    parts = [f"### Barograph: {headline(job)}", f"{coverage(job)}."]
    moved = [row for kind in SHORTER_LIST for row in _rows(job, kind)]
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
