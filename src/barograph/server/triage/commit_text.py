"""The effect of a commit as plain text, to paste into a ticket or a review."""

from __future__ import annotations

from statistics import median

from barograph.results.series import SeriesId
from barograph.results.wording import (
    BETTER,
    CHANGED,
    TREND,
    WORSE,
    change_text,
    day,
    middle_cut,
    number,
    place_text,
    printable,
    probability_text,
    short_commit,
    unit_text,
)
from barograph.server.store.commit_details import KEY, PARENT
from barograph.server.triage.commits import ChangedSeries, CommitChanges

LISTED = 3  # series of each kind
WIDEST = 72  # characters of a name
HEADINGS = {
    WORSE: "Worse",
    BETTER: "Better",
    CHANGED: "Changed, direction unknown",
    TREND: "Trend",
}


def commit_text(changes: CommitChanges, url: str = "") -> str:
    """Return the effect of a commit as short lines of plain text.

    Args:
        changes: What `commit_changes` returns.
        url: Where the commit page is.
    """
    names = ", ".join(map(short_commit, changes.commits)) or place_text("", changes.order)
    name = middle_cut(names, WIDEST)
    lines = [printable(f"{changes.project}: performance at commit {name}".removeprefix(": "))]
    lines += [
        printable(" · ".join(filter(None, details[KEY:PARENT]))) for details in changes.details
    ]
    if changes.time is not None:
        lines.append(f"first measured {day(changes.time)}")
    for word, heading in HEADINGS.items():
        lines += _section(heading, changes.of(word))
    compared = len(changes.changed) + len(changes.quiet)
    if not changes.changed:
        lines += ["", "No series changed."]
    lines += ["", f"{len(changes.quiet):,} of {compared:,} series did not move."]
    if changes.too_few:
        lines.append(f"{changes.too_few:,} had too few results before it.")
    if waiting := sum(silent.count for silent in changes.silent):
        lines.append(f"{waiting:,} {'has' if waiting == 1 else 'have'} no result since.")
    if changes.changed:
        lines.append(f"Suspect range: {_range(changes)}.")
    return "\n".join([*lines, *([url] if url else [])])


def _range(changes: CommitChanges) -> str:
    count = changes.suspects
    if changes.is_complete:
        return "this commit alone" if count == 1 else f"{count:,} commits"
    known = "this commit" if count == 1 else f"{count:,} known commits"
    return f"{known}; commits that were not measured may lie between"


def _section(heading: str, changed: list[ChangedSeries]) -> list[str]:
    if not changed:
        return []
    sizes = [moved.effect.percent for moved in changed if moved.effect.percent is not None]
    middle = f", median {change_text(median(sizes))}" if len(sizes) > 1 else ""
    lines = [
        "",
        f"{heading}: {len(changed):,} series{middle}",
    ]
    lines += [printable(f"- {_described(moved)}") for moved in changed[:LISTED]]
    if len(changed) > LISTED:
        lines.append(f"- and {len(changed) - LISTED:,} more")
    return lines


def _described(moved: ChangedSeries) -> str:
    size, probability = moved.effect.size, moved.change.probability
    text = "size unknown"
    if size is not None:
        levels = f"{number(size.before)} to {number(size.after)}"
        text = f"{change_text(size.percent)}, {levels} {unit_text(moved.series.unit)}".rstrip()
    real = "" if probability is None else f" ({probability_text(probability)} real)"
    return f"{middle_cut(_name(moved.series.name), WIDEST)}: {text}{real}"


def _name(name: SeriesId) -> str:
    rest = [name.measurement, name.variant, *(f"{key}={value}" for key, value in name.args)]
    return " ".join(filter(None, [name.test, *rest]))
